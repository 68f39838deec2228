package result

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"locklab/harness"
	"locklab/harness/oracle"
)

// judge adds the violations that the holds of all ranks show together.
//
// Holds of ranks with the same clock are judged by its times directly. Between clocks a
// hold is shortened at both ends by the error of its clock: two holds that still overlap
// certainly did. A token must be greater than the tokens of holds that began earlier by
// more than the errors, and no two writers ever have the same.
func (g *group) judge() {
	if g.parts[0].Workload.Locks > 1 {
		return // a hold does not identify its lock
	}
	lock := g.parts[0].Lock.Traits
	byClock := make(map[string][]oracle.Hold)
	var narrow, began, all []oracle.Hold
	for i := range g.parts {
		for _, h := range g.held(i) {
			byClock[g.clocks.name[i]] = append(byClock[g.clocks.name[i]], h.Hold)
			all = append(all, h.Hold)
			if e := g.clocks.error[i]; !g.clocks.one && e >= 0 {
				narrow = append(narrow, shrunk(h.Hold, e))
				began = append(began, blurred(h.Hold, e, lock.Permits))
			}
		}
	}
	names := slices.Sorted(maps.Keys(byClock))
	for _, name := range names {
		oracle.Sort(byClock[name])
		g.found("", oracle.Overlaps(byClock[name], lock.Permits))
		if lock.Fenced {
			g.found("", oracle.Tokens(byClock[name], lock.Permits))
		}
	}
	if len(g.violations) == 0 && len(names) > 1 {
		narrow = slices.DeleteFunc(narrow, func(h oracle.Hold) bool { return h.Releasing <= h.Acquired })
		oracle.Sort(narrow)
		g.found(", beyond the errors of their clocks", oracle.Overlaps(narrow, lock.Permits))
		if lock.Fenced {
			oracle.Sort(began)
			// The oracle treats these holds like holds of a lock with several permits: the
			// order is known only if they began far enough apart.
			g.found("", oracle.Tokens(began, 2))
		}
	}
	if lock.Fenced {
		g.found("", twice(all))
	}
	if len(names) > 1 {
		g.unseen()
	}
}

func shrunk(h oracle.Hold, e int64) oracle.Hold {
	h.Acquired, h.Releasing = h.Acquired+e, h.Releasing-e
	return h
}

// blurred returns h with Acquired as the latest time at which it may have begun.
// Requested is the earliest time such that a hold that began before it certainly came
// first. If the lock has several permits that is the request.
func blurred(h oracle.Hold, e int64, permits int) oracle.Hold {
	if permits <= 1 {
		h.Requested = h.Acquired
	}
	h.Requested, h.Acquired = h.Requested-e, h.Acquired+e
	return h
}

func (g *group) found(how string, vs []harness.Violation) {
	for _, v := range vs {
		v.Detail = "over all ranks, " + v.Detail + how
		g.violations = append(g.violations, v)
	}
}

func twice(all []oracle.Hold) []harness.Violation {
	writers := slices.DeleteFunc(slices.Clone(all), func(h oracle.Hold) bool { return h.Shared || h.Token == 0 })
	slices.SortFunc(writers, func(a, b oracle.Hold) int {
		return cmp.Or(cmp.Compare(a.Token, b.Token), cmp.Compare(a.Worker, b.Worker))
	})
	var n uint64
	var detail string
	for i := 1; i < len(writers); i++ {
		if a, b := writers[i-1], writers[i]; a.Token == b.Token {
			if n++; n == 1 {
				detail = fmt.Sprintf("workers %d and %d both got token %d", a.Worker, b.Worker, b.Token)
			}
		}
	}
	if n == 0 {
		return nil
	}
	return []harness.Violation{{Rule: oracle.Fencing, Detail: detail, Count: n}}
}

// unseen warns of overlaps that the clocks cannot show. Each end of an overlap may be wrong by
// the errors of both clocks, and an overlap counts only if it is longer than that.
func (g *group) unseen() {
	if blind := g.clocks.unknown(); len(blind) > 0 {
		var names []string
		for _, i := range blind[:min(len(blind), 4)] {
			names = append(names, place(i, g.ranks[i].Host))
		}
		if len(blind) > 4 {
			names = append(names, "…")
		}
		g.warn(measureCloser, "how the clock of %s differs from those of others is not known: no overlap of its holds with those of others could be seen", strings.Join(names, ", "))
	}
	if e := g.clocks.worst(); e > 0 {
		g.warn(measureCloser, "an overlap of holds of ranks with different clocks that is shorter than %v need not have been seen: by how much two of the clocks differ is known to ±%v", round3(2*e), round3(e))
	}
}
