package oracle

import (
	"cmp"
	"fmt"
	"math"
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

	// Kept: no fault takes the lock from a holder before its Deadline. A holder that was notified
	// too late because the machine did not run its process is no evidence.
	Kept bool

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

	Refused int // writes with lesser tokens, which the resource refuses if the lock has tokens

	Windows []Window // one for each Fault, Killed and Paused, in order

	Stuck []int // workers that waited for a free lock at the end, for more than Prompt; or whose attempts all failed

	// Notices are the times from a holder's notice of a loss to the next grant,
	// negative if the grant came first.
	Notices []time.Duration

	Excused []Excuse // anomalies left out, because the machine did not run a process

	// Found counts the findings by anomaly, except overlaps: stale writes that the resource
	// accepted; holds with a token not greater than an earlier one; waits for a free lock of
	// more than Prompt; grants to a client while an earlier one waited; refusals while the lock
	// was surely free; grants before the Deadline of a lost lease. The empty anomaly counts
	// writes whose Taken differs from the rule.
	Found map[Anomaly]int

	Findings []Finding // the first of each kind
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
// time in O(n log n), and O(delays) for each anomaly that they excuse, and never fails: it ignores events that do not belong to a call.
//
// It reports only certain facts. A client that may hold the lock without knowing it,
// because its attempt failed or its process was killed, is not a holder.
func Judge(h History, r Rules) Judgement {
	r = r.filled()
	j := Judgement{Found: make(map[Anomaly]int)}
	h = h.sorted()
	c := collect(h, r, &j)
	j.overlaps(r, c)
	j.tokens(r)
	j.resource(r, c)
	j.windows(h, r, c)
	j.order(r, c)
	j.notices(r, c)
	j.refusals(r)
	return j
}

// Anomalies returns the anomalies that the history shows, in the order of Anomalies.
func (j *Judgement) Anomalies() []Anomaly {
	return slices.DeleteFunc(slices.Clone(Anomalies), func(h Anomaly) bool {
		return !slices.ContainsFunc(j.Findings, func(f Finding) bool { return f.Anomaly == h })
	})
}

func (j *Judgement) find(anomaly Anomaly, from, to int64, format string, args ...any) {
	if j.Found[anomaly]++; j.Found[anomaly] == 1 {
		j.record(anomaly, from, to, format, args...)
	}
}

func (j *Judgement) record(anomaly Anomaly, from, to int64, format string, args ...any) {
	text := fmt.Sprintf("%s: ", j.since(from)) + fmt.Sprintf(format, args...)
	j.Findings = append(j.Findings, Finding{Anomaly: anomaly, From: from, To: to, Text: text})
}

func (j *Judgement) since(at int64) time.Duration {
	return time.Duration(at - j.Start).Round(time.Microsecond)
}

// resource follows the writes. Events of kind Wrote must be in the order of their arrival.
//
// A reader's write must not come after a later writer's, and makes no other write stale. A
// writer that lost the lock has a lesser token than a reader after it, so the resource also
// remembers readers' tokens. A write is stale if a writer that was granted the lock later has
// written before.
func (j *Judgement) resource(r Rules, c *collector) {
	latest := -1 // the latest granted writer that has written
	var guarded Resource
	for i := range c.writes {
		e := &c.writes[i]
		hold := &j.Holds[e.hold]
		if r.Fenced && !j.takes(e, &guarded) {
			j.Refused++
			continue
		}
		if latest > e.hold {
			later := &j.Holds[latest]
			j.find(StaleWrite, e.at, e.at, "the resource took a write of worker %d, which was granted the lock at %v with token %d, after one of worker %d, at %v with token %d",
				hold.Worker, j.since(hold.Acquired), hold.Token, later.Worker, j.since(later.Acquired), later.Token)
		}
		if !hold.Shared {
			latest = max(latest, e.hold)
		}
	}
}

func (j *Judgement) takes(e *written, guarded *Resource) bool {
	hold, seen := &j.Holds[e.hold], *guarded
	takes := guarded.Take(e.token, hold.Shared)
	if takes != e.taken {
		j.find("", e.at, e.at, "for a write with token %[2]d of worker %[3]d the resource recorded taken=%[1]v, but its rule gives %[4]v: it has seen %[5]d, and %[6]d of writers",
			e.taken, e.token, hold.Worker, takes, seen.greatest, seen.writer)
	}
	return takes
}

// A Resource is guarded by a lock. It remembers the greatest token of a write and refuses
// lesser ones (Kleppmann 2016, "How to do distributed locking").
type Resource struct {
	greatest, writer uint64 // greatest accepted token, and greatest of a writer
}

// Take reports whether the resource accepts a write.
func (r *Resource) Take(token uint64, shared bool) bool {
	if token < r.writer || !shared && token < r.greatest {
		return false
	}
	r.greatest = max(r.greatest, token)
	if !shared {
		r.writer = token
	}
	return true
}

// overlaps finds the holds that began during others, by their ends and by their promises.
func (j *Judgement) overlaps(r Rules, c *collector) {
	all, promised := newInside(r.Permits), newInside(r.Permits)
	for i := range j.Holds {
		h := &j.Holds[i]
		end, promise := h.Releasing, h.Promise
		if h.Open {
			end = math.MaxInt64
		}
		if h.Open && promise == h.Releasing {
			promise = math.MaxInt64
		}
		o, ok := all.against(&h.Hold)
		p, early := promised.against(&h.Hold)
		all.add(&h.Hold, stay{i, end})
		promised.add(&h.Hold, stay{i, promise})
		if !ok {
			continue
		}
		x := Overlap{Earlier: o, Later: i}
		if early {
			x.Earlier, x.Promised = p, true
		} else if a := &j.Holds[o]; r.Kept && c.starvedIn(a.Worker, h.Acquired, a.Releasing) {
			j.Starved = append(j.Starved, x)
			continue
		}
		j.overlap(x)
	}
}

func (j *Judgement) overlap(x Overlap) {
	a, b := &j.Holds[x.Earlier], &j.Holds[x.Later]
	to := min(a.Releasing, b.Releasing)
	x.Length = time.Duration(to - b.Acquired)
	if !slices.ContainsFunc(j.Overlaps, func(o Overlap) bool { return o.Promised == x.Promised }) {
		why := "had not been told that it lost it"
		if x.Promised {
			why = "could rely on it"
		}
		j.record(TwoHolders, b.Acquired, to, "worker %d was granted the lock for %v while worker %d held it, since %v, and %s",
			b.Worker, x.Length, a.Worker, j.since(a.Acquired), why)
	}
	j.Overlaps = append(j.Overlaps, x)
	j.Longest = max(j.Longest, x.Length)
}

// tokens compares the tokens by the rule of Tokens, without holds of unknown order.
func (j *Judgement) tokens(r Rules) {
	if !r.Fenced {
		return
	}
	var holds []Hold
	for i := range j.Holds {
		if h := &j.Holds[i]; !h.Late {
			holds = append(holds, h.Hold)
		}
	}
	for _, f := range fallen(holds, r.Permits) {
		j.find(TokenFell, f.h.Acquired, f.h.Releasing, "worker %d got token %d after worker %d had %d since %v",
			f.h.Worker, f.h.Token, f.before.Worker, f.before.Token, j.since(f.before.Acquired))
	}
}

// notices also finds the grants before the Deadline of a lost lease whose holder had been notified,
// if Rules.Kept, or was paused. If it ran and had not been notified, the grant is an overlap.
func (j *Judgement) notices(r Rules, c *collector) {
	if r.Permits > 1 {
		return
	}
	_, next := j.neighbours()
	for i, n := range next {
		h, at := &j.Holds[i], j.grantOf(n)
		if !h.Lost || at == never || j.Holds[n].Worker == h.Worker {
			continue
		}
		j.Notices = append(j.Notices, time.Duration(at-h.Releasing))
		p, paused := c.pausedAt(h)
		if at < h.Deadline && (r.Kept && at >= h.Releasing || paused && p.from <= at && at < p.to) {
			j.find(Misled, at, h.Deadline, "worker %d was granted the lock %v before a Deadline that worker %d had read",
				j.Holds[n].Worker, time.Duration(h.Deadline-at), h.Worker)
		}
	}
}

// neighbours returns for each hold the end of the earlier holds that exclude it, and the index
// of the next hold that excludes it, len(j.Holds) for none.
func (j *Judgement) neighbours() (ended []int64, next []int) {
	ended, next = make([]int64, len(j.Holds)), make([]int, len(j.Holds))
	// By whether they exclude a shared hold: all holds, and only the exclusive ones.
	last, after := map[bool]int64{false: math.MinInt64, true: math.MinInt64}, map[bool]int{false: len(next), true: len(next)}
	for i := range j.Holds {
		h := &j.Holds[i]
		ended[i] = last[h.Shared]
		last[false] = max(last[false], h.Releasing)
		if !h.Shared {
			last[true] = max(last[true], h.Releasing)
		}
	}
	for i := range slices.Backward(j.Holds) {
		shared := j.Holds[i].Shared
		next[i] = after[shared]
		after[false] = i
		if !shared {
			after[true] = i
		}
	}
	return ended, next
}

func (j *Judgement) grantOf(i int) int64 {
	if i == len(j.Holds) {
		return never
	}
	return j.Holds[i].Acquired
}
