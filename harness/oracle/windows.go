package oracle

import (
	"cmp"
	"math"
	"slices"
	"sort"
	"time"
)

// A Window is the cost of a disturbance: the longest wait of clients for a free lock from then
// on, among the waits that were in progress or began before the next disturbance. Each ends
// when the lock is granted.
//
// The lock is free while it has no definite holder. A paused holder counts until its Deadline
// if that is known, and at most until the lock was granted to another. If the end of its lease
// is unknown it counts until it is notified. Killed holders do not count: the rest of their
// leases is part of the window. Waiters are calls of Lock, while their processes run. The time
// between a failed attempt and the next one is not waiting, but does not end the wait.
type Window struct {
	Cause    Event // Fault, Killed or Paused
	From, To int64 // of the longest wait, 0 without one
	Length   time.Duration
	Granted  bool // the lock was granted again after Cause
}

// The points of a sweep, in processing order at equal times.
type pointKind int32

const (
	pFree    pointKind = iota // a hold ends
	pLeave                    // a waiter goes
	pDisturb                  // of is the index of the window
	pWait                     // a waiter comes
	pGrant                    // the lock is granted
	pHold                     // a hold begins
)

type point struct {
	at   int64
	kind pointKind
	of   int32
}

func (j *Judgement) windows(h History, r Rules, c *collector) {
	s := sweep{j: j, r: r, now: j.Start, freed: j.Start, last: j.Start, first: -1}
	points := make([]point, 0, 3*len(j.Holds)+2*len(j.Attempts))
	points = j.disturbances(points, h, &s)
	points = j.heldPoints(points, r, c)
	points = j.waitPoints(points, c)
	slices.SortStableFunc(points, func(a, b point) int {
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.kind, b.kind))
	})
	for _, p := range points {
		s.pass(p.at)
		s.point(p)
	}
	s.pass(j.End)
	if s.free() {
		j.stuck(&s, c)
	}
	s.close(j.End, false)
}

func (j *Judgement) disturbances(points []point, h History, s *sweep) []point {
	over, resumed := -1, make(map[int]int64)
	for i := len(h) - 1; i >= 0; i-- {
		e := &h[i]
		until := e.At
		switch e.Kind {
		case Over:
			over = i
			continue
		case Resumed:
			resumed[e.Worker] = e.At
			continue
		case Fault:
			if over >= 0 {
				until = h[over].At
			}
		case Paused:
			until = math.MaxInt64
			if at, ok := resumed[e.Worker]; ok {
				until = at
			}
		case Killed:
		default:
			continue
		}
		j.Windows = append(j.Windows, Window{Cause: *e})
		s.until = append(s.until, until)
	}
	slices.Reverse(j.Windows)
	slices.Reverse(s.until)
	for i, w := range j.Windows {
		points = append(points, point{w.Cause.At, pDisturb, int32(i)})
	}
	s.base = make([]int64, len(j.Windows))
	return points
}

func (j *Judgement) heldPoints(points []point, r Rules, c *collector) []point {
	for i := range j.Holds {
		h := &j.Holds[i]
		to := h.Releasing
		if p, ok := c.pausedAt(h); ok {
			if h.Deadline != 0 {
				to = min(to, max(h.Deadline, p.from))
			}
			if r.Permits == 1 {
				from := max(p.from, h.Acquired)
				to = min(to, j.grantOf(sort.Search(len(j.Holds), func(i int) bool { return j.Holds[i].Acquired > from })))
			}
		}
		points = append(points, point{h.Acquired, pGrant, 0})
		if to > h.Acquired {
			points = append(points, point{h.Acquired, pHold, 0})
			if !h.Open || to < h.Releasing {
				points = append(points, point{to, pFree, 0})
			}
		}
	}
	return points
}

func (j *Judgement) waitPoints(points []point, c *collector) []point {
	wait := func(from, to int64, ends bool) {
		if from < to {
			points = append(points, point{from, pWait, 0})
			if ends {
				points = append(points, point{to, pLeave, 0})
			}
		}
	}
	for i := range j.Attempts {
		a := &j.Attempts[i]
		if a.Tried {
			continue
		}
		from := a.Asked
		for _, p := range c.of(a.Worker).pauses {
			if p.to >= from && p.from < a.Answered {
				wait(from, p.from, true)
				from = max(from, p.to)
			}
		}
		wait(from, a.Answered, a.Outcome != Pending)
	}
	return points
}

// A sweep is one pass over a history. Its fields are the state between two events.
type sweep struct {
	j *Judgement
	r Rules

	held, waiting int

	now    int64
	freed  int64 // when the lock became free
	began  int64 // of the wait for a free lock, if waited is not 0
	waited int64 // waited since the lock was last free and not granted
	since  int64 // its part since the last disturbance
	from   int64 // beginning of that
	most   part  // the longest such part

	windows int     // that have begun
	first   int     // the first window that began in this wait, -1 for none
	base    []int64 // by window: time waited before it began
	until   []int64 // by window: end of the disturbance
	last    int64   // when the last disturbance began or ended
}

type part struct{ from, to, waited int64 }

func (s *sweep) cut(at int64) {
	s.most, s.since = s.longest(at), 0
}

func (s *sweep) longest(at int64) part {
	if s.since > s.most.waited {
		return part{s.from, at, s.since}
	}
	return s.most
}

func (s *sweep) pass(at int64) {
	if d := at - s.now; d > 0 && s.free() && s.waiting > 0 {
		if s.waited == 0 {
			s.began = s.now
		}
		if s.since == 0 {
			s.from = s.now
		}
		s.waited += d
		s.since += d
	}
	s.now = max(s.now, at)
}

func (s *sweep) free() bool { return s.held < s.r.Permits }

func (s *sweep) point(p point) {
	switch p.kind {
	case pFree:
		if s.held--; s.held == s.r.Permits-1 {
			s.freed = p.at
		}
	case pLeave:
		s.waiting--
	case pWait:
		s.waiting++
	case pHold:
		s.held++
	case pGrant:
		s.close(p.at, true)
	case pDisturb:
		s.cut(p.at)
		if s.first < 0 {
			s.first = int(p.of)
		}
		s.base[p.of] = s.waited
		s.windows = int(p.of) + 1
		s.last = max(s.last, p.at)
		if until := s.until[p.of]; until < math.MaxInt64 {
			s.last = max(s.last, until)
		}
	}
}

func (s *sweep) close(at int64, granted bool) {
	j := s.j
	// Windows that began in this wait, and the window that was open before.
	from := s.windows - 1
	if s.first >= 0 {
		from = s.first - 1
	}
	for i := max(0, from); i < s.windows; i++ {
		w := &j.Windows[i]
		w.Granted = w.Granted || granted
		length := s.waited
		if s.first >= 0 && i >= s.first {
			length -= s.base[i]
		} else if s.first >= 0 {
			length = s.base[s.first]
		}
		if d := time.Duration(length); d > w.Length {
			w.Length, w.From, w.To = d, max(s.began, w.Cause.At), at
		}
	}
	most := s.longest(at)
	if most.waited > int64(s.r.Prompt) && !j.excused(&s.r, Stall, most.from, most.to, time.Duration(most.waited), s.r.Prompt) {
		how := "until it was granted"
		if !granted {
			how = "to the end"
		}
		j.find(Stall, s.began, at, "clients waited %v for a free lock %s", time.Duration(s.waited).Round(time.Microsecond), how)
	}
	s.waited, s.since, s.most, s.first = 0, 0, part{}, -1
}

// stuck finds the workers left waiting at the end by a free lock: requests older than Prompt,
// if the lock has been free and waited for that long. If it was not granted since the last
// disturbance, it also finds the workers whose attempts since then failed.
func (j *Judgement) stuck(s *sweep, c *collector) {
	prompt := int64(s.r.Prompt)
	most := s.longest(j.End)
	if most.waited > prompt {
		for i := range j.Attempts {
			a := &j.Attempts[i]
			if a.Outcome == Pending && !a.Tried && j.End-a.Asked > prompt && !c.of(a.Worker).paused {
				j.Stuck = append(j.Stuck, a.Worker)
			}
		}
	}
	from, to, waited := most.from, most.to, most.waited
	if len(j.Stuck) == 0 && j.End-max(s.freed, s.last) > prompt {
		j.Stuck = j.failing(s.last)
		from, to, waited = max(s.freed, s.last), j.End, j.End-max(s.freed, s.last)
	}
	if len(j.Stuck) > 0 && j.excused(&s.r, Stuck, from, to, time.Duration(waited), s.r.Prompt) {
		j.Stuck = nil
	}
	if len(j.Stuck) > 0 {
		slices.Sort(j.Stuck)
		j.Stuck = slices.Compact(j.Stuck)
		j.find(Stuck, max(s.freed, s.last), j.End, "%d workers, the first of them %d, could not take the lock, which was free to the end at %v",
			len(j.Stuck), j.Stuck[0], j.since(j.End))
	}
}

func (j *Judgement) failing(at int64) (workers []int) {
	if n := len(j.Holds); n > 0 && j.Holds[n-1].Acquired > at {
		return nil
	}
	for i := range j.Attempts {
		if a := &j.Attempts[i]; a.Asked > at && a.Outcome != Pending {
			workers = append(workers, a.Worker)
		}
	}
	return workers
}
