package measure

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

type fakeClock struct {
	offset     int64   // of the server's clock when the clock here shows 0, ns
	rate       float64 // by which the server's is faster
	resolution int64   // ns
	trip, more int64   // the shortest time each way, and the greatest extra time, ns
	random     *rand.Rand
	here       int64 // time of the clock here
	setBy      int64 // added to the server's clock at half the samples
}

func (f *fakeClock) actual(at int64) int64 { return f.offset + int64(float64(at)*f.rate) }

func (f *fakeClock) read() sample {
	s := sample{before: f.here, resolution: f.resolution}
	f.here += f.trip + f.random.Int64N(f.more)
	shown := f.here + f.actual(f.here)
	s.server = shown - shown%f.resolution
	f.here += f.trip + f.random.Int64N(f.more)
	s.after = f.here
	f.here += f.random.Int64N(3 * int64(time.Millisecond))
	return s
}

func (f *fakeClock) samples(n int) []sample {
	var out []sample
	for i := range n {
		if i == n/2 {
			f.offset += f.setBy
		}
		out = append(out, f.read())
	}
	return out
}

func newFake(random *rand.Rand) *fakeClock {
	return &fakeClock{
		offset:     1_700_000_000_000_000_000 + random.Int64N(1e18),
		rate:       (random.Float64()*2 - 1) * maxDrift,
		resolution: []int64{1, 1000, 1_000_000}[random.IntN(3)],
		trip:       []int64{0, 20_000, 5_000_000, 150_000_000}[random.IntN(4)],
		more:       []int64{1, 50_000, 20_000_000}[random.IntN(3)],
		here:       random.Int64N(1e15),
		random:     random,
	}
}

type estimator func([]sample) RankClock

// countWrong counts servers whose offset is outside the bounds of e, and bounds that are too wide.
func countWrong(e estimator) (outside, wide int) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 3000 {
		f := newFake(random)
		all := f.samples(samples)
		c := e(all)
		if miss := f.actual(c.At) - c.Offset; c.Error < 0 || max(miss, -miss) > c.Error+256 { // ns: float64's error for such offsets
			outside++
		}
		best := all[0].after - all[0].before
		for _, s := range all {
			best = min(best, s.after-s.before)
		}
		if c.Error > (best+f.resolution)/2+drift(c.At-all[0].before)+1 {
			wide++
		}
	}
	return outside, wide
}

// TestBounds: the true offset is within the bounds; slightly wrong estimators are detected.
func TestBounds(t *testing.T) {
	if outside, wide := countWrong(intersect); outside+wide > 0 {
		t.Errorf("%d bounds do not contain the offset, %d are wider than the best sample's", outside, wide)
	}
	for name, broken := range map[string]estimator{
		"no resolution": func(all []sample) RankClock {
			all = slices.Clone(all)
			for i := range all {
				all[i].resolution = 0
			}
			return intersect(all)
		},
		"no drift": func(all []sample) RankClock {
			c := intersect(all)
			c.Error = max(0, c.Error-drift(c.At-all[0].before))
			return c
		},
	} {
		if outside, _ := countWrong(broken); outside == 0 {
			t.Errorf("the estimator %q passes", name)
		} else {
			t.Logf("the estimator %q is wrong in %d of 3000", name, outside)
		}
	}
	if _, wide := countWrong(func(all []sample) RankClock {
		c := intersect(all)
		c.Error = (all[0].after-all[0].before)/2 + all[0].resolution + drift(c.At-all[0].before)
		return c
	}); wide == 0 {
		t.Error("an estimator that uses one sample passes")
	}
}

// TestSet: a server's clock set by more than the uncertainty is detected.
func TestSet(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for range 1000 {
		f := newFake(random)
		f.setBy = 2*(f.trip+f.more) + 2*f.resolution + int64(2*time.Second)
		if random.IntN(2) == 0 {
			f.setBy = -f.setBy
		}
		c := intersect(f.samples(samples))
		if c != unknownClock {
			t.Fatalf("%+v after the clock was set by %d", c, f.setBy)
		}
	}
	if c := intersect(newFake(random).samples(minSamples - 1)); c != unknownClock {
		t.Errorf("%+v of too few samples", c)
	}
}

func TestUntil(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	for range 3000 {
		f := newFake(random)
		first := intersect(f.samples(samples))
		from := f.here
		f.here += random.Int64N(1e11)
		second := intersect(f.samples(samples))
		c := first.Until(second)
		at := from + random.Int64N(max(1, second.At-from))
		if miss := f.actual(at) - c.Offset; max(miss, -miss) > c.Error+256 {
			t.Fatalf("the offset is %d out of bounds %+v", miss, c)
		}
	}
	if c := (RankClock{}).Until(RankClock{}); c != (RankClock{}) {
		t.Errorf("the same clock for all: %+v", c)
	}
	for _, pair := range [][2]RankClock{{unknownClock, {}}, {{}, unknownClock}} {
		if c := pair[0].Until(pair[1]); c != unknownClock {
			t.Errorf("%+v of %+v", c, pair)
		}
	}
}

// TestCommonStart: all start together within their clocks' errors, and never wait for a set clock.
func TestCommonStart(t *testing.T) {
	const ms = int64(time.Millisecond)
	for _, test := range []struct {
		name  string
		all   []arrival
		clock RankClock
		now   int64
		at    int64
	}{
		{"the last to come", []arrival{{100 * ms, 0, ""}, {500 * ms, 0, ""}}, RankClock{}, 510 * ms, 700 * ms},
		{"another clock here", []arrival{{100 * ms, 5, ""}, {500 * ms, 5, ""}}, RankClock{Offset: 400 * ms, Error: 5}, 110 * ms, 300 * ms},
		{"known late", []arrival{{0, 0, ""}, {1, 0, ""}}, RankClock{}, 900 * ms, 200*ms + 1},
		{"another's clock is unknown", []arrival{{1e18, -1, ""}, {0, 0, ""}}, RankClock{}, 50 * ms, 250 * ms},
		{"nothing known here", []arrival{{1e18, -1, ""}, {5, 0, ""}}, unknownClock, 50 * ms, 250 * ms},
		{"a little ahead, within errors", []arrival{{100 * ms, 3 * ms, ""}, {0, 0, ""}}, RankClock{Error: 2 * ms}, 95 * ms, 300 * ms},
		{"set ahead", []arrival{{100 * ms, 3 * ms, ""}, {0, 0, ""}}, RankClock{Error: 2 * ms}, 94 * ms, 294 * ms},
	} {
		if at := commonStart(test.all, test.clock, test.now); at != test.at {
			t.Errorf("%s: starts at %v, want %v", test.name, time.Duration(at), time.Duration(test.at))
		}
	}
}
