package hardware

import (
	"cmp"
	"context"
	"fmt"
	"math"
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
		"The time of a round trip is halved. Every pair of CPUs is visited several times, in an order of chance; " +
		"a sample is about 0.25 ms on a cache line that was not used before. " +
		"Some pairs are measured by load, then CAS as well, block beside block: there a thread tries only when it has seen that the word is its own.",
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
		visit: rig.visit, now: time.Now, advance: o.Progress}
	if o.Keep != nil {
		sweep.keep = func(p *hopPair) error { return keepPair(p, o.Keep) }
	}
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
	places := make(map[int]machine.Place)
	for _, p := range t {
		places[p.CPU] = p
	}
	return t.CPUs(), func(a, b int) machine.Relation { return places[a].Relation(places[b]) }
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
			p.cas, p.done = slices.Clone(s.Values), true
		}
	}
	for _, p := range pairs {
		if !p.done {
			p.both = nil // from a pair that is measured again
		}
	}
}

func notATime(x float64) bool { return !(x > 0) || math.IsInf(x, 1) }
