package result

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"locklab/harness"
)

func slicedInto(workers int, counts ...uint32) *harness.Result {
	return &harness.Result{Workers: make([]uint64, workers), Slices: counts}
}

func served(r *harness.Result) *harness.Result {
	r.Lock.Traits.Needs = harness.KindRedis
	return r
}

func asking(r *harness.Result, hold, think time.Duration) *harness.Result {
	r.Workload.Hold.Mean, r.Workload.Think.Mean = hold, think
	return r
}

func TestSlicesByHand(t *testing.T) {
	for _, c := range []struct {
		m    *Metric
		r    *harness.Result
		want float64 // NaN for no figure
	}{
		{Jain, slicedInto(2, 50, 50), 100},
		{Jain, slicedInto(2, 0, 50), 50}, // of 20 ms
		{Jain, slicedInto(2, 0, 50, 50, 0), 50},
		{Jain, slicedInto(2, 0, 50, 25, 25), 75}, // the mean
		{Jain, slicedInto(4, 0, 0, 400, 0), 25},
		{Jain, slicedInto(2, 60, 20), 80}, // 6400 / (2 · 4000)
		{Jain, slicedInto(3, 2, 1, 1), 100},
		{Jain, slicedInto(3, 0, 0, 4), 100. / 3 / (16. / 18)},    // at most 16 / (3 · 6)
		{Jain, slicedInto(4, 1, 1, 1, 0), math.NaN()},            // fewer acquisitions than workers
		{Jain, slicedInto(2, 0, 0, 30, 10), 80},                  // nobody was served: the slice is inconclusive
		{Jain, slicedInto(2, 0, 0, 0, 1, 30, 10), math.NaN()},    // most are inconclusive
		{Jain, slicedInto(2), math.NaN()},                        // the window was shorter than a slice
		{Jain, slicedInto(1, 50), math.NaN()},                    // nothing to share
		{Jain, slicedInto(2, 50, 50, 50), math.NaN()},            // damaged
		{Jain, slicedInto(0, 50), math.NaN()},                    //
		{Jain, served(slicedInto(2, 0, 30, 30, 0)), math.NaN()},  // shorter than 60 ms
		{Jain, served(slicedInto(2, 0, 30, 30, 0, 10, 10)), 100}, // over 60 ms
		{Jain, served(slicedInto(2, 0, 30, 30, 0, 10, 10, 0, 99)), 100},

		{Starved, slicedInto(2, 50, 50), 0},
		{Starved, slicedInto(2, 0, 50, 1, 1), 25},
		{Starved, slicedInto(2, 0, 0), 100}, // nobody was served
		{Starved, slicedInto(2), math.NaN()},
		{Starved, slicedInto(1, 50), math.NaN()},
		{Starved, served(slicedInto(2, 0, 5, 1, 5, 0, 5)), 0},
		{Starved, served(slicedInto(2, 0, 5, 0, 5, 0, 5)), 50},
		{Starved, asking(slicedInto(2, 0, 5), time.Millisecond, time.Millisecond), 50},
		{Starved, asking(slicedInto(2, 0, 5), time.Millisecond, 2*time.Millisecond), math.NaN()}, // it did not ask
		{Starved, asking(slicedInto(2, 0, 5), 3*time.Millisecond, 0), math.NaN()},
		{Starved, served(asking(slicedInto(2, 0, 5, 0, 5, 0, 5), 3*time.Millisecond, 0)), 50},

		{Unserved, &harness.Result{Unserved: 7}, 7}, {Unserved, slicedInto(2, 1, 1), math.NaN()},
	} {
		got, ok := c.m.Of(c.r)
		if want := !math.IsNaN(c.want); ok != want || ok && math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%s of %v %v: got %v, %v; want %v", c.m.Name, len(c.r.Workers), c.r.Slices, got, ok, c.want)
		}
	}
}

// TestJainOfTurns: serving in turn has 100, one owner about 100/workers, no lock more than
// 100.
func TestJainOfTurns(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		workers := 2 + rng.IntN(63)
		n := workers + rng.IntN(5*workers)
		turns, owner, any := slicedInto(workers), slicedInto(workers), slicedInto(workers)
		for _, r := range []*harness.Result{turns, owner, any} {
			r.Slices = make([]uint32, workers)
		}
		first := rng.IntN(workers)
		for i := range n {
			turns.Slices[(first+i)%workers]++
			owner.Slices[first]++
			any.Slices[rng.IntN(workers)]++
		}
		of := func(r *harness.Result) float64 { v, _ := Jain.Of(r); return v }
		if v := of(turns); math.Abs(v-100) > 1e-9 {
			t.Errorf("%d acquisitions of %d workers in turn: %v", n, workers, v)
		}
		if v, least := of(owner), 100/float64(workers); v < least-1e-9 || v > 1.126*least {
			t.Errorf("%d acquisitions of one of %d workers: %v", n, workers, v)
		}
		if v := of(any); v < 100/float64(workers) || v > 100+1e-9 {
			t.Errorf("%d acquisitions of any of %d workers: %v", n, workers, v)
		}
	}
}
