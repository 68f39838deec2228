package oracle

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"locklab/harness"
)

// Overlaps reports each hold, of holds sorted by grant, that began during other definite holds
// that it excludes. Readers and writers never overlap. A lock with several permits allows that
// number of holds, by readers or not. For permits 0 or 1, writers never overlap and readers
// may overlap freely.
//
// For locks that block until granted this rule is exact: an acquisition takes effect at its
// return at the latest, a release at its call at the earliest. It takes time in O(n permits).
func Overlaps(holds []Hold, permits int) []harness.Violation {
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
