package oracle

import (
	"cmp"
	"fmt"
	"iter"
	"time"

	"locklab/harness"
)

// DefaultPrompt and DefaultArrival stand for zero values in Rules.
const (
	DefaultPrompt  = 5 * time.Second
	DefaultArrival = 200 * time.Millisecond
)

// Rules are what a lock claims, and how long it may take. The zero value is an
// exclusive lock without order and tokens.
type Rules struct {
	// Permits is how many may hold the lock at once; 0 is one. With more than one
	// neither the resource nor refusals are judged.
	Permits int

	// FIFO: it serves in order of arrival. Fenced: its tokens rise in holding order.
	// Reentrant: its holder may take it again.
	FIFO, Fenced, Reentrant bool

	// Spurious: an attempt may be refused because of another that is refused as well,
	// as where a majority of servers has to agree.
	Spurious bool

	// Prompt is for how long a client may wait for a free lock, also after a failure,
	// before that is a stall; 0 is DefaultPrompt.
	Prompt time.Duration

	// Arrival is how long after it asked a client is surely in line: of two that
	// asked closer together the order is not known. 0 is DefaultArrival.
	Arrival time.Duration

	// Down: after a Fault the servers may take no request until the lock is granted
	// again. Of a client that asked in that time, or less than Arrival before it, it is
	// not known when it came into line: it surely is Arrival after the grant.
	Down bool

	// Outage: the lock cannot be granted from a Fault to the next Over, or to the end
	// if there is none. That time does not count as waiting.
	Outage bool

	// Starvation: nothing is concluded from a holder that was told too late because the
	// machine did not run its process.
	Starvation bool

	// Delays are when the machine did not run the processes of the try, and the harms
	// that they excuse: these are not concluded where they would not be without the
	// delays. See Judgement.Excused. May be nil.
	Delays *Delays

	// End is when the observation ended, on the clock of the events; 0 is the last
	// event.
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

// A Judgement is what a history shows. Times are in ns on the clock of the
// events.
type Judgement struct {
	Start, End int64 // of the observation

	Holds    []Held    // by grant
	Attempts []Attempt // by the time they began

	Overlaps []Overlap     // one for each hold that began in that of another, by its grant
	Longest  time.Duration // of the overlaps
	Broken   int           // overlaps within the promise of the earlier holder
	Starved  []Overlap     // not among Overlaps: the machine did not run the earlier holder, which no lease can survive

	// PlainStale is how many stale writes a resource took that takes all, and
	// FencedStale one that refuses lesser tokens: 0 without tokens. A write is stale
	// if a writer that was granted the lock later has written. Refused are the writes
	// that the latter refused, and RefusedNewest those of them that were not stale.
	// Disagreed is how often Event.Taken was not what the rule says.
	PlainStale, FencedStale, Refused, RefusedNewest, Disagreed int

	TokensFell int // holds with a token that was not greater than one before

	// Windows has one for each Fault, Killed and Paused, in order. Window is the
	// longest, or the longest wait for a free lock at any other time.
	Windows []Window
	Window  time.Duration

	Stalls      int   // waits for a free lock of more than Prompt
	LostWakeups int   // of these, those that ended by a grant with no fault about
	Stuck       []int // workers that waited for a free lock at the end, for more than Prompt; or whose attempts all failed

	Bypasses int // grants to a client while one that came before it waited

	// Margins are by how much holders that lost the lock were told before the next
	// one was granted it, negative if after.
	Margins []time.Duration

	Excused []Excuse // harms that are not among these, because the machine did not run a process

	Unfounded int // refusals at a time when the lock was surely free

	Findings []Finding // the first of each kind
	Notes    []string  // their texts
}

// A Finding is a moment, or a time, in which a harm showed.
type Finding struct {
	Harm     harness.Harm // "" if it is none, such as a resource that did not follow its rule
	From, To int64
	Text     string
}

// An Overlap is the time in which a hold was beside another that excludes it.
type Overlap struct {
	Earlier, Later int // indices in Judgement.Holds
	Length         time.Duration
	Promised       bool // the later began within the promise of the earlier
}

// Judge says what is wrong with h, which may be in any order and stays as it is. It
// takes time in O(n log n) and never fails: events that do not belong to any call are
// ignored.
//
// It reports what has surely happened. A client that may hold the lock without
// knowing of it, because its attempt failed or its process was killed, is no
// holder.
func Judge(h History, r Rules) Judgement { return JudgeSeq(h.sorted().Each(), r) }

// JudgeSeq is Judge of events that come in order of time, each of which it sees once and
// keeps no longer: a history need not be in memory as a whole.
func JudgeSeq(events iter.Seq[*Event], r Rules) Judgement {
	r = r.filled()
	var j Judgement
	c := collect(events, r, &j)
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

// Harms returns the harms that the history shows, in the order of harness.Harms.
func (j *Judgement) Harms() []harness.Harm {
	seen := map[harness.Harm]bool{
		harness.TwoHolders: len(j.Overlaps) > 0,
		harness.TokenFell:  j.TokensFell > 0,
		harness.Stall:      j.Stalls > 0,
		harness.Stuck:      len(j.Stuck) > 0,
		harness.Overtaken:  j.Bypasses > 0,
		harness.Misled:     j.Unfounded > 0,
	}
	for _, f := range j.Findings {
		seen[f.Harm] = true // StaleWrite, of which resource knows which counts
	}
	var harms []harness.Harm
	for _, m := range harness.Harms {
		if seen[m] {
			harms = append(harms, m)
		}
	}
	return harms
}

// find notes the first finding of a kind, which is its format.
func (j *Judgement) find(harm harness.Harm, from, to int64, format string, args ...any) {
	text := fmt.Sprintf("%s: ", j.since(from)) + fmt.Sprintf(format, args...)
	j.Findings = append(j.Findings, Finding{Harm: harm, From: from, To: to, Text: text})
}

// since returns at as a time from the start.
func (j *Judgement) since(at int64) time.Duration {
	return time.Duration(at - j.Start).Round(time.Microsecond)
}
