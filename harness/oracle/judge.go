package oracle

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"locklab/harness"
)

// DefaultPrompt and DefaultArrival replace zero values in Rules.
const (
	DefaultPrompt  = 5 * time.Second
	DefaultArrival = 200 * time.Millisecond
)

// Rules are a lock's claims and time limits. The zero value is an exclusive lock without
// order and tokens.
type Rules struct {
	// Permits is the limit of holders; 0 is one. With more, writes and refusals are not judged.
	Permits int

	// FIFO: it serves in order of arrival. Fenced: its tokens rise in holding order.
	// Reentrant: its holder may take it again.
	FIFO, Fenced, Reentrant bool

	// Spurious: an attempt may be refused because of another refused attempt, for
	// example if a majority of servers has to agree.
	Spurious bool

	// Prompt is how long a client may wait for a free lock before a stall; 0 is DefaultPrompt.
	Prompt time.Duration

	// Arrival is the time after its request until a client is surely in line: the
	// order of two requests closer together is unknown. 0 is DefaultArrival.
	Arrival time.Duration

	// Down: after a Fault the servers may accept no request until the lock is granted
	// again. If a client asked in that time, or less than Arrival before it, its
	// arrival in line is unknown. It is surely in line Arrival after the grant.
	Down bool

	// Starvation: a holder that was notified too late because the machine did not run
	// its process is no evidence.
	Starvation bool

	// Delays are the times when the machine did not run processes of the try, and the anomalies
	// that they excuse: see Judgement.Excused. May be nil.
	Delays *Delays

	// End is the end of the observation, on the clock of the events; 0 is the last event.
	End int64
}

// RulesOf returns the rules for a lock with traits t, with prompt for Prompt.
func RulesOf(t harness.Traits, prompt time.Duration) Rules {
	return Rules{
		Permits: t.Permits, FIFO: t.FIFO, Fenced: t.Fenced, Reentrant: t.Reentrant,
		Spurious: t.Servers > 1, Prompt: prompt,
	}
}

func (r Rules) filled() Rules {
	r.Permits = max(1, r.Permits)
	r.Prompt = cmp.Or(max(0, r.Prompt), DefaultPrompt)
	r.Arrival = cmp.Or(max(0, r.Arrival), DefaultArrival)
	return r
}

// A Judgement is the conclusions from a history. Times are in ns on the clock of the events.
// It has one field for each conclusion; its readers need a few each.
type Judgement struct {
	Start, End int64 // of the observation

	Holds    []Held    // by grant
	Attempts []Attempt // by the time they began

	Overlaps []Overlap     // one for each hold that began during another, by its grant
	Longest  time.Duration // of the overlaps
	Starved  []Overlap     // not in Overlaps: the machine did not run the earlier holder, which no lease can tolerate

	// Stale is the number of stale writes accepted by the resource, which with tokens refuses
	// lesser ones: Refused. A write is stale if a writer that was granted the lock later has
	// written before. Disagreed counts events whose Taken differs from the rule.
	Stale, Refused, Disagreed int

	TokensFell int // holds with a token not greater than an earlier one

	// Windows has one for each Fault, Killed and Paused, in order. Window is the
	// longest of them and of the waits for a free lock at other times.
	Windows []Window
	Window  time.Duration

	Stalls int   // waits for a free lock of more than Prompt
	Stuck  []int // workers that waited for a free lock at the end, for more than Prompt; or whose attempts all failed

	Bypasses int // grants to a client while an earlier one waited

	// Margins are the times from a holder's notice of a loss to the next grant,
	// negative if the grant came first.
	Margins []time.Duration

	Excused []Excuse // anomalies left out, because the machine did not run a process

	Unfounded int // refusals at a time when the lock was surely free

	Findings []Finding // the first of each kind
	Notes    []string  // their texts
}

// A Finding is a moment, or a time, at which an anomaly appeared.
type Finding struct {
	Anomaly  Anomaly // "" if it is no anomaly, such as a resource that did not follow its rule
	From, To int64
	Text     string
}

// An Overlap is the common time of two holds that exclude each other.
type Overlap struct {
	Earlier, Later int // indices in Judgement.Holds
	Length         time.Duration
	Promised       bool // the later began within the promise of the earlier
}

// Judge returns the faults in h, which may be in any order and is not changed. It takes
// time in O(n log n) and never fails: it ignores events that do not belong to a call.
//
// It reports only certain facts. A client that may hold the lock without knowing it,
// because its attempt failed or its process was killed, is not a holder.
func Judge(h History, r Rules) Judgement {
	r = r.filled()
	var j Judgement
	c := collect(h.sorted(), r, &j)
	j.overlaps(r, c)
	j.tokens(r)
	j.resource(r, c)
	j.windows(r, c)
	j.order(r, c)
	j.margins(r)
	j.refusals(r)
	for _, f := range j.Findings {
		j.Notes = append(j.Notes, f.Text)
	}
	return j
}

// Anomalies returns the anomalies that the history shows, in the order of Anomalies.
func (j *Judgement) Anomalies() []Anomaly {
	return slices.DeleteFunc(slices.Clone(Anomalies), func(h Anomaly) bool {
		return !slices.ContainsFunc(j.Findings, func(f Finding) bool { return f.Anomaly == h })
	})
}

func (j *Judgement) find(anomaly Anomaly, from, to int64, format string, args ...any) {
	text := fmt.Sprintf("%s: ", j.since(from)) + fmt.Sprintf(format, args...)
	j.Findings = append(j.Findings, Finding{Anomaly: anomaly, From: from, To: to, Text: text})
}

func (j *Judgement) since(at int64) time.Duration {
	return time.Duration(at - j.Start).Round(time.Microsecond)
}
