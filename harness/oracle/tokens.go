package oracle

import (
	"fmt"
	"sort"

	"locklab/harness"
)

// Tokens reports each hold, of holds sorted by grant, whose fencing token would
// not do its work: a resource that remembers the greatest token must let the
// holder in and its predecessors out. A writer's token is greater than that of
// every hold before; a reader's is not less than that of a writer before, and
// readers may have equal ones in any order.
//
// Of a lock with several permits the order of the grants is known only where a
// request came after another's grant, so that only such holds are compared.
func Tokens(holds []Hold, permits int) []harness.Violation {
	found := fallen(holds, permits)
	if len(found) == 0 {
		return nil
	}
	h, o := found[0].h, found[0].before
	return report(Fencing, uint64(len(found)),
		fmt.Sprintf("worker %d got token %d after worker %d had %d", h.Worker, h.Token, o.Worker, o.Token))
}

// A fall is a hold whose token did not rise, and one that had a greater token, or
// the same, before.
type fall struct{ h, before *Hold }

// fallen returns the holds that Tokens reports.
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
	// The holds with the greatest tokens so far, among the first i of all and of
	// the writers: index i, nil if there is none.
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

// rising follows the tokens of holds of which one comes after the other: it has the
// greatest so far, and that of a writer.
type rising struct{ greatest, written *Hold }

// next takes in h, and returns the hold before it whose token h's should have passed, or nil.
func (r *rising) next(h *Hold) *Hold {
	before := stale(h, r.greatest, r.written)
	r.greatest = greater(r.greatest, h)
	if !h.Shared {
		r.written = greater(r.written, h)
	}
	return before
}

// stale returns the hold before h whose token h's should have passed, or nil.
// all has the greatest token before h, writer the greatest of a writer.
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

// greater returns the hold with the greater token; a may be nil.
func greater(a, b *Hold) *Hold {
	if a == nil || b.Token > a.Token {
		return b
	}
	return a
}
