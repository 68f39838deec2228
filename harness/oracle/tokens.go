package oracle

import (
	"fmt"
	"sort"

	"locklab/harness"
)

// Tokens reports each hold, of holds sorted by grant, whose fencing token would not protect a
// resource that remembers the greatest token: it must admit the holder and refuse its
// predecessors. A writer's token is greater than the token of every earlier hold. A reader's
// is not less than an earlier writer's; readers may have equal ones in any order.
//
// If a lock has several permits, the order of two grants is known only if one was requested
// after the other was granted, so only such holds are compared.
func Tokens(holds []Hold, permits int) []harness.Violation {
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
	if permits <= 1 {
		var rise rising
		for i := range holds {
			if o := rise.next(&holds[i]); o != nil {
				found = append(found, fall{&holds[i], o})
			}
		}
		return found
	}
	// The holds with the greatest tokens among the first i, of all and of the writers.
	greatest := make([]*Hold, len(holds)+1)
	written := make([]*Hold, len(holds)+1)
	for i := range holds {
		h := &holds[i]
		before := sort.Search(i, func(k int) bool { return holds[k].Acquired >= h.Requested })
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

// rising has the sequential holds with the greatest token, of all and of writers.
type rising struct{ greatest, written *Hold }

// next adds h, and returns the earlier hold whose token h's should have exceeded, or nil.
func (r *rising) next(h *Hold) *Hold {
	before := stale(h, r.greatest, r.written)
	r.greatest = greater(r.greatest, h)
	if !h.Shared {
		r.written = greater(r.written, h)
	}
	return before
}

// stale returns the hold before h whose token h's should have exceeded, or nil. all has
// the greatest token before h, writer the greatest of a writer.
func stale(h, all, writer *Hold) *Hold {
	if h.Shared {
		if writer != nil && h.Token < writer.Token {
			return writer
		}
		return nil
	}
	if all != nil && h.Token <= all.Token {
		return all
	}
	return nil
}

func greater(a, b *Hold) *Hold {
	if a == nil || b.Token > a.Token {
		return b
	}
	return a
}
