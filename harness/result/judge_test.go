package result

import (
	"slices"
	"strings"
	"testing"

	"locklab/harness"
	"locklab/harness/oracle"
)

func hold(w int, at int64, token uint64) harness.Hold {
	return harness.Hold{Worker: w, Requested: at*1000 - 50_000, Acquired: at * 1000, Releasing: at*1000 + 100_000, Token: token}
}

// TestJudged checks violations that no single rank can see: two holders, and tokens that
// do not rise. Workers 0 and 1 are of rank 0, 2 and 3 of rank 1; b's clock is 7 s ahead.
func TestJudged(t *testing.T) {
	one := []seat{{"a", "k", 7e9, 0, -1}, {"b", "k", 7e9, 0, -1}}
	known := func(miss, error int64) []seat { return []seat{seatAt("a", 0, 0, 0), seatAt("b", 7e9, miss, error)} }
	blind := []seat{seatAt("a", 0, 0, 0), seatAt("b", 7e9, 0, -1)}
	good := []harness.Hold{hold(0, 1000, 10), hold(2, 2000, 11), hold(1, 3000, 12), hold(3, 4000, 13)}
	with := func(i int, h harness.Hold) []harness.Hold {
		out := slices.Clone(good)
		out[i] = h
		return out
	}
	both := with(1, hold(2, 1040, 11)) // for 60 µs
	shared := hold(2, 1040, 11)
	shared.Shared = true
	for _, c := range []struct {
		name   string
		seats  []seat
		traits harness.Traits
		holds  []harness.Hold
		want   []string // violations, by part of them
	}{
		{"good, one clock", one, servedLock.Traits, good, nil},
		{"good, two clocks", known(-9_000, 10_000), servedLock.Traits, good, nil},
		{"good, not known", blind, servedLock.Traits, good, nil},
		{"two holders, one clock", one, servedLock.Traits, both, []string{"exclusion: over all ranks, worker 2 was granted the lock 60µs before worker 0 began to release it"}},
		{"two holders, beyond the error", known(9_000, 10_000), servedLock.Traits, both, []string{"exclusion: over all ranks, worker 2 was granted the lock 41µs before worker 0 began to release it, beyond"}},
		{"two holders, within the error", known(0, 70_000), servedLock.Traits, both, nil},
		{"two holders, not known", blind, servedLock.Traits, both, nil},
		{"as many as there are permits", one, harness.Traits{Permits: 2}, both, nil},
		{"a reader beside a writer", one, harness.Traits{ReadWrite: true}, with(1, shared), []string{"exclusion: over all ranks, worker 2 was granted the lock for reading"}},
		{"a token twice, one clock", one, servedLock.Traits, with(2, hold(1, 3000, 11)), []string{"fencing: over all ranks, worker 1 got token 11 after worker 2 had 11", "workers 1 and 2 both got token 11"}},
		{"a token twice, not known", blind, servedLock.Traits, with(2, hold(1, 3000, 11)), []string{"fencing: over all ranks, workers 1 and 2 both got token 11"}},
		{"a token twice, within the error", known(0, 2_000_000), servedLock.Traits, with(2, hold(1, 3000, 11)), []string{"workers 1 and 2 both got token 11"}},
		{"a token falls, one clock", one, servedLock.Traits, with(2, hold(1, 3000, 1000)), []string{"fencing: over all ranks, worker 3 got token 13 after worker 1 had 1000"}},
		{"a token falls, beyond the error", known(0, 10_000), servedLock.Traits, with(2, hold(1, 3000, 1000)), []string{"fencing: over all ranks, worker 3 got token 13 after worker 1 had 1000"}},
		{"a token falls, within the error", known(0, 2_000_000), servedLock.Traits, with(2, hold(1, 3000, 1000)), nil},
		{"tokens, of a lock without", one, harness.Traits{}, with(2, hold(1, 3000, 11)), nil},
		{"two holders and a token that falls", one, servedLock.Traits, with(1, hold(2, 1040, 1)), []string{"exclusion: over all ranks", "fencing: over all ranks, worker 2 got token 1 after worker 0 had 10"}},
	} {
		parts := splitHolds(workload(4, 2), c.holds, c.seats)
		for _, p := range parts {
			p.Lock.Traits = c.traits
		}
		merged := mergeOne(t, c.name, runs(c.seats, parts))
		got := Each(merged.Violations, func(v oracle.Violation) string { return v.Rule + ": " + v.Detail })
		if !slices.EqualFunc(got, c.want, strings.Contains) {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}

func TestSaid(t *testing.T) {
	w := workload(8, 4)
	holds := drawHolds(3, 8)
	whole := measureHolds(w, holds, 0, 8)
	clocks := func(error int64) []seat {
		return []seat{seatAt("a", 0, 0, error), seatAt("b", 5e12, 0, error), seatAt("c", -9e11, 0, error), seatAt("d", 1e18, 0, error)}
	}
	plain := harness.Traits{Needs: "redis"}
	for _, c := range []struct {
		name    string
		seats   []seat
		traits  harness.Traits
		edit    func(parts []*Result)
		ordered bool
		left    bool // handover times are left out
		buckets bool
		want    []string // warnings, by part of them
	}{
		{"one clock", oneClock(), plain, nil, true, false, true, nil},
		{"errors below a tenth of all", clocks(900), plain, nil, true, false, true, []string{"shorter than 3.6 µs may"}},
		{"small errors", clocks(2_500), plain, nil, true, true, true, []string{"handovers between ranks with different clocks were left out", "shorter than 10 µs may be missed: the difference of two of the clocks is known only to ±5 µs"}},
		{"great errors, tokens", clocks(40_000), servedLock.Traits, nil, true, true, true, []string{"left out", "shorter than 160 µs"}},
		{"great errors, no tokens", clocks(400_000), plain, nil, false, false, true, []string{"follow another by less than the error of their ranks' clocks: the order is not known", "shorter than 1.6 ms"}},
		{"errors of a bucket", clocks(4e6), plain, nil, false, false, false, []string{"the order is not known", "shorter than 16 ms", "shares within buckets"}},
		{"not known, tokens", clocks(-1), servedLock.Traits, nil, true, true, false, []string{"clock of rank 0 on a, rank 1 on b, rank 2 on c and rank 3 on d differs", "left out", "shares within buckets"}},
		{"not known, no tokens", clocks(-1), plain, nil, false, false, false, []string{"clock of rank 0", "do not determine in which order", "shares within buckets"}},
		{"holds lost", oneClock(), plain, func(ps []*Result) { ps[1].HoldsLost, ps[1].Holds = 5, ps[1].Holds[5:] }, false, false, true, []string{"5 acquisitions were not kept"}},
		{"no holds", oneClock(), plain, func(ps []*Result) { ps[1].Holds = nil }, false, false, true, []string{"acquisitions were not kept"}},
		{"readers", oneClock(), plain, func(ps []*Result) {
			for _, p := range ps {
				p.Workload.Reads = 50
			}
		}, false, false, true, nil},
	} {
		parts := splitHolds(w, holds, c.seats)
		for _, p := range parts {
			p.Lock.Traits = c.traits
		}
		if c.edit != nil {
			c.edit(parts)
		}
		r := mergeOne(t, c.name, runs(c.seats, parts))
		if r.Ordered() != c.ordered || (r.Handovers > 0) != c.ordered || (len(r.Handover) > 0 || len(r.HandoverWait) > 0) && !c.ordered {
			t.Errorf("%s: %d owners, %d handovers, %d timed: want order %v", c.name, len(r.Owners), r.Handovers, r.Handover.Count(), c.ordered)
		}
		if c.ordered && (!slices.Equal(r.Owners, whole.Owners) || r.Handovers != whole.Handovers || !slices.Equal(r.HandoverWait, whole.HandoverWait)) {
			t.Errorf("%s: the order is not that of one process", c.name)
		}
		if n := r.Handover.Count(); c.ordered && (n < whole.Handover.Count()) != c.left || n > whole.Handover.Count() {
			t.Errorf("%s: %d handovers are timed, of %d", c.name, n, whole.Handover.Count())
		}
		if (len(r.BucketCounts) > 0) != c.buckets {
			t.Errorf("%s: %d buckets", c.name, len(r.BucketCounts))
		}
		var got []string
		for _, x := range r.Warnings {
			got = append(got, x.Text)
			if x.Kind != KindRanks || x.Remedy == "" {
				t.Errorf("%s: %+v has not the kind %q, or no remedy", c.name, x, KindRanks)
			}
		}
		slices.Sort(got)
		want := slices.Clone(c.want)
		slices.SortFunc(want, func(a, b string) int { return indexOf(got, a) - indexOf(got, b) })
		if !slices.EqualFunc(got, want, strings.Contains) {
			t.Errorf("%s: got the warnings %q, want %q", c.name, got, want)
		}
		if len(r.Violations) > 0 {
			t.Errorf("%s: %v", c.name, r.Violations)
		}
	}
}

func indexOf(texts []string, part string) int {
	return slices.IndexFunc(texts, func(t string) bool { return strings.Contains(t, part) })
}

// TestOnlyTogether: handovers count only after all ranks had begun.
func TestOnlyTogether(t *testing.T) {
	holds := []harness.Hold{hold(0, 1000, 1), hold(1, 2000, 2), hold(0, 30_000, 3), hold(2, 31_000, 4), hold(0, 32_000, 5), hold(1, 399_000, 6), hold(0, 399_500, 7)}
	seats := oneClock()[1:3]
	parts := splitHolds(workload(4, 2), holds, seats)
	parts[1].Ranks[0].Opened += 15_000_000 // of 400 ms
	parts[1].Ranks[0].Closed -= 10_000_000
	parts[1].Elapsed = window - 25_000_000
	r := mergeOne(t, "handovers in the windows of both", runs(seats, parts))
	if r.Handovers != 2 || !slices.Equal(r.Owners, []uint16{0, 2, 0}) || r.Elapsed != window || r.Ops != 7 || r.Overlap != 375./400 {
		t.Errorf("handovers %d, owners %v, elapsed %v, ops %d, overlap %v", r.Handovers, r.Owners, r.Elapsed, r.Ops, r.Overlap)
	}
}
