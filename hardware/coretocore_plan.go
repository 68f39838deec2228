package hardware

import (
	"cmp"
	"context"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"locklab/internal/machine"
)

const (
	hopLeast = 31                     // samples of a pair: fewer cannot show a difference of 5 %
	hopMost  = 2000                   // samples of a visit: more are useless
	hopWave  = 20 * time.Second       // about the time that contains all visits to a pair
	hopBoth  = 16                     // pairs measured by both algorithms
	hopPilot = 3                      // visits that only estimate the time of a visit
	hopFirst = 10 * time.Second       // for the first visit, so that one pair is measured even on a very busy machine
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
	beside   bool // measured by both algorithms
	done     bool
	hopVisit
}

func (p *hopPair) weight() int {
	if p.beside {
		return 2
	}
	return 1
}

func weightOf(pairs []*hopPair) (w int) {
	for _, p := range pairs {
		w += p.weight()
	}
	return w
}

type hopPlan struct {
	visits  int
	samples int
	fit     int // weight of the pairs that fit into the time
}

func (p hopPlan) takes(weight int, sample time.Duration) time.Duration {
	return time.Duration(weight) * time.Duration(p.visits) * time.Duration(p.samples) * sample
}

// planHops plans for a total weight of pairs. In too little time it reduces the visits, then
// the samples of a visit, and last the pairs. sample is the time of one with overhead.
func planHops(weight, visits int, left, sample time.Duration) hopPlan {
	left = max(left, 0)
	each := left / time.Duration(max(weight, 1))
	least := hopLeast * sample
	p := hopPlan{visits: int(min(max(each/least, 1), time.Duration(visits)))}
	p.samples = int(min(max(each/(time.Duration(p.visits)*sample), hopLeast), hopMost))
	p.fit = min(weight, int(left/(time.Duration(p.visits*p.samples)*sample)))
	return p
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
	visits  int        // wanted for each pair
	budget  time.Duration
	seed    uint64
	visit   func(ctx context.Context, cpus [2]int, o visitOptions) (hopVisit, error)
	now     func() time.Time
	advance func(done, total int) // may be nil
	keep    func(*hopPair) error  // may be nil; called once for each finished pair

	begin   time.Time     // start of the first wave
	sample  time.Duration // time of a sample with all overhead
	spent   int           // samples taken, by either algorithm
	skipped int           // pairs that seem not to fit into the time
}

// run measures all unfinished pairs in waves. A wave contains all visits to its pairs, so
// that an interrupted sweep has finished most of the pairs that it began.
func (s *hopSweep) run(ctx context.Context) error {
	start := s.now()
	todo := slices.DeleteFunc(slices.Clone(s.pairs), func(p *hopPair) bool { return p.done })
	if len(todo) == 0 {
		return ctx.Err()
	}
	// A resumed sweep of half of the pairs has half of the time.
	budget := time.Duration(float64(s.budget) * float64(len(todo)) / float64(len(s.pairs)))
	if err := s.estimate(ctx, todo, budget); err != nil {
		return err
	}
	s.begin = s.now()
	for wave := uint64(0); len(todo) > 0; wave++ {
		weight := weightOf(todo)
		plan := planHops(weight, s.visits, budget-s.now().Sub(start), s.sample)
		n := len(todo)
		if plan.fit < weight {
			n = int(int64(n) * int64(plan.fit) / int64(weight))
			if wave == 0 {
				n = max(n, 1) // whatever the budget
			}
			// The others wait: there may be time after all.
			first, rest := firstOfEach(todo, n)
			todo = append(first, rest...)
		}
		s.skipped = len(todo) - n
		if n == 0 {
			break
		}
		waves := math.Ceil(float64(plan.takes(weightOf(todo[:n]), s.sample)) / float64(hopWave))
		n = int(math.Ceil(float64(n) / max(waves, 1)))
		begun, err := s.wave(ctx, slices.Clone(todo[:n]), plan, s.seed+wave+1)
		todo = todo[begun:]
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *hopSweep) estimate(ctx context.Context, todo []*hopPair, budget time.Duration) error {
	s.sample = hopSpan
	for i, start := 0, s.now(); i < hopPilot && s.now().Sub(start) <= budget/8; i++ {
		begin := s.now()
		v, err := s.visit(ctx, todo[i%len(todo)].cpus, visitOptions{samples: hopLeast, within: max(budget/8, hopGrace)})
		if err != nil {
			return err
		}
		took := s.now().Sub(begin) / time.Duration(max(len(v.cas), 1))
		if i == 0 || took < s.sample {
			s.sample = max(took, 1)
		}
	}
	return nil
}

// wave visits pairs, once all, then all again in another order. It returns the number of
// pairs that it began; the others wait for a plan with a better estimate.
func (s *hopSweep) wave(ctx context.Context, pairs []*hopPair, plan hopPlan, seed uint64) (begun int, err error) {
	begin, limit := s.now(), plan.takes(weightOf(pairs), s.sample)
	left := func() time.Duration { return limit - s.now().Sub(begin) }
	late := func() bool { return left() < -limit/8 }
	finished, samples := s.finished(), plan.samples
	for v := range plan.visits {
		if v > 0 {
			if late() {
				break
			}
			shuffle(pairs, seed*1_000_003+uint64(v))
			samples = planHops(weightOf(pairs)*(plan.visits-v), 1, left(), s.sample).samples
		}
		for i, p := range pairs {
			if v == 0 && i > 0 && late() {
				pairs = pairs[:i]
				break
			}
			if err := s.measure(ctx, p, samples); err != nil {
				return len(pairs), err
			}
			if v == plan.visits-1 {
				if err := s.finish(p); err != nil {
					return len(pairs), err
				}
			}
			s.report(finished + (v*len(pairs)+i+1)/plan.visits)
		}
		s.sample = max(s.now().Sub(s.begin)/time.Duration(max(s.spent, 1)), 1)
	}
	for _, p := range pairs {
		if err := s.finish(p); err != nil {
			return len(pairs), err
		}
	}
	s.report(s.finished())
	return len(pairs), nil
}

func (s *hopSweep) measure(ctx context.Context, p *hopPair, samples int) error {
	within := 2*time.Duration(p.weight()*samples)*s.sample + hopGrace
	if s.spent < hopLeast {
		within = max(within, hopFirst)
	}
	got, err := s.visit(ctx, p.cpus, visitOptions{samples: samples, both: p.beside, within: within})
	p.cas, p.both = append(p.cas, got.cas...), append(p.both, got.both...)
	s.spent += p.weight() * len(got.cas)
	return err
}

func (s *hopSweep) finish(p *hopPair) error {
	if p.done || len(p.cas) < hopLeast {
		return nil
	}
	p.done = true
	if s.keep == nil {
		return nil
	}
	return s.keep(p)
}

func (s *hopSweep) finished() (n int) {
	for _, p := range s.pairs {
		if p.done {
			n++
		}
	}
	return n
}

func (s *hopSweep) report(done int) {
	if s.advance != nil {
		s.advance(done, len(s.pairs)-s.skipped)
	}
}
