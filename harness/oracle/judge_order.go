package oracle

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"sort"
	"time"
)

// order counts the grants of a FIFO lock to a client while another was surely in line
// before it: that one asked at least Arrival earlier, and its process ran all the time.
// It counts writers only, or all if the lock has several permits. Two permits that are granted
// one after the other may arrive in another order, up to spare apart.
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
	first, apart := 0, int64(0)
	if r.Permits > 1 {
		apart = spare
	}
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
			if a.hold == i || a.Outcome != Pending && a.Answered <= h.Acquired+apart || r.Down && !j.lined(r, a, h.Requested) {
				continue
			}
			if j.excused(&r, Overtaken, a.Asked, h.Requested, time.Duration(h.Requested-a.Asked), r.Arrival) {
				break
			}
			j.find(Overtaken, a.Asked, h.Acquired, "worker %d asked at %v and was granted the lock before worker %d, which had waited since %v",
				h.Worker, j.since(h.Requested), a.Worker, j.since(a.Asked))
			break
		}
	}
}

func (j *Judgement) lined(r Rules, a *Attempt, at int64) bool {
	return !slices.ContainsFunc(j.Windows, func(w Window) bool {
		return w.Cause.Kind == Fault && a.Asked > w.Cause.At-int64(r.Arrival) && at < w.To+int64(r.Arrival)
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
		j.find(Misled, a.Asked, a.Answered, "worker %d was refused the lock, which was free since it had asked at %v", a.Worker, j.since(a.Asked))
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
	i := sort.Search(len(spans), func(i int) bool { return spans[i].to >= from })
	return i < len(spans) && spans[i].from <= to
}

// Overlaps reports each hold, of holds sorted by grant, that began during other definite holds
// that it excludes. Readers and writers never overlap. A lock with several permits allows that
// number of holds, by readers or not. For permits 0 or 1, writers never overlap and readers
// may overlap freely.
//
// For locks that block until granted this rule is exact: an acquisition takes effect at its
// return at the latest, a release at its call at the earliest. It takes time in O(n permits).
func Overlaps(holds []Hold, permits int) []Violation {
	seen := newInside(max(1, permits))
	var n uint64
	var first string
	for i := range holds {
		h := &holds[i]
		if o, ok := seen.against(h); ok {
			if n++; n == 1 {
				first = seen.describe(h, &holds[o])
			}
		}
		seen.add(h, stay{i, h.Releasing})
	}
	return report(Exclusion, n, first)
}

// A stay is the time until which hold number of is definitely held.
type stay struct {
	of    int
	until int64
}

// inside is the state for judging the next hold: the last holds to leave.
type inside struct {
	permits        int
	reader, writer stay   // the last of its kind to leave
	last           []stay // of all, as many as there are permits, the first to leave at the front
}

func newInside(permits int) *inside {
	none := stay{-1, math.MinInt64}
	return &inside{permits: permits, reader: none, writer: none}
}

// against returns the index of a hold that h overlaps and excludes, if there is one.
func (in *inside) against(h *Hold) (of int, ok bool) {
	other := in.reader
	if h.Shared {
		other = in.writer
	}
	if other.until > h.Acquired {
		return other.of, true
	}
	// If the first of these to leave does so after the arrival of h, all are inside.
	if (in.permits > 1 || !h.Shared) && len(in.last) == in.permits && in.last[0].until > h.Acquired {
		return in.last[0].of, true
	}
	return 0, false
}

func (in *inside) add(h *Hold, s stay) {
	kind := &in.writer
	if h.Shared {
		kind = &in.reader
	}
	if s.until > kind.until {
		*kind = s
	}
	i, _ := slices.BinarySearchFunc(in.last, s, func(a, b stay) int { return cmp.Compare(a.until, b.until) })
	in.last = slices.Insert(in.last, i, s)
	if len(in.last) > in.permits {
		in.last = slices.Delete(in.last, 0, 1)
	}
}

func (in *inside) describe(h, o *Hold) string {
	what := "the lock"
	switch {
	case h.Shared && !o.Shared:
		what = "the lock for reading"
	case o.Shared && !h.Shared:
		what = "the lock for writing"
	case in.permits > 1:
		what = fmt.Sprintf("the lock, which has %d permits and as many holders,", in.permits)
	}
	return fmt.Sprintf("worker %d was granted %s %v before worker %d began to release it",
		h.Worker, what, time.Duration(o.Releasing-h.Acquired), o.Worker)
}

// Tokens reports each hold, of holds sorted by grant, whose fencing token would not protect a
// resource that remembers the greatest token: it must admit the holder and refuse its
// predecessors. A writer's token is greater than the token of every earlier hold. A reader's
// is not less than an earlier writer's; readers may have equal ones in any order.
//
// If a lock has several permits, the order of two grants is known only if one was requested
// after the other was granted, so only such holds are compared.
func Tokens(holds []Hold, permits int) []Violation {
	found := fallen(holds, permits)
	if len(found) == 0 {
		return nil
	}
	h, o := found[0].h, found[0].before
	return report(Fencing, uint64(len(found)),
		fmt.Sprintf("worker %d got token %d after worker %d had %d", h.Worker, h.Token, o.Worker, o.Token))
}

type fall struct{ h, before *Hold }

func fallen(holds []Hold, permits int) []fall {
	var found []fall
	// The holds with the greatest tokens among the first i, of all and of the writers.
	greatest := make([]*Hold, len(holds)+1)
	written := make([]*Hold, len(holds)+1)
	for i := range holds {
		h := &holds[i]
		before := i
		if permits > 1 {
			before = sort.Search(i, func(k int) bool { return holds[k].Acquired >= h.Requested })
		}
		if o := stale(h, greatest[before], written[before]); o != nil {
			found = append(found, fall{h, o})
		}
		greatest[i+1], written[i+1] = greater(greatest[i], h), written[i]
		if !h.Shared {
			written[i+1] = greater(written[i], h)
		}
	}
	return found
}

// stale returns the hold before h whose token h's should have exceeded, or nil. all has
// the greatest token before h, writer the greatest of a writer.
func stale(h, all, writer *Hold) *Hold {
	before := all
	if h.Shared {
		before = writer
	}
	if before == nil || h.Token > before.Token || h.Shared && h.Token == before.Token {
		return nil
	}
	return before
}

func greater(a, b *Hold) *Hold {
	if a == nil || b.Token > a.Token {
		return b
	}
	return a
}
