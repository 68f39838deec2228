package hardware

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"locklab/harness/result"
	"locklab/internal/machine"
)

var coreToCore = &Experiment{
	Name:     coreToCoreName,
	Question: "How long does a word take from one CPU to another?",
	Method: "Two bound threads hand a word to and fro by CAS-spin: each tries a compare-and-swap until it succeeds, without a load first. " +
		"The time of a round trip is halved. Every pair of CPUs is visited several times, in random order; " +
		"a sample is about 0.25 ms on a cache line that was not used before. " +
		"Some pairs are measured by load, then CAS as well, in adjacent blocks: there a thread tries only after it has seen that the word is its own.",
	Source:    "Viennot, core-to-core-latency, 2022",
	Available: needTwoCPUs,
	budget: func() time.Duration {
		cpus, _ := hopCPUs()
		return hopBudget(len(cpus) * (len(cpus) - 1) / 2)
	},
	run: runCoreToCore,
}

// runCoreToCore measures for about o.Budget, with up to o.Repeats visits to a pair. A finished
// pair is kept as samples of CAS-spin in ns, with a key such as "3-17", after "3-17 both" if
// measured by both algorithms: medians of neighbouring blocks in ns, CAS-spin and load in
// turn, then CAS.
func runCoreToCore(ctx context.Context, o Options) (*result.Finding, error) {
	cpus, relation := hopCPUs()
	pairs := shuffledPairs(cpus, relation, o.Seed)
	takeEarlier(pairs, o.Earlier)
	rig, err := newHopRig(cpus...)
	if err != nil {
		return nil, err
	}
	defer rig.close()
	sweep := &hopSweep{pairs: pairs, visits: o.Repeats, budget: o.Budget, seed: o.Seed,
		visit: rig.visit, now: time.Now, advance: o.Progress, keep: o.Keep}
	err = sweep.run(ctx)
	f := hopFinding(cpus, pairs)
	if f == nil && err == nil {
		err = fmt.Errorf("hardware: core-to-core: no pair of CPUs gave %d samples in %v: other programs preempt the threads; stop them or give a larger budget", hopLeast, o.Budget)
	}
	return f, err
}

// hopCPUs returns the processors, near ones together, and their relation. If threads cannot be
// bound, two negative numbers stand for threads on any CPU.
func hopCPUs() ([]int, func(a, b int) machine.Relation) {
	t := machine.ReadTopology()
	if allCPUs()[0] == unbound {
		return []int{-1, -2}, t.Relation
	}
	slices.SortStableFunc(t, func(a, b machine.Place) int {
		return cmp.Or(cmp.Compare(a.Package, b.Package), cmp.Compare(a.Node, b.Node), cmp.Compare(a.Cache, b.Cache),
			cmp.Compare(a.Core, b.Core), cmp.Compare(a.Thread, b.Thread))
	})
	return t.CPUs(), t.Relation
}

func cpuName(cpu int) string {
	if cpu < 0 {
		return fmt.Sprintf("thread %d", -cpu)
	}
	return fmt.Sprintf("CPU %d", cpu)
}

const bothSuffix = " both"

func (p *hopPair) key() string { return fmt.Sprintf("%d-%d", p.cpus[0], p.cpus[1]) }

func (p *hopPair) names() string { return cpuName(p.cpus[0]) + " and " + cpuName(p.cpus[1]) }

func keepPair(p *hopPair, keep func(result.Sample) error) error {
	if len(p.both) > 0 {
		if err := keep(result.Sample{Experiment: coreToCoreName, Key: p.key() + bothSuffix, Values: p.both}); err != nil {
			return err
		}
	}
	return keep(result.Sample{Experiment: coreToCoreName, Key: p.key(), Values: p.cas})
}

const coreToCoreName = "core-to-core"

// takeEarlier copies the valid results of an earlier run on allowed CPUs to pairs.
func takeEarlier(pairs []*hopPair, earlier []result.Sample) {
	byKey := make(map[string]*hopPair)
	for _, p := range pairs {
		byKey[p.key()] = p
	}
	for _, s := range earlier {
		key, both := strings.CutSuffix(s.Key, bothSuffix)
		p := byKey[key]
		if p == nil || s.Experiment != coreToCoreName || slices.ContainsFunc(s.Values, notATime) {
			continue
		}
		switch {
		case both && len(s.Values)%2 == 0:
			p.both = slices.Clone(s.Values)
		case !both && len(s.Values) >= hopLeast:
			p.cas = slices.Clone(s.Values)
		}
	}
	for _, p := range pairs {
		if !p.measured() {
			p.both = nil // from a pair that is measured again
		}
	}
}

func notATime(x float64) bool { return !(x > 0) || math.IsInf(x, 1) }

const (
	hopLeast = 31                     // samples of a pair: fewer cannot show a difference of 5 %
	hopMost  = 2000                   // samples of a visit: more are useless
	hopBoth  = 16                     // pairs measured by both algorithms
	hopFirst = 10 * time.Second       // for the first visit, which is short, so that one pair is measured even on a very busy machine
	hopGrace = 250 * time.Millisecond // for a visit to catch up after another program had the CPU
)

// hopBudget is the default time for that number of pairs: 4 s for the pair of two CPUs,
// 43 s for the 120 of 16 CPUs, 15 minutes for the 32,640 of 256 CPUs, and never more.
func hopBudget(pairs int) time.Duration {
	const (
		base   = 3700 * time.Millisecond
		few    = 120 // up to this number each pair gets all useful time
		each   = 330 * time.Millisecond
		beyond = 26 * time.Millisecond
		most   = 15 * time.Minute
	)
	d := base + time.Duration(min(pairs, few))*each + time.Duration(max(0, pairs-few))*beyond
	return min(d, most)
}

type hopPair struct {
	cpus     [2]int
	relation machine.Relation
	cas      []float64 // each sample of CAS-spin
	beside   bool      // measured by both algorithms
	both     []float64 // the medians of neighbouring blocks, CAS-spin and load, then CAS in turn
}

func (p *hopPair) measured() bool { return len(p.cas) >= hopLeast }

func (p *hopPair) weight() int {
	if p.beside {
		return 2
	}
	return 1
}

// shuffledPairs returns every pair of cpus in an order that depends only on the seed: a
// drift during the measurement must not look like distance.
func shuffledPairs(cpus []int, relation func(a, b int) machine.Relation, seed uint64) []*hopPair {
	var pairs []*hopPair
	for i, a := range cpus {
		for _, b := range cpus[i+1:] {
			pairs = append(pairs, &hopPair{cpus: [2]int{min(a, b), max(a, b)}, relation: relation(a, b)})
		}
	}
	// The order in which the CPUs are listed must not matter either.
	slices.SortFunc(pairs, func(p, q *hopPair) int { return slices.Compare(p.cpus[:], q.cpus[:]) })
	shuffle(pairs, seed)
	both, _ := firstOfEach(pairs, hopBoth)
	for _, p := range both {
		p.beside = true
	}
	return pairs
}

func shuffle(pairs []*hopPair, seed uint64) {
	rand.New(machine.NewRandom(seed)).Shuffle(len(pairs), func(i, j int) { pairs[i], pairs[j] = pairs[j], pairs[i] })
}

// firstOfEach returns n of pairs, equally many of every relation if there are, and the others,
// both in order: rare relations are not left to chance.
func firstOfEach(pairs []*hopPair, n int) (first, rest []*hopPair) {
	count := make(map[machine.Relation]int)
	for _, p := range pairs {
		count[p.relation]++
	}
	rare := slices.SortedFunc(maps.Keys(count), func(a, b machine.Relation) int {
		return cmp.Or(cmp.Compare(count[a], count[b]), cmp.Compare(a, b))
	})
	n = min(n, len(pairs))
	for i, r := range rare {
		count[r] = min(count[r], (n+len(rare)-i-1)/(len(rare)-i))
		n -= count[r]
	}
	for _, p := range pairs {
		if count[p.relation] > 0 {
			count[p.relation]--
			first = append(first, p)
		} else {
			rest = append(rest, p)
		}
	}
	return first, rest
}

// A hopSweep measures pairs within a time, without threads or the machine's clock, for tests.
type hopSweep struct {
	pairs   []*hopPair // in the order of measurement
	visits  int        // most of each pair
	budget  time.Duration
	seed    uint64
	visit   func(ctx context.Context, p *hopPair, samples int, within time.Duration) error
	now     func() time.Time
	advance func(done, total int)     // may be nil
	keep    func(result.Sample) error // may be nil; called for each measured pair

	skipped int // pairs for which there was no time
}

// run measures all pairs without enough samples.
func (s *hopSweep) run(ctx context.Context) error {
	todo := slices.DeleteFunc(slices.Clone(s.pairs), func(p *hopPair) bool { return p.measured() })
	if len(todo) == 0 {
		return ctx.Err()
	}
	// A resumed sweep of half of the pairs has half of the time.
	budget := time.Duration(float64(s.budget) * float64(len(todo)) / float64(len(s.pairs)))
	first, rest := firstOfEach(todo, int(budget*9/10/(hopLeast*hopSpan))) // a tenth is overhead
	todo = append(first, rest...)
	err := s.measureAll(ctx, todo, budget)
	for _, p := range todo {
		if p.measured() && s.keep != nil {
			if kerr := keepPair(p, s.keep); kerr != nil {
				return errors.Join(err, kerr)
			}
		}
	}
	if err == nil {
		s.report(len(measuredPairs(s.pairs)))
	}
	return err
}

// measureAll visits all pairs, then all again in another order. In too little time there are
// fewer passes, then fewer samples of a visit, and last fewer pairs.
func (s *hopSweep) measureAll(ctx context.Context, todo []*hopPair, budget time.Duration) error {
	begin, before, turn := s.now(), len(s.pairs)-len(todo), time.Duration(0)
	for _, p := range todo {
		turn += time.Duration(p.weight()) * hopSpan
	}
	passes := int(min(max(budget/(hopLeast*turn), 1), time.Duration(s.visits)))
	samples := int(min(max(budget*19/20/(time.Duration(passes)*turn), hopLeast), hopMost))
	for pass := range passes {
		if pass > 0 {
			shuffle(todo, s.seed*1_000_003+uint64(pass))
		}
		for i, p := range todo {
			left := budget - s.now().Sub(begin)
			n, within := samples, min(2*time.Duration(p.weight()*samples)*hopSpan, left)+hopGrace
			switch {
			case pass+i == 0: // one pair is measured whatever the budget
				n, within = hopLeast, hopFirst
			case left <= 0:
				if pass == 0 {
					s.skipped = len(todo) - i
				}
				return nil
			}
			if err := s.visit(ctx, p, n, within); err != nil {
				return err
			}
			s.report(before + (pass*len(todo)+i+1)/passes)
		}
	}
	return nil
}

func (s *hopSweep) report(done int) {
	if s.advance != nil {
		s.advance(done, len(s.pairs)-s.skipped)
	}
}
