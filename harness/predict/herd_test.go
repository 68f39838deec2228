package predict_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"locklab/harness"
	"locklab/harness/predict"
	"locklab/internal/synthetic"
)

// busyHerd returns a herd whose handover costs processor time a + b·(n-1). The machine
// has between 0.8 and 1.6 processors for it at the calibration's numbers of contenders,
// and one at all others: other programs' use is not part of its cost.
func busyHerd() synthetic.Crowd {
	c := synthetic.Herd("herd")
	got := map[float64]float64{5: 1, 10: 0.8, 20: 1, 50: 1.2, 100: 1.6}
	c.Period = func(n float64) time.Duration {
		left := got[n]
		if left == 0 {
			left = 1
		}
		return time.Duration(float64(c.Server(n)+c.Client(n)) / left)
	}
	c.Allocs = func(float64) float64 { return 40 }
	return c
}

// withoutTime removes the contenders' processor time, which determines their work.
func withoutTime(r *harness.Result) { r.CPU.Time = 0 }

// withoutAllocs removes the allocations, which show whether a message is about all
// contenders.
func withoutAllocs(r *harness.Result) { r.CPU.Allocs = 0 }

func worst(t *testing.T, c *predict.Crowd) float64 {
	t.Helper()
	e, ok := c.WorstError(predict.Rate)
	if !ok {
		t.Fatal("no point was left out")
	}
	return math.Exp(math.Abs(math.Log(1 + e)))
}

// TestHerdOnBusyMachine: other programs take varying numbers of processors from a herd,
// and its times follow. A model of times alone attributes that to the lock and is
// refuted. The work and the received processors, separately, recover the truth.
func TestHerdOnBusyMachine(t *testing.T) {
	times, why := crowdOf(t, busyHerd(), upTo(1000)[2:], withoutTime, withoutAllocs)
	if why == "" && worst(t, times) <= predict.Refuted {
		t.Errorf("a model of times alone misses by %v: the test shows nothing", worst(t, times))
	}
	c, why := crowdOf(t, busyHerd(), upTo(1000)[2:])
	if why != "" {
		t.Fatal(why)
	}
	if by := worst(t, c); by > 1.02 {
		t.Errorf("missed by a factor of %v", by)
	}
	const n = 100_000
	e, why := c.At(n, 0)
	if want := 1e9 / (400e3 + 50e3*(n-1)); why != "" || !near(e.Rate.Value, want, 0.02) {
		t.Errorf("%v hand-overs a second, want %v; %s", e.Rate.Value, want, why)
	}
	if !near(e.Message, n+2, 0.01) || !near(e.Server, 200e3+30e3*(n-1), 0.01) || !near(e.Client, 200e3+20e3*(n-1), 0.01) {
		t.Errorf("a hand-over costs %v messages, %v and %v ns", e.Message, e.Server, e.Client)
	}
}

// TestHerdByCounts checks that noise of times that looks quadratic is ignored if
// allocations show that waiters do not read about all the others.
func TestHerdByCounts(t *testing.T) {
	noisy := synthetic.Herd("herd")
	noise := map[float64]float64{5: 1.3, 10: 1, 20: 0.8, 50: 0.8, 100: 1.2}
	for _, cost := range []*func(n float64) time.Duration{&noisy.Period, &noisy.Server, &noisy.Client} {
		exact := *cost
		*cost = func(n float64) time.Duration {
			if noise[n] > 0 {
				return time.Duration(noise[n] * float64(exact(n)))
			}
			return exact(n)
		}
	}
	noisy.Allocs = func(float64) float64 { return 40 }
	blind, why := crowdOf(t, noisy, upTo(1000)[2:], withoutAllocs)
	if why != "" || worst(t, blind) <= 2 {
		t.Errorf("without counts the model misses by %v, want more than 2; %s", worst(t, blind), why)
	}
	c, why := crowdOf(t, noisy, upTo(1000)[2:])
	if why != "" || worst(t, c) > predict.Refuted {
		t.Errorf("missed by a factor of %v; %s", worst(t, c), why)
	}
}

// TestHerdOfUnseenPairs: counts show that each message is about all contenders, and times
// do not show the cost yet. Then only the number of messages is predicted for more
// contenders, even if the model hits all points left out.
func TestHerdOfUnseenPairs(t *testing.T) {
	list := synthetic.Herd("list")
	linear := list.Period
	noise := map[float64]float64{5: 1.03, 10: 0.97, 20: 1.02, 50: 0.98}
	list.Period = func(n float64) time.Duration { // with the pairs, 2 % of a handover at 100
		if noise[n] > 0 {
			return time.Duration(noise[n] * float64(linear(n)))
		}
		return linear(n) + time.Duration(10*n*n)
	}
	list.Allocs = func(n float64) float64 { return 20 + n }
	c, why := crowdOf(t, list, []int{5, 10, 20, 50, 100, 1000})
	if why != "" || worst(t, c) > predict.Refuted {
		t.Fatalf("missed by %v: the test is of a model that is not; %s", worst(t, c), why)
	}
	e, why := c.At(100_000, 0)
	if !strings.Contains(why, "each message is about all contenders") || e.Rate.Value != 0 || e.Server != 0 || e.Client != 0 || !near(e.Message, 100_002, 0.01) {
		t.Errorf("%+v; %q", e, why)
	}
	if c, _ := crowdOf(t, list, []int{5, 10, 20, 50, 100, 1000}, withoutAllocs); worst(t, c) <= predict.Refuted {
		if _, why := c.At(100_000, 0); why != "" {
			t.Errorf("it is not the counts that tell: %q", why)
		}
	}
	// Times that show it are believed.
	for _, cost := range []*func(n float64) time.Duration{&list.Server, &list.Client} {
		*cost = func(n float64) time.Duration { return time.Duration(100e3 + 10e3*(n-1) + 1e3*(n-1)*(n-1)) }
	}
	list.Period = func(n float64) time.Duration { return list.Server(n) + list.Client(n) }
	if c, why = crowdOf(t, list, upTo(1000)); why != "" {
		t.Fatal(why)
	}
	if e, why := c.At(100_000, 0); why != "" || !near(e.Rate.Value, 1e9/float64(list.Period(100_000)), 0.02) || !near(e.Server, float64(list.Server(100_000)), 0.02) {
		t.Errorf("%+v; %q", e, why)
	}
}

// TestHerdCostOutlivesItsRate: if the lock gets fewer processors at the points left out,
// the rate is refuted, with that reason. The cost of a handover is still predicted.
func TestHerdCostOutlivesItsRate(t *testing.T) {
	c := busyHerd()
	fair := c.Period
	c.Period = func(n float64) time.Duration {
		if n > 100 {
			return 17 * fair(n) / 10
		}
		return fair(n)
	}
	crowd, why := crowdOf(t, c, upTo(1000)[2:])
	if why != "" {
		t.Fatal(why)
	}
	e, why := crowd.At(10_000, 0)
	if !strings.Contains(why, "off by a factor of 1.7; servers and contenders got 0.59 processors there, and 1 in the calibration") || !crowd.Refuted() {
		t.Errorf("%q", why)
	}
	if e.Rate != (predict.Time{}) || e.Wait != (predict.Time{}) || !near(e.Message, 10_002, 0.01) || !near(e.Server, 300e6, 0.01) {
		t.Errorf("%+v", e)
	}
}

func TestRefutedByHalf(t *testing.T) {
	for slow, refuted := range map[float64]bool{1.45: false, 1.55: true} {
		c := synthetic.Queue("queue")
		c.Period = func(n float64) time.Duration {
			if n == 1000 {
				return time.Duration(slow * 300e3)
			}
			return 300 * time.Microsecond
		}
		crowd, why := crowdOf(t, c, upTo(1000))
		if why != "" {
			t.Fatal(why)
		}
		if _, why := crowd.At(10_000, 0); strings.HasPrefix(why, "refuted") != refuted || crowd.Refuted() != refuted {
			t.Errorf("missed by %v: %q", slow, why)
		}
	}
}

// TestGoesOn checks that a lock refutes the model if it continues with more waiters than
// the model allows.
func TestGoesOn(t *testing.T) {
	poll := synthetic.Polling("poll", 20*time.Millisecond)
	early := synthetic.Polling("poll", 20*time.Millisecond)
	poll.Period = func(n float64) time.Duration { return early.Period(min(n, 300)) }
	poll.Acquisition = func(n float64) time.Duration { return early.Acquisition(min(n, 300)) }
	c, why := crowdOf(t, poll, upTo(1000))
	if why != "" {
		t.Fatal(why)
	}
	if _, why := c.At(200, 0); why != "refuted: with 1000 contenders it goes on, and by the model it stands still" {
		t.Errorf("%q", why)
	}
}
