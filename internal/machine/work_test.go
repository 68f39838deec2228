package machine

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"locklab/internal/require"
)

func measureWork(c Clock, n int) float64 {
	spans := make([]float64, 31)
	for i := range spans {
		start := c.Now()
		Do(n)
		spans[i] = float64(c.Nanoseconds(c.Now() - start))
	}
	return slices.Min(spans)
}

func TestIterations(t *testing.T) {
	w := CalibrateWork(Calibrate())
	t.Logf("%.4g iterations a ns", w.perNs)
	Do(math.MinInt) // returns
	if w.Iterations(0) != 0 || w.Iterations(-time.Second) != 0 || (Work{}).Iterations(time.Second) != 0 {
		t.Error("work for no time")
	}
	if n := w.Iterations(math.MaxInt64); n < w.Iterations(time.Second) {
		t.Errorf("%d iterations for three centuries", n)
	}
	last := 1
	for d := time.Duration(1); d < time.Second; d += 1 + d/7 {
		n := w.Iterations(d)
		if n < last {
			t.Fatalf("%v takes %d iterations, less than a shorter span or 1", d, n)
		}
		last = n
	}
}

// TestWorkLastsAsLongAsAsked: each try calibrates right before, since a sibling slows both
// down.
func TestWorkLastsAsLongAsAsked(t *testing.T) {
	c := Calibrate()
	for _, d := range []time.Duration{10 * time.Microsecond, 200 * time.Microsecond} {
		retryMeasurement(t, 10, func() (bool, string) {
			got := measureWork(c, CalibrateWork(c).Iterations(d))
			return math.Abs(got/float64(d)-1) < 0.1, fmt.Sprintf("%v of work lasts %v ns", d, got)
		})
	}
}

// TestRandomIsSplitMix64 compares with https://prng.di.unimi.it/splitmix64.c.
func TestRandomIsSplitMix64(t *testing.T) {
	r := NewRandom(1234567)
	for i, want := range []uint64{6457827717110365317, 3203168211198807973, 9817491932198370423,
		4593380528125082431, 16408922859458223821} {
		require.Equal(t, fmt.Sprintf("number %d", i), r.Uint64(), want)
	}
}

func TestExp(t *testing.T) {
	const mean, n = 100, 100_000
	r := NewRandom(8)
	sum, beyond := 0.0, 0 // beyond two means
	for range n {
		x := r.Exp(mean)
		if x < 0 {
			t.Fatalf("%v is negative", x)
		}
		sum += x
		if x > 2*mean {
			beyond++
		}
	}
	if got := sum / n; math.Abs(got-mean) > 0.05*mean {
		t.Errorf("the mean is %v, want %v", got, mean)
	}
	if share := float64(beyond) / n; math.Abs(share*math.Exp(2)-1) > 0.05 {
		t.Errorf("%.3f of the numbers are beyond two means", share)
	}
}
