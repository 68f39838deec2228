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
	hopLeast = 31                     // samples of a pair: fewer do not tell 5 %
	hopMost  = 2000                   // samples of a visit: more tell nothing
	hopWave  = 20 * time.Second       // in which all visits of a pair fall, about
	hopBoth  = 16                     // pairs measured by both algorithms
	hopPilot = 3                      // visits that only find out how long one takes
	hopFirst = 10 * time.Second       // for the first visit, so that one pair is measured on the busiest machine
	hopGrace = 250 * time.Millisecond // for a visit to catch up after something else had the CPU
)

// hopBudget is the time for so many pairs if the user names none: 4 s for the
// pair of two CPUs, 43 s for the 120 of 16 CPUs, 15 minutes for the 32,640 of
// 256 CPUs, and never more.
func hopBudget(pairs int) time.Duration {
	const (
		base   = 3700 * time.Millisecond
		few    = 120 // up to so many each gets all the time that is useful
		each   = 330 * time.Millisecond
		beyond = 26 * time.Millisecond
		most   = 15 * time.Minute
	)
	d := base + time.Duration(min(pairs, few))*each + time.Duration(max(0, pairs-few))*beyond
	return min(d, most)
}

// A hopPair is two CPUs and what was measured of them.
type hopPair struct {
	cpus     [2]int
	relation machine.Relation
	beside   bool // by both algorithms
	done     bool // all its visits were made
	hopVisit      // of all visits
}

// weight is how many times the work of a plain pair it takes.
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

// A hopPlan says how much of each pair is measured.
type hopPlan struct {
	visits  int // of each pair
	samples int // of each visit
	fit     int // of the weight, how much the time allows
}

func (p hopPlan) takes(weight int, sample time.Duration) time.Duration {
	return time.Duration(weight) * time.Duration(p.visits) * time.Duration(p.samples) * sample
}

// planHops plans for pairs of a total weight. If the time left does not suffice
// for so many visits, it first reduces the visits, then the samples of one
// visit, and last the pairs. sample is what a sample takes with all around it.
func planHops(weight, visits int, left, sample time.Duration) hopPlan {
	left = max(left, 0)
	each := left / time.Duration(max(weight, 1))
	least := hopLeast * sample
	p := hopPlan{visits: int(min(max(each/least, 1), time.Duration(visits)))}
	p.samples = int(min(max(each/(time.Duration(p.visits)*sample), hopLeast), hopMost))
	p.fit = min(weight, int(left/(time.Duration(p.visits*p.samples)*sample)))
	return p
}

// shuffledPairs returns every pair of cpus in an order that depends on the seed
// only: what drifts while they are measured must not be taken for distance.
func shuffledPairs(cpus []int, relation func(a, b int) machine.Relation, seed uint64) []*hopPair {
	var pairs []*hopPair
	for i, a := range cpus {
		for _, b := range cpus[i+1:] {
			pairs = append(pairs, &hopPair{cpus: [2]int{min(a, b), max(a, b)}, relation: relation(a, b)})
		}
	}
	// The order in which the CPUs are named must not matter either.
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

// firstOfEach returns n of pairs, and the others, both in their order: of every
// relation as many as of every other, or all where there are fewer. So what is
// rare, such as SMT siblings, is not left to chance.
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

// A hopSweep measures pairs within a time. It knows neither threads nor the
// clock of the machine, so it can be tested for machines that are not there.
type hopSweep struct {
	pairs   []*hopPair // in the order in which to measure
	visits  int        // wanted of each
	budget  time.Duration
	seed    uint64
	visit   func(ctx context.Context, cpus [2]int, o visitOptions) (hopVisit, error)
	now     func() time.Time
	advance func(done, total int) // may be nil
	keep    func(*hopPair) error  // may be nil; called once for a pair that is done

	begin   time.Time     // when the first wave began
	sample  time.Duration // what a sample takes with all around it
	spent   int           // samples taken, of any algorithm
	skipped int           // pairs for which there is no time, as it seems
}

// run measures all pairs that are not done, in waves: all visits of a pair fall
// into one, so that an interrupted sweep has finished most of what it began.
func (s *hopSweep) run(ctx context.Context) error {
	start := s.now()
	todo := slices.DeleteFunc(slices.Clone(s.pairs), func(p *hopPair) bool { return p.done })
	if len(todo) == 0 {
		return ctx.Err()
	}
	// A sweep that goes on with half of the pairs has half of the time.
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

// estimate visits a few pairs to find out how long a sample takes. The fastest
// counts: the first start threads.
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

// wave visits pairs, once all, then all again in another order. It returns how
// many it began; the others wait for a plan with a better estimate.
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
			// The estimate is better now.
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

// measure visits p once. What an interrupted visit gave counts.
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

// finish notes that all visits of p were made. One that is too busy to give
// enough samples was not measured.
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
