package result

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"locklab/harness"
	"locklab/harness/oracle"
	"locklab/internal/numfmt"
)

type heldSpan struct {
	harness.Hold
	rank int
}

func (g *group) held(i int) []heldSpan {
	shift := g.ranks[i].Zero + g.clocks.shift[i]
	out := make([]heldSpan, len(g.parts[i].Holds))
	for n, h := range g.parts[i].Holds {
		h.Worker += g.ranks[i].First
		h.Requested, h.Acquired, h.Releasing = h.Requested+shift, h.Acquired+shift, h.Releasing+shift
		out[n] = heldSpan{h, i}
	}
	return out
}

// whole reports whether rank i kept all its holds. One hold per worker that began before
// the window and ended in it may be missing: it counts in Ops.
func (g *group) whole(i int) bool {
	p := g.parts[i]
	return p.HoldsLost == 0 && uint64(len(p.Holds)+2*len(p.Workers)) >= p.Ops
}

// holdOrder is the result of ordering the holds of all ranks; the zero value if the order is
// unknown.
type holdOrder struct {
	owners         []uint16
	handovers      uint64
	handover, wait Histogram
}

const mostOwners = 1 << 14

const measureCloser = "let the ranks meet at a server that is nearer to them, or run them on one host"

// order returns the holds of all ranks. It orders by time if all ranks read one clock, or
// if all consecutive holds are farther apart than the errors of the clocks. Otherwise it
// orders by fencing tokens, or the order is unknown.
func (g *group) order() holdOrder {
	first := g.parts[0]
	if first.Workload.Reads > 0 || first.Workload.Rate > 0 || first.Workload.Locks > 1 {
		return holdOrder{}
	}
	var all []heldSpan
	var lost uint64
	for i, p := range g.parts {
		if !g.whole(i) {
			lost += max(p.HoldsLost, p.Ops-min(p.Ops, uint64(len(p.Holds))))
		}
	}
	if lost > 0 {
		g.warn("measure shorter windows", "%d acquisitions were not kept one by one: the order of all is not known, so handovers are not judged", lost)
		return holdOrder{}
	}
	for i := range g.parts {
		all = append(all, g.held(i)...)
	}
	if len(all) == 0 {
		return holdOrder{}
	}
	slices.SortFunc(all, func(a, b heldSpan) int {
		return cmp.Or(cmp.Compare(a.Acquired, b.Acquired), cmp.Compare(a.Releasing, b.Releasing), cmp.Compare(a.rank, b.rank))
	})
	close := 0
	if g.clocks.known {
		close = g.tooClose(all)
	}
	switch {
	case close == 0 && g.clocks.known, byTokens(all, first.Lock.Traits):
		return g.follow(g.together(all))
	case g.clocks.known:
		g.warn(measureCloser, "%[2]d of %[1]d holds follow another by less than the error of their ranks' clocks: the order is not known, so handovers are not judged", len(all), close)
	default:
		g.warn(measureCloser, "clocks and tokens do not determine in which order ranks held the lock, so handovers are not judged")
	}
	return holdOrder{}
}

func (g *group) tooClose(all []heldSpan) (n int) {
	for i := 1; i < len(all); i++ {
		a, b := &all[i-1], &all[i]
		if g.clocks.name[a.rank] == g.clocks.name[b.rank] {
			continue
		}
		if ns, ok := g.clocks.between(a.rank, b.rank); !ok || b.Acquired-a.Acquired <= ns {
			n++
		}
	}
	return n
}

func byTokens(all []heldSpan, claims harness.Traits) bool {
	if !claims.Fenced || claims.Permits > 1 {
		return false
	}
	sorted := slices.Clone(all)
	slices.SortStableFunc(sorted, func(a, b heldSpan) int { return cmp.Compare(a.Token, b.Token) })
	for i, h := range sorted {
		if h.Token == 0 || i > 0 && h.Token == sorted[i-1].Token {
			return false
		}
	}
	copy(all, sorted)
	return true
}

// together returns the holds granted while all ranks measured: before, one may be unrecorded.
func (g *group) together(all []heldSpan) []heldSpan {
	if !g.clocks.known {
		return all
	}
	from, to := g.windows.both()
	begin := 0
	for i, h := range all {
		if h.Acquired < from {
			begin = i + 1
		}
	}
	all = all[begin:]
	if end := slices.IndexFunc(all, func(h heldSpan) bool { return h.Acquired >= to }); end >= 0 {
		all = all[:end]
	}
	return all
}

func (g *group) follow(all []heldSpan) (t holdOrder) {
	var handover, wait Recorder
	alone := g.parts[0].Lock.Traits.Permits <= 1
	apart, vague := 0, 0 // handovers between clocks, and those too short for the known offsets
	for i := range all {
		h := &all[i]
		if len(t.owners) < mostOwners {
			t.owners = append(t.owners, uint16(h.Worker))
		}
		if i == 0 || all[i-1].Worker == h.Worker {
			continue
		}
		t.handovers++
		if !alone {
			continue
		}
		wait.Record(h.Acquired - h.Requested)
		before := &all[i-1]
		took := h.Acquired - before.Releasing
		ns, ok := g.clocks.between(before.rank, h.rank)
		if g.clocks.name[before.rank] != g.clocks.name[h.rank] {
			apart++
			if !ok || ns >= (took+9)/10 {
				vague++
				continue
			}
		}
		handover.Record(took)
	}
	if vague > 0 {
		g.warn(measureCloser, "the times of %d of %d handovers between ranks with different clocks were left out, because the error of the clocks is a tenth of them or more: those left are the longer ones", vague, apart)
	}
	t.handover, t.wait = handover.Snapshot(), wait.Snapshot()
	return t
}

// judgeHolds adds the violations that the holds of all ranks show together.
//
// Holds of ranks with the same clock are judged by its times directly. Between clocks a
// hold is shortened at both ends by the error of its clock: two holds that still overlap
// certainly did. A token must be greater than the tokens of holds that began earlier by
// more than the errors, and no two writers ever have the same.
func (g *group) judgeHolds() {
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
				began = append(began, blurred(h.Hold, e, lock.Permits))
				h.Acquired, h.Releasing = h.Acquired+e, h.Releasing-e
				narrow = append(narrow, h.Hold)
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

func (g *group) found(how string, vs []oracle.Violation) {
	for _, v := range vs {
		v.Detail = "over all ranks, " + v.Detail + how
		g.violations = append(g.violations, v)
	}
}

func twice(all []oracle.Hold) []oracle.Violation {
	writers := slices.DeleteFunc(slices.Clone(all), func(h oracle.Hold) bool { return h.Shared || h.Token == 0 })
	slices.SortFunc(writers, func(a, b oracle.Hold) int {
		return cmp.Or(cmp.Compare(a.Token, b.Token), cmp.Compare(a.Worker, b.Worker))
	})
	v := oracle.Violation{Rule: oracle.Fencing}
	for i := 1; i < len(writers); i++ {
		if a, b := writers[i-1], writers[i]; a.Token == b.Token {
			v.Detail = cmp.Or(v.Detail, fmt.Sprintf("workers %d and %d both got token %d", a.Worker, b.Worker, b.Token))
			v.Count++
		}
	}
	if v.Count == 0 {
		return nil
	}
	return []oracle.Violation{v}
}

// unseen warns of overlaps that the clocks, which are several, cannot show. Each end of an overlap may be wrong by
// the errors of both clocks, and an overlap counts only if it is longer than that.
func (g *group) unseen() {
	var blind []string
	for i, e := range g.clocks.error {
		if e < 0 {
			blind = append(blind, place(i, g.ranks[i].Host))
		}
	}
	if len(blind) > 0 {
		g.warn(measureCloser, "the clock of %s differs from other clocks by an unknown time: no overlap of its holds with holds of other ranks could be found", numfmt.List(blind, 4))
	}
	if e := g.clocks.worst(); e > 0 {
		g.warn(measureCloser, "an overlap of holds of ranks with different clocks that is shorter than %v may be missed: the difference of two of the clocks is known only to ±%v", nanos(2*e), nanos(e))
	}
}
