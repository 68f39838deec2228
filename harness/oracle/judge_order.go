package oracle

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// order counts the grants of a FIFO lock to a client while another was surely in line
// before it: that one asked at least Arrival earlier, and its process ran all the time.
// It counts writers only, or all if the lock has several permits.
func (j *Judgement) order(r Rules, c *collector) {
	if !r.FIFO {
		return
	}
	// Attempts are in order of their beginning. first is the first that may still wait.
	waits := make([]int32, 0, len(j.Attempts)) // of Attempts
	for i := range j.Attempts {
		if a := &j.Attempts[i]; !a.Tried && a.Outcome != Unknown && a.Outcome != Not && (!a.Shared || r.Permits > 1) && !c.stopped(a) {
			waits = append(waits, int32(i))
		}
	}
	wait := func(k int) *Attempt { return &j.Attempts[waits[k]] }
	first := 0
	for i := range j.Holds {
		h := &j.Holds[i]
		if h.Shared && r.Permits == 1 || h.Late {
			continue
		}
		for first < len(waits) && wait(first).Outcome != Pending && wait(first).Answered <= h.Acquired {
			first++
		}
		for k := first; k < len(waits) && wait(k).Asked <= h.Requested-int64(r.Arrival); k++ {
			a := wait(k)
			if a.hold == i || a.Outcome != Pending && a.Answered <= h.Acquired || r.Down && !j.lined(r, a, h.Requested) {
				continue
			}
			if j.excused(&r, Overtaken, a.Asked, h.Requested, time.Duration(h.Requested-a.Asked), r.Arrival) {
				break
			}
			if j.Bypasses++; j.Bypasses == 1 {
				j.find(Overtaken, a.Asked, h.Acquired, "worker %d asked at %v and was granted the lock before worker %d, which had waited since %v",
					h.Worker, j.since(h.Requested), a.Worker, j.since(a.Asked))
			}
			break
		}
	}
}

func (j *Judgement) lined(r Rules, a *Attempt, at int64) bool {
	return !slices.ContainsFunc(j.Windows, func(w Window) bool {
		return w.Cause.Kind == Fault && a.Asked > w.Cause.At-int64(r.Arrival) && a.Asked < w.To && (!w.Granted || at < w.To+int64(r.Arrival))
	})
}

func (c *collector) stopped(a *Attempt) bool {
	return slices.ContainsFunc(c.of(a.Worker).pauses, func(p pause) bool {
		return p.to >= a.Asked && p.from <= a.Answered
	})
}

// refusals counts the attempts that were refused while the lock was surely free. A holder may
// have had the lock since its request, but not before its predecessors left, until it was
// surely released or its successor was granted it. A failed attempt may have taken effect, even
// repeatedly, at any time after it began. A holder of unknown order counts as such an attempt.
func (j *Judgement) refusals(r Rules) {
	refused := func(a Attempt) bool { return a.Outcome == Not }
	if r.Permits > 1 || r.Spurious || !slices.ContainsFunc(j.Attempts, refused) {
		return
	}
	unknown := int64(math.MaxInt64) // time since which an unknown attempt may hold the lock
	for i := range j.Attempts {
		a := &j.Attempts[i]
		if a.Outcome == Unknown || a.Outcome == Pending || a.Outcome == Got && j.Holds[a.hold].Late {
			unknown = min(unknown, a.Asked)
		}
	}
	any, writers := j.spans(true), j.spans(false)
	for i := range j.Attempts {
		a := &j.Attempts[i]
		if a.Outcome != Not || a.Answered >= unknown {
			continue
		}
		by := any
		if a.Shared {
			by = writers
		}
		if touches(by, a.Asked, a.Answered) {
			continue
		}
		if j.Unfounded++; j.Unfounded == 1 {
			j.find(Misled, a.Asked, a.Answered, "worker %d was refused the lock, which was free since it had asked at %v", a.Worker, j.since(a.Asked))
		}
	}
}

// spans returns the sorted, disjoint times when the lock may have been held, by writers
// or also by readers.
func (j *Judgement) spans(readers bool) []pause {
	ended, next := j.neighbours()
	spans := make([]pause, 0, len(j.Holds))
	for i := range j.Holds {
		h := &j.Holds[i]
		from, to := max(h.Requested, ended[i]), min(h.Released, j.grantOf(next[i]))
		if readers || !h.Shared {
			spans = append(spans, pause{min(from, h.Acquired), max(to, h.Releasing)})
		}
	}
	slices.SortFunc(spans, func(a, b pause) int { return cmp.Compare(a.from, b.from) })
	apart := spans[:0]
	for _, s := range spans {
		if n := len(apart); n > 0 && s.from <= apart[n-1].to {
			apart[n-1].to = max(apart[n-1].to, s.to)
			continue
		}
		apart = append(apart, s)
	}
	return apart
}

func touches(spans []pause, from, to int64) bool {
	i, _ := slices.BinarySearchFunc(spans, from, func(s pause, at int64) int {
		if s.to < at {
			return -1
		}
		return 1
	})
	return i < len(spans) && spans[i].from <= to
}
