package hardware

import (
	"context"
	"slices"
	"testing"
	"time"

	"locklab/harness/result"
	"locklab/internal/machine"
)

// aMachine is a simulated machine: CPUs in cores of two threads, caches of 8 and packages
// of 64 CPUs. Its clock advances when it measures.
type aMachine struct {
	clock    time.Time
	perVisit time.Duration
	slow     func(visit int) float64 // factor on the time of the samples; nil is 1
	lose     bool                    // drop every sample
	stop     func(visit int) error
	log      [][2]int // of the visits
}

func (m *aMachine) cpus(n int) []int {
	cpus := make([]int, n)
	for i := range cpus {
		cpus[i] = i
	}
	return cpus
}

func (m *aMachine) relation(a, b int) machine.Relation {
	place := func(cpu int) machine.Place {
		return machine.Place{CPU: cpu, Core: cpu / 2, Cache: cpu / 8, Node: cpu / 64, Package: cpu / 64}
	}
	return place(a).Relation(place(b))
}

func (m *aMachine) now() time.Time { return m.clock }

func (m *aMachine) visit(ctx context.Context, p *hopPair, samples int, within time.Duration) error {
	if m.stop != nil {
		if err := m.stop(len(m.log)); err != nil {
			return err
		}
	}
	slow := 1.0
	if m.slow != nil {
		slow = m.slow(len(m.log))
	}
	m.log = append(m.log, p.cpus)
	sample := time.Duration(slow*float64(hopSpan)) * time.Duration(p.weight())
	taken := min(samples, max(1, int(within/sample))) // a late visit ends early
	m.clock = m.clock.Add(time.Duration(p.weight())*m.perVisit + time.Duration(taken)*sample)
	if !m.lose {
		p.cas = append(p.cas, slices.Repeat([]float64{10 * float64(1+p.relation)}, taken)...)
	}
	if p.beside {
		p.both = append(p.both, 20, 30)
	}
	return ctx.Err()
}

func countFinished(s *hopSweep) int { return len(measuredPairs(s.pairs)) }

func (m *aMachine) sweep(n int, seed uint64) *hopSweep {
	pairs := shuffledPairs(m.cpus(n), m.relation, seed)
	return &hopSweep{pairs: pairs, visits: defaultRepeats, budget: hopBudget(len(pairs)), seed: seed, visit: m.visit, now: m.now}
}

func runSweep(t *testing.T, s *hopSweep) {
	t.Helper()
	requireNoError(t, s.run(t.Context()))
}

func TestSweepKeepsItsTime(t *testing.T) {
	for _, test := range []struct {
		cpus    int
		within  time.Duration
		least   time.Duration // less would waste time
		visits  int           // of every pair at least, on a normal machine
		samples int
	}{
		{2, 5 * time.Second, 3 * time.Second, 5, 5 * 1000},
		{3, 6 * time.Second, 3 * time.Second, 5, 5 * 300},
		{16, time.Minute, 30 * time.Second, 5, 5 * 150},
		{64, 3 * time.Minute, time.Minute, 4, 5 * hopLeast},
		{256, 20 * time.Minute, 10 * time.Minute, 2, 2 * hopLeast},
	} {
		for name, m := range map[string]*aMachine{
			"as it should be": {perVisit: 200 * time.Microsecond},
			"slow to start":   {perVisit: 3 * time.Millisecond},
			"twice as slow":   {perVisit: 300 * time.Microsecond, slow: func(v int) float64 { return 2 }},
			"slow at first":   {perVisit: 200 * time.Microsecond, slow: func(v int) float64 { return max(1, float64(20-v)/2) }},
			"slow later":      {perVisit: 200 * time.Microsecond, slow: func(v int) float64 { return 1 + 2*float64(min(v/200, 1)) }},
		} {
			s := m.sweep(test.cpus, 1)
			advanced, all := 0, len(s.pairs)
			s.advance = func(done, total int) {
				if done < advanced || done > total || total != all {
					t.Fatalf("%d CPUs, %s: %d of %d after %d", test.cpus, name, done, total, advanced)
				}
				advanced = done
			}
			runSweep(t, s)
			if advanced != all {
				t.Errorf("%d CPUs, %s: %d of %d pairs at the end", test.cpus, name, advanced, all)
			}
			if took := m.clock.Sub(time.Time{}); took > test.within || took < test.least && slices.Contains([]string{"as it should be", "slow at first"}, name) {
				t.Errorf("%d CPUs, %s: took %v, want %v to %v", test.cpus, name, took, test.least, test.within)
			}
			if s.skipped > 0 || countFinished(s) != len(s.pairs) {
				t.Errorf("%d CPUs, %s: %d of %d pairs finished, %d skipped", test.cpus, name, countFinished(s), len(s.pairs), s.skipped)
			}
			count := make(map[[2]int]int)
			for _, cpus := range m.log {
				count[cpus]++
			}
			for _, p := range s.pairs {
				if name == "as it should be" && (count[p.cpus] < test.visits || len(p.cas) < test.samples) || len(p.cas) < hopLeast {
					t.Fatalf("%d CPUs, %s: pair %s has %d visits and %d samples", test.cpus, name, p.key(), count[p.cpus], len(p.cas))
				}
			}
		}
	}
}

func TestEveryPairOncePerPass(t *testing.T) {
	for _, n := range []int{2, 3, 16, 256} {
		m := &aMachine{lose: true}
		s := m.sweep(n, 3)
		s.visits, s.budget = 3, 100*time.Hour
		runSweep(t, s)
		all := len(s.pairs)
		if len(m.log) != 3*all {
			t.Fatalf("%d CPUs: %d visits of %d pairs", n, len(m.log), all)
		}
		for pass := range 3 {
			seen := make(map[[2]int]bool)
			for _, cpus := range m.log[pass*all:][:all] {
				seen[cpus] = true
			}
			if len(seen) != all {
				t.Errorf("%d CPUs: pass %d visits %d of %d pairs", n, pass, len(seen), all)
			}
		}
		if n >= 16 && slices.Equal(m.log[:all], m.log[all:][:all]) {
			t.Errorf("%d CPUs: two passes in one order", n)
		}
	}
}

// TestSweepEndsOnABusyMachine: a far too long visit is cut off; a pair without samples is not
// measured.
func TestSweepEndsOnABusyMachine(t *testing.T) {
	m := &aMachine{slow: func(v int) float64 {
		if v < 40 {
			return 1
		}
		return 100
	}}
	s := m.sweep(256, 1)
	runSweep(t, s)
	if took := m.clock.Sub(time.Time{}); took > 20*time.Minute || s.skipped == 0 || countFinished(s) < 40 || countFinished(s)+s.skipped > len(s.pairs) {
		t.Errorf("took %v, %d finished, %d skipped of %d", took, countFinished(s), s.skipped, len(s.pairs))
	}
	m = &aMachine{lose: true}
	s = m.sweep(16, 1)
	if err := s.run(t.Context()); err != nil || countFinished(s) > 0 {
		t.Errorf("without samples %d pairs are finished, error %v", countFinished(s), err)
	}
	if took := m.clock.Sub(time.Time{}); took > time.Minute {
		t.Errorf("without samples it took %v", took)
	}
}

func keysOf(pairs []*hopPair) []string { return result.Each(pairs, (*hopPair).key) }

func TestShuffleDependsOnTheSeedOnly(t *testing.T) {
	m := &aMachine{}
	cpus := m.cpus(16)
	backwards := slices.Clone(cpus)
	slices.Reverse(backwards)
	a, b, c := shuffledPairs(cpus, m.relation, 1), shuffledPairs(backwards, m.relation, 1), shuffledPairs(cpus, m.relation, 2)
	if !slices.Equal(keysOf(a), keysOf(b)) {
		t.Error("one seed gives two orders")
	}
	if slices.Equal(keysOf(a), keysOf(c)) || slices.IsSorted(keysOf(a)) {
		t.Error("the order does not depend on the seed")
	}
	if slices.Sort(keysOf(c)); len(a) != 120 || len(slices.Compact(slices.Sorted(slices.Values(keysOf(a))))) != 120 {
		t.Errorf("%d pairs of 16 CPUs", len(a))
	}
	logs := make([][][2]int, 3)
	for i, seed := range []uint64{1, 1, 2} {
		m := &aMachine{}
		runSweep(t, m.sweep(16, seed))
		logs[i] = m.log
	}
	if !slices.Equal(logs[0], logs[1]) || slices.Equal(logs[0], logs[2]) {
		t.Error("what is visited does not depend on the seed, or on more")
	}
}

func TestFirstOfEach(t *testing.T) {
	m := &aMachine{}
	pairs := shuffledPairs(m.cpus(128), m.relation, 1) // 64 siblings, 384 in a cache, 3584 in a package, 4096 between two packages
	for n, want := range map[int][4]int{
		0: {}, 1: {1, 0, 0, 0}, 8: {2, 2, 2, 2}, 16: {4, 4, 4, 4}, 1000: {64, 312, 312, 312}, 1 << 20: {64, 384, 3584, 4096},
	} {
		got, rest := firstOfEach(pairs, n)
		var count [machine.Unknown + 1]int
		for _, p := range got {
			count[p.relation]++
		}
		if have := [4]int{count[machine.SMTSiblings], count[machine.SameCache], count[machine.SameNode], count[machine.OtherPackage]}; have != want || len(got) != min(n, len(pairs)) || len(got)+len(rest) != len(pairs) {
			t.Errorf("%d: %v of each relation, want %v", n, have, want)
		}
	}
	both := 0
	for _, p := range pairs {
		if p.beside {
			both++
		}
	}
	if both != hopBoth {
		t.Errorf("%d pairs by both algorithms", both)
	}
}

func TestTightBudgetSamplesThePairs(t *testing.T) {
	m := &aMachine{}
	s := m.sweep(128, 1)
	s.budget = 10 * time.Second
	runSweep(t, s)
	if took := m.clock.Sub(time.Time{}); took > 11*time.Second || countFinished(s) < 1000 || countFinished(s)+s.skipped != len(s.pairs) {
		t.Errorf("took %v, %d finished, %d skipped", took, countFinished(s), s.skipped)
	}
	seen := make(map[machine.Relation]int)
	for _, p := range s.pairs {
		if p.measured() {
			seen[p.relation]++
		}
	}
	if len(seen) != 4 || seen[machine.SMTSiblings] != 64 {
		t.Errorf("pairs of each relation: %v", seen)
	}
	m = &aMachine{}
	s = m.sweep(16, 1)
	if s.budget = 1; s.run(t.Context()) != nil || countFinished(s) != 1 {
		t.Errorf("in 1 ns %d pairs are measured", countFinished(s))
	}
}
