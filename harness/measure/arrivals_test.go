package measure

import (
	"cmp"
	"math"
	"slices"
	"testing"

	"locklab/harness"
	"locklab/harness/locktest"
	"locklab/harness/result"
	"locklab/internal/machine"
)

func TestSchedule(t *testing.T) {
	const n, rate = 200_000, 50_000 // gaps of 20 µs
	for _, c := range []struct {
		spacing   harness.Arrival
		deviation float64 // of a gap over its mean
	}{{harness.Poisson, 1}, {harness.Even, 0}} {
		a := newArrivals(rate, c.spacing, math.MaxInt64, n, 7)
		if b := newArrivals(rate, c.spacing, math.MaxInt64, n, 7); !slices.Equal(a.times, b.times) {
			t.Errorf("%v: two schedules of one seed differ", c.spacing)
		}
		if b := newArrivals(rate, c.spacing, math.MaxInt64, n, 8); slices.Equal(a.times, b.times) {
			t.Errorf("%v: the schedules of two seeds are the same", c.spacing)
		}
		var sum, squares float64
		for i := int64(1); i < n; i++ {
			gap := float64(a.at(i) - a.at(i-1))
			sum, squares = sum+gap, squares+gap*gap
		}
		mean := sum / (n - 1)
		deviation := math.Sqrt(max(0, squares/(n-1)-mean*mean)) / mean
		if math.Abs(mean/20_000-1) > 0.01 || math.Abs(deviation-c.deviation) > 0.01 {
			t.Errorf("%v: a gap is %.0f ns on average and deviates by %.3f of that, want 20000 and %v", c.spacing, mean, deviation, c.deviation)
		}
		if _, ok := a.take(); !ok || a.taken() != 1 {
			t.Errorf("%v: %d arrivals are taken after the first", c.spacing, a.taken())
		}
		a.next.Store(n)
		if _, ok := a.take(); ok || a.taken() != n {
			t.Errorf("%v: there is an arrival after the last, %d are taken", c.spacing, a.taken())
		}
	}
}

func TestScheduleRepeats(t *testing.T) {
	for _, spacing := range harness.Arrivals {
		a := newArrivals(harness.MaxRate, spacing, math.MaxInt64, math.MaxInt64, 3)
		if len(a.times) != mostTimes {
			t.Fatalf("%v: %d entries", spacing, len(a.times))
		}
		for _, i := range []int64{1, mostTimes - 1, mostTimes, mostTimes + 1, 5*mostTimes - 1, 5 * mostTimes, 1e9} {
			if gap := a.at(i) - a.at(i-1); gap < 0 || gap > 500 {
				t.Errorf("%v: arrival %d comes %d ns after the one before it, 10 are the mean", spacing, i, gap)
			}
			if at := float64(a.at(i)) / (10 * float64(i)); i > 1000 && math.Abs(at-1) > 0.01 {
				t.Errorf("%v: arrival %d comes at %.3f of its time", spacing, i, at)
			}
			at := a.at(i)
			if n := a.before(at); n > i || n < i-50 || a.at(n) != at {
				t.Errorf("%v: %d arrivals come before that of number %d", spacing, n, i)
			}
			if n := a.before(at + 1); n <= i || a.at(n) <= at {
				t.Errorf("%v: %d arrivals come until that of number %d", spacing, n, i)
			}
		}
		if n := a.before(0); n != 0 {
			t.Errorf("%v: %d arrivals come before the beginning", spacing, n)
		}
	}
}

// lindley records the waits of n arrivals at one server in order, without the first, by the
// recursion of D. Lindley, "The Theory of Queues with a Single Server", 1952.
func lindley(a *arrivals, n int64, service func() int64, wait *result.Recorder) {
	const forming = 20_000
	free := int64(0)
	for i := range n {
		at := a.at(i)
		start := max(at, free)
		if i >= forming {
			wait.Record(start - at)
		}
		free = start + service()
	}
}

// A queue is a server and its theory: the share of arrivals that wait at most t service times.
type queue struct {
	name    string
	service func(rng *machine.Random) int64
	within  func(rho, t float64) float64
}

const serviceTime = 1e6 // ns

// queues are those with a Poisson process of arrivals and one server. M/M/1: L. Kleinrock,
// "Queueing Systems" 1, 1975, §5.12. M/D/1: A. Erlang, "The Theory of Probabilities and
// Telephone Conversations", 1909.
var queues = []queue{
	{"M/M/1", func(rng *machine.Random) int64 { return int64(rng.Exp(serviceTime)) },
		func(rho, t float64) float64 { return 1 - rho*math.Exp(-(1-rho)*t) }},
	{"M/D/1", func(*machine.Random) int64 { return serviceTime },
		func(rho, t float64) float64 {
			sum := 0.0
			for k := 0.0; k <= t; k++ {
				x := rho * (k - t) // at most 0
				term := math.Exp(-x)
				for j := 1.0; j <= k; j++ {
					term *= x / j
				}
				sum += term
			}
			return (1 - rho) * sum
		}},
}

func (s queue) quantile(rho, q float64) float64 {
	if s.within(rho, 0) >= q {
		return 0
	}
	lo, hi := 0.0, 1.0
	for s.within(rho, hi) < q { // far beyond, the series of M/D/1 loses precision
		lo, hi = hi, 1.2*hi
	}
	for range 50 {
		if mid := (lo + hi) / 2; s.within(rho, mid) < q {
			lo = mid
		} else {
			hi = mid
		}
	}
	return hi
}

// TestQueueingTheory compares recorded waits with theory, in simulated time.
func TestQueueingTheory(t *testing.T) {
	schedules := map[float64]int{0.5: 3, 0.8: 8, 0.9: 24}
	for _, s := range queues {
		for _, rho := range []float64{0.5, 0.8, 0.9} {
			if locktest.RaceDetector && rho > 0.5 {
				continue // one goroutine's arithmetic, ten times slower under the race detector
			}
			t.Run(s.name, func(t *testing.T) {
				t.Parallel()
				var wait result.Recorder
				for seed := range schedules[rho] {
					a := newArrivals(harness.Rate(rho*1e9/serviceTime), harness.Poisson, math.MaxInt64, mostTimes, uint64(seed))
					rng := machine.NewRandom(uint64(seed) + 1<<40)
					lindley(a, mostTimes, func() int64 { return s.service(rng) }, &wait)
				}
				h := wait.Snapshot()
				for _, q := range []float64{0.5, 0.9, 0.99} {
					got, want := h.Quantile(q)/serviceTime, s.quantile(rho, q)
					t.Logf("%s at a load of %v: p%v is %.4f service times, theory says %.4f (%+.2f %%)", s.name, rho, 100*q, got, want, 100*(got/want-1))
					if tolerance := 0.02 * cmp.Or(want, 1); math.Abs(got-want) > tolerance {
						t.Errorf("p%v is %.4f service times, theory says %.4f", 100*q, got, want)
					}
				}
			})
		}
	}
}
