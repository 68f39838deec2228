package machine

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"locklab/atomics"
	"locklab/internal/require"
)

// retryMeasurement retries a measurement that a busy machine can spoil.
func retryMeasurement(t *testing.T, tries int, measure func() (ok bool, got string)) {
	t.Helper()
	for range tries {
		ok, got := measure()
		if ok {
			return
		}
		t.Log(got)
	}
	t.Errorf("%d tries, none good", tries)
}

func TestCalibrate(t *testing.T) {
	c := Calibrate()
	t.Logf("%s %.6g Hz, floor %.3g ns, step %.3g ns", c.Name(), c.Hz(), c.Floor, c.Step)
	retryMeasurement(t, 10, func() (bool, string) {
		start, ticks := time.Now(), c.Now()
		time.Sleep(50 * time.Millisecond)
		got, want := time.Duration(c.Nanoseconds(c.Now()-ticks)), time.Since(start)
		return math.Abs(float64(got)/float64(want)-1) < 0.002, time.Duration(got-want).String() + " apart"
	})
	require.Equal(t, "Name", c.Name(), atomics.ClockName())
	if hz := atomics.ClockHz(); hz > 0 && math.Abs(c.Hz()/hz-1) > 1e-9 {
		t.Errorf("%v Hz, though the machine says %v", c.Hz(), hz)
	}
	if stated := atomics.ClockHz() > 0; c.Stated != stated || (c.Error == 0) != stated {
		t.Errorf("stated %v, though the machine says %v Hz; error %v ppm", c.Stated, atomics.ClockHz(), c.Error)
	}
	if c.Floor <= 0 || c.Floor > 1e6 || c.Step <= 0 || c.Step > 1e8 {
		t.Errorf("floor %v ns, step %v ns", c.Floor, c.Step)
	}
}

func TestAgree(t *testing.T) {
	for _, tc := range []struct {
		rates       []float64
		median, ppm float64
	}{
		{[]float64{2e9, 2e9, 2e9}, 2e9, 0},
		{[]float64{2.0002e9, 1.9998e9, 2e9}, 2e9, 200},
		{[]float64{1e9, 2e9, 2e9}, 2e9, 500_000}, // a span was cut short
	} {
		median, ppm := agree(tc.rates)
		if median != tc.median || math.Abs(ppm-tc.ppm) > 1e-6 {
			t.Errorf("%v: %v, %v ppm; want %v, %v ppm", tc.rates, median, ppm, tc.median, tc.ppm)
		}
	}
}

func TestNanoseconds(t *testing.T) {
	c := Clock{Period: 0.4}
	for _, tc := range []struct {
		ticks uint64
		want  int64
	}{
		{0, 0},
		{1, 0},
		{2, 1},
		{25, 10},
		{9_000_000_000_000, 3_600_000_000_000}, // an hour
		{^uint64(0), 0},                        // -1
		{1 << 63, 0},
		{^uint64(0) - 1000, 0}, // the other core is ahead
	} {
		require.Equal(t, int64(tc.ticks), c.Nanoseconds(tc.ticks), tc.want)
	}
	require.Equal(t, "a year of a 24 MHz clock", (Clock{Period: 1e9 / 24e6}).Nanoseconds(24e6*86400*365), 365*86400e9)
	require.Equal(t, "the zero clock", (Clock{}).Nanoseconds(1<<40), 0)
}

func TestStepTicks(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, s := range []float64{1, 2, 10, 16, 24.45, 26, 41.67, 1000} {
		seen := make(map[uint64]int)
		now, before := 0.0, 0.0
		for n := 0; n < 8192; {
			now += 20 + 60*rng.Float64()
			reading := math.Floor(math.Floor(now/s) * s)
			if d := uint64(reading - before); d > 0 {
				seen[d]++
				n++
			}
			before = reading
		}
		seen[7919]++ // one interruption, and one change of core
		seen[uint64(s)+3]++
		if got := stepTicks(seen); math.Abs(got/s-1) > 0.01 {
			t.Errorf("a step of %v ticks reads as %v", s, got)
		}
	}
	require.Equal(t, "the step of a clock that stands", stepTicks(nil), 0)
}

func TestHotPathsDoNotAllocate(t *testing.T) {
	c, r := Calibrate(), NewRandom(1)
	if n := testing.AllocsPerRun(100, func() {
		start := c.Now()
		Do(int(r.Exp(10)))
		c.Nanoseconds(c.Now() - start)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// TestShareClock: another process gets an equal clock.
func TestShareClock(t *testing.T) {
	want := Clock{Period: 1. / 3, Floor: 11.5, Step: 10, Error: 0.3, Stated: true}
	text, err := json.Marshal(want)
	require.NoError(t, err)
	var got Clock
	if err := json.Unmarshal(text, &got); err != nil || got != want {
		t.Errorf("got %+v, %v; want %+v", got, err, want)
	}
}

func TestReadTogether(t *testing.T) {
	gaps := []int64{5e6, 900, 20, 3e6} // between the readings of each try, in ns
	at, try := int64(1000), 0
	now := func() int64 { return at }
	tick := func() uint64 {
		at += gaps[try%len(gaps)]
		try++
		return uint64(2 * at) // two ticks a nanosecond
	}
	ns, ticks := ReadTogether(now, tick)
	if d := int64(ticks)/2 - ns; d < 0 || d > 20 {
		t.Errorf("the clocks were read %d ns apart, want 20 at most", d)
	}
}
