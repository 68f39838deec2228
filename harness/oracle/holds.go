package oracle

import (
	"cmp"
	"iter"
	"math"
	"slices"
	"time"
)

// A Held is a hold that a history shows. It was definitely held from Acquired to
// Releasing, which is when it began to release the lock, was told that it lost it,
// or was killed, or else the end of the observation: whichever came first. Its
// Deadline does not end it: until a holder is told it goes on.
type Held struct {
	Hold

	// Released is when the lock was given back at the latest: when Unlock returned
	// without an error, else math.MaxInt64: there is no saying.
	Released int64

	Deadline int64 // the latest that was heard of, 0 for none

	// Promise is until when the holder could rely on the lock: Releasing, Deadline,
	// or the start of a pause of its process, whichever came first; never before
	// Acquired.
	Promise int64

	Tried  bool // by TryLock
	Lost   bool // it was told
	Killed bool // its process was
	Open   bool // until the end of the observation

	// Late: when the grant was seen, its deadline had passed, or its process had been
	// paused since it asked. Where it stands among other holds is not known.
	Late bool
}

// An Outcome is what became of an attempt.
type Outcome string

// The outcomes.
const (
	Got     Outcome = "granted"
	Not     Outcome = "refused"
	Unknown Outcome = "failed"  // by an error, or its process was killed: it may have been granted
	Pending Outcome = "pending" // without an answer
)

// An Attempt is a call of Lock or TryLock.
type Attempt struct {
	Worker   int
	Shared   bool
	Tried    bool
	Asked    int64
	Answered int64 // when its outcome was known; of one that is pending the end of the observation
	Outcome  Outcome

	hold int // of one that was granted, its index in Judgement.Holds
}

// A pause is a time in which a process was stopped.
type pause struct{ from, to int64 }

// A course is what is known of one worker so far.
type course struct {
	pending int   // index of its attempt, -1 if it makes none
	open    []int // its holds that have not ended, the latest at the end
	nested  int   // of a reentrant lock: grants beside the first
	last    int   // its latest hold, -1 for none
	leaving int   // the hold that it releases, -1 for none

	paused  bool
	pauses  []pause
	starved []pause
}

// A written is what is kept of a Wrote.
type written struct {
	at    int64
	token uint64
	hold  int // that it is of
	taken bool
}

// A collector gathers what is concluded from events, which it sees once.
type collector struct {
	r        Rules
	j        *Judgement
	workers  map[int]*course
	holds    pages[Held]
	attempts pages[Attempt]
	writes   pages[written] // of an exclusive lock
	others   []Event        // Fault, Over, Paused, Resumed and Killed
}

// collect takes in events, which are in order of time.
func collect(events iter.Seq[*Event], r Rules, j *Judgement) *collector {
	c := &collector{r: r, j: j, workers: make(map[int]*course)}
	first := true
	for e := range events {
		if first {
			j.Start, first = e.At, false
		}
		j.End = e.At
		c.event(e)
	}
	if r.End != 0 {
		j.End = max(j.End, r.End)
	}
	j.Holds, j.Attempts = c.holds.all(), c.attempts.all()
	for i := range j.Attempts {
		if a := &j.Attempts[i]; a.Outcome == Pending {
			a.Answered = j.End
		}
	}
	for i := range j.Holds {
		if h := &j.Holds[i]; h.Open {
			h.Releasing = j.End
		}
	}
	c.sort()
	for i := range j.Holds {
		c.promise(&j.Holds[i])
	}
	return c
}

// sort orders the holds as Sort does: of two that were granted at the same time the
// one that ended first was first, if that is possible.
func (c *collector) sort() {
	if slices.IsSortedFunc(c.j.Holds, func(x, y Held) int { return byGrant(&x, &y) }) {
		return
	}
	order := make([]int, len(c.j.Holds))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return byGrant(&c.j.Holds[a], &c.j.Holds[b])
	})
	sorted, now := make([]Held, len(order)), make([]int, len(order))
	for to, from := range order {
		sorted[to], now[from] = c.j.Holds[from], to
	}
	c.j.Holds = sorted
	for i := range c.j.Attempts {
		if a := &c.j.Attempts[i]; a.hold >= 0 {
			a.hold = now[a.hold]
		}
	}
	for i := range c.writes.n {
		w := c.writes.at(i)
		w.hold = now[w.hold]
	}
}

func byGrant(x, y *Held) int {
	return cmp.Or(cmp.Compare(x.Acquired, y.Acquired), cmp.Compare(x.Releasing, y.Releasing))
}

func (c *collector) of(worker int) *course {
	w := c.workers[worker]
	if w == nil {
		w = &course{pending: -1, last: -1, leaving: -1}
		c.workers[worker] = w
	}
	return w
}

func (c *collector) event(e *Event) {
	w := c.of(e.Worker)
	switch e.Kind {
	case Fault, Over, Paused, Resumed, Killed:
		c.others = append(c.others, *e)
	}
	switch e.Kind {
	case Asked, Tried:
		c.answer(w, e.At, Unknown) // it gave up the one before without a word
		w.pending = c.attempts.add(Attempt{
			Worker: e.Worker, Shared: e.Shared, Tried: e.Kind == Tried, Asked: e.At, Outcome: Pending, hold: -1,
		})
	case Granted:
		c.granted(w, e)
	case Refused:
		c.answer(w, e.At, Not)
	case Failed:
		c.answer(w, e.At, Unknown)
	case Told, Releasing, Released:
		c.leave(w, e)
	case Wrote:
		if w.last >= 0 && c.r.Permits == 1 {
			c.writes.add(written{e.At, e.Token, w.last, e.Taken})
		}
		c.deadline(w.last, e)
	case Paused:
		if !w.paused {
			w.paused, w.pauses = true, append(w.pauses, pause{e.At, math.MaxInt64})
		}
	case Resumed:
		c.resume(w, e.At)
	case Starved:
		w.starved = append(w.starved, pause{e.At, e.Deadline})
	case Killed:
		c.answer(w, e.At, Unknown)
		for len(w.open) > 0 {
			c.end(w, e.At).Killed = true
		}
		w.nested, w.leaving = 0, -1
		c.resume(w, e.At)
	}
}

// answer ends the attempt of w, if it makes one, and returns its index or -1.
func (c *collector) answer(w *course, at int64, o Outcome) int {
	i := w.pending
	if i >= 0 {
		a := c.attempts.at(i)
		a.Answered, a.Outcome = at, o
		w.pending = -1
	}
	return i
}

func (c *collector) granted(w *course, e *Event) {
	i := c.answer(w, e.At, Got)
	if c.r.Reentrant && len(w.open) > 0 {
		w.nested++
		if i >= 0 {
			c.attempts.at(i).hold = w.open[len(w.open)-1]
		}
		return
	}
	h := Held{
		Hold:     Hold{Worker: e.Worker, Requested: e.At, Acquired: e.At, Shared: e.Shared, Token: e.Token},
		Released: math.MaxInt64, Deadline: e.Deadline, Open: true,
	}
	if i >= 0 {
		a := c.attempts.at(i)
		a.hold = c.holds.n
		h.Requested, h.Tried = a.Asked, a.Tried
		h.Shared = h.Shared || a.Shared
	}
	n := len(w.pauses)
	h.Late = n > 0 && w.pauses[n-1].to >= h.Requested || h.Deadline != 0 && h.Deadline <= h.Acquired
	w.last = c.holds.add(h)
	w.open = append(w.open, w.last)
}

// leave takes note of an event at the end of a hold.
func (c *collector) leave(w *course, e *Event) {
	switch e.Kind {
	case Told:
		w.nested = 0
		if len(w.open) > 0 {
			c.deadline(w.open[len(w.open)-1], e)
			c.end(w, e.At).Lost = true
		}
	case Releasing:
		if w.nested > 0 {
			w.nested, w.leaving = w.nested-1, -1
			return
		}
		w.leaving = w.last // of a lease that was lost, too
		if n := len(w.open); n > 0 {
			w.leaving = w.open[n-1]
			c.deadline(w.leaving, e)
			c.end(w, e.At)
		}
	case Released:
		if w.leaving >= 0 && e.Text == "" {
			h := c.holds.at(w.leaving)
			h.Released = min(h.Released, e.At)
		}
		w.leaving = -1
	}
}

// end ends the latest hold of w that has not ended.
func (c *collector) end(w *course, at int64) *Held {
	n := len(w.open) - 1
	h := c.holds.at(w.open[n])
	w.open = w.open[:n]
	h.Releasing, h.Open = at, false
	return h
}

// deadline takes the deadline that e says of hold i, if it has one: renewals move
// it on.
func (c *collector) deadline(i int, e *Event) {
	if i >= 0 && e.Deadline != 0 {
		h := c.holds.at(i)
		h.Deadline = max(h.Deadline, e.Deadline)
	}
}

func (c *collector) resume(w *course, at int64) {
	if w.paused {
		w.paused = false
		w.pauses[len(w.pauses)-1].to = at
	}
}

// promise sets the end of h's promise.
func (c *collector) promise(h *Held) {
	h.Promise = h.Releasing
	if h.Deadline != 0 {
		h.Promise = min(h.Promise, h.Deadline)
	}
	if p, ok := c.pausedAt(h); ok {
		h.Promise = min(h.Promise, p.from)
	}
	h.Promise = max(h.Promise, h.Acquired)
}

// pausedAt returns the first pause of h's process that touches the hold.
func (c *collector) pausedAt(h *Held) (pause, bool) {
	ps := c.of(h.Worker).pauses
	i, _ := slices.BinarySearchFunc(ps, h.Acquired, func(p pause, at int64) int { return cmp.Compare(p.to, at) })
	if i < len(ps) && ps[i].from < h.Releasing {
		return ps[i], true
	}
	return pause{}, false
}

// spare is for how long a holder may seem to have run in an overlap that is not its
// fault: shorter times in which it did not are not reported.
const spare = int64(20 * time.Millisecond)

// starvedIn reports whether the process of a worker did not run between two moments, but
// for spare, though the try had not stopped it.
func (c *collector) starvedIn(worker int, from, to int64) bool {
	var lost int64
	w := c.of(worker)
	for _, p := range w.starved {
		if !slices.ContainsFunc(w.pauses, func(q pause) bool { return q.from < p.to && p.from < q.to }) {
			lost += max(0, min(to, p.to)-max(from, p.from))
		}
	}
	return lost > 0 && to-from-lost <= spare
}
