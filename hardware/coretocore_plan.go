package hardware

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"locklab/internal/machine"
)

const (
	hopLeast = 31                     // samples of a pair: fewer cannot show a difference of 5 %
	hopMost  = 2000                   // samples of a visit: more are useless
	hopBoth  = 16                     // pairs measured by both algorithms
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

	spent   int // samples taken, by either algorithm
	skipped int // pairs for which there was no time
}

// run measures all unfinished pairs. A pair with enough samples at the end, also an early
// one, is finished.
func (s *hopSweep) run(ctx context.Context) error {
	todo := slices.DeleteFunc(slices.Clone(s.pairs), func(p *hopPair) bool { return p.done })
	if len(todo) == 0 {
		return ctx.Err()
	}
	// A resumed sweep of half of the pairs has half of the time.
	budget := time.Duration(float64(s.budget) * float64(len(todo)) / float64(len(s.pairs)))
	first, rest := firstOfEach(todo, int(budget*9/10/(hopLeast*hopSpan))) // a tenth is overhead
	todo = append(first, rest...)
	err := s.measureAll(ctx, todo, budget)
	for _, p := range todo {
		if p.done = len(p.cas) >= hopLeast; p.done && s.keep != nil {
			if kerr := s.keep(p); kerr != nil {
				return errors.Join(err, kerr)
			}
		}
	}
	if err == nil {
		s.report(s.finished())
	}
	return err
}

// measureAll visits all pairs, then all again in another order. A visit gets its share of the
// remaining time. In too little time there are fewer passes, then fewer samples of a visit,
// and last fewer pairs.
func (s *hopSweep) measureAll(ctx context.Context, todo []*hopPair, budget time.Duration) error {
	begin, finished, weight := s.now(), s.finished(), weightOf(todo)
	passes := int(min(max(budget/(time.Duration(weight)*hopLeast*hopSpan), 1), time.Duration(s.visits)))
	remaining := passes * weight
	for pass := range passes {
		if pass > 0 {
			shuffle(todo, s.seed*1_000_003+uint64(pass))
		}
		for i, p := range todo {
			took := s.now().Sub(begin)
			if took >= budget && pass+i > 0 { // one pair is measured whatever the budget
				if pass == 0 {
					s.skipped = len(todo) - i
				}
				return nil
			}
			sample, samples := hopSpan, hopLeast // until one is measured
			if s.spent > 0 {
				sample = max(took/time.Duration(s.spent), 1) // with all overhead
				samples = min(max(int((budget-took)/(time.Duration(remaining)*sample)), hopLeast), hopMost)
			}
			if err := s.measure(ctx, p, samples, sample); err != nil {
				return err
			}
			remaining -= p.weight()
			s.report(finished + (pass*len(todo)+i+1)/passes)
		}
	}
	return nil
}

func (s *hopSweep) measure(ctx context.Context, p *hopPair, samples int, sample time.Duration) error {
	within := 2*time.Duration(p.weight()*samples)*sample + hopGrace
	if s.spent < hopLeast {
		within = max(within, hopFirst)
	}
	got, err := s.visit(ctx, p.cpus, visitOptions{samples: samples, both: p.beside, within: within})
	p.cas, p.both = append(p.cas, got.cas...), append(p.both, got.both...)
	s.spent += p.weight() * len(got.cas)
	return err
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
