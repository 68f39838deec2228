package oracle

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// A Held is a hold in a history. It was definitely held from Acquired to Releasing: the start
// of its release, the notice of its loss, or the end of its process or the observation, if
// earlier. Its Deadline does not end it: a holder continues until it is notified.
type Held struct {
	Hold

	// Released is when the hold ended: the return of Unlock without an error, or math.MaxInt64.
	Released int64

	Deadline int64 // the latest that its holder read, 0 for none

	// Promise is the time until which the holder could rely on the lock: Releasing, Deadline,
	// or the start of a pause of its process, whichever came first; never before Acquired.
	Promise int64

	Lost bool // it was notified
	Open bool // until the end of the observation

	// Late reports that at the time of the grant its deadline had passed, or its
	// process had been paused since it asked. Its order among other holds is unknown.
	Late bool
}

// An Outcome is the result of an attempt.
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
	Answered int64 // time of its outcome; end of the observation if pending
	Outcome  Outcome

	hold int // index in Judgement.Holds, if granted
}

type pause struct{ from, to int64 }

type course struct {
	pending int   // index of its attempt, -1 without one
	open    []int // its holds that have not ended, the latest at the end
	nested  int   // of a reentrant lock: grants after the first
	last    int   // its latest hold, -1 for none
	leaving int   // the hold that it is releasing, -1 for none

	paused  bool
	pauses  []pause
	starved []pause
}

type written struct {
	at    int64
	token uint64
	hold  int // its hold
	taken bool
}

type collector struct {
	r       Rules
	j       *Judgement
	workers map[int]*course
	writes  []written // of an exclusive lock
}

func collect(h History, r Rules, j *Judgement) *collector {
	c := &collector{r: r, j: j, workers: make(map[int]*course)}
	for i := range h {
		c.event(&h[i])
	}
	if len(h) > 0 {
		j.Start, j.End = h[0].At, h[len(h)-1].At
	}
	if r.End != 0 {
		j.End = max(j.End, r.End)
	}
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

// sort orders the holds like Sort; of two granted together, the one that ended first is first.
func (c *collector) sort() {
	if slices.IsSortedFunc(c.j.Holds, func(x, y Held) int { return byGrant(&x.Hold, &y.Hold) }) {
		return
	}
	order := make([]int, len(c.j.Holds))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return byGrant(&c.j.Holds[a].Hold, &c.j.Holds[b].Hold) })
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
	for i := range c.writes {
		c.writes[i].hold = now[c.writes[i].hold]
	}
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
	case Asked, Tried:
		c.answer(w, e.At, Unknown) // the previous attempt ended without an event
		w.pending = len(c.j.Attempts)
		c.j.Attempts = append(c.j.Attempts, Attempt{
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
			c.writes = append(c.writes, written{e.At, e.Token, w.last, e.Taken})
		}
	case Paused:
		if !w.paused {
			w.paused, w.pauses = true, append(w.pauses, pause{e.At, math.MaxInt64})
		}
	case Resumed:
		if w.paused {
			w.paused = false
			w.pauses[len(w.pauses)-1].to = e.At
		}
	case Starved:
		w.starved = append(w.starved, pause{e.At, e.Deadline})
	case Killed:
		c.answer(w, e.At, Unknown)
		for len(w.open) > 0 {
			c.end(w, e)
		}
	}
}

func (c *collector) answer(w *course, at int64, o Outcome) int {
	i := w.pending
	if i >= 0 {
		a := &c.j.Attempts[i]
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
			c.j.Attempts[i].hold = w.open[len(w.open)-1]
		}
		return
	}
	h := Held{
		Hold:     Hold{Worker: e.Worker, Requested: e.At, Acquired: e.At, Shared: e.Shared, Token: e.Token},
		Released: math.MaxInt64, Deadline: e.Deadline, Open: true,
	}
	if i >= 0 {
		a := &c.j.Attempts[i]
		a.hold = len(c.j.Holds)
		h.Requested = a.Asked
	}
	n := len(w.pauses)
	h.Late = n > 0 && w.pauses[n-1].to >= h.Requested || h.Deadline != 0 && h.Deadline <= h.Acquired
	w.last = len(c.j.Holds)
	c.j.Holds = append(c.j.Holds, h)
	w.open = append(w.open, w.last)
}

func (c *collector) leave(w *course, e *Event) {
	switch e.Kind {
	case Told:
		w.nested = 0
		if len(w.open) > 0 {
			c.end(w, e).Lost = true
		}
	case Releasing:
		if w.nested > 0 {
			w.nested, w.leaving = w.nested-1, -1
			return
		}
		w.leaving = w.last // also of a lost lease
		if n := len(w.open); n > 0 {
			w.leaving = w.open[n-1]
			c.end(w, e)
		}
	case Released:
		if w.leaving >= 0 && e.Text == "" {
			h := &c.j.Holds[w.leaving]
			h.Released = min(h.Released, e.At)
		}
		w.leaving = -1
	}
}

func (c *collector) end(w *course, e *Event) *Held {
	n := len(w.open) - 1
	h := &c.j.Holds[w.open[n]]
	w.open = w.open[:n]
	h.Releasing, h.Deadline, h.Open = e.At, max(h.Deadline, e.Deadline), false
	return h
}

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

func (c *collector) pausedAt(h *Held) (pause, bool) {
	ps := c.of(h.Worker).pauses
	i, _ := slices.BinarySearchFunc(ps, h.Acquired, func(p pause, at int64) int { return cmp.Compare(p.to, at) })
	if i < len(ps) && ps[i].from < h.Releasing {
		return ps[i], true
	}
	return pause{}, false
}

// spare is the tolerated time that a holder seems to have run in an overlap that is not
// its fault: shorter delays are not reported.
const spare = int64(20 * time.Millisecond)

// starvedIn reports whether a worker's process did not run between two moments, up to spare.
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
