package atomics

import (
	"math"
	"runtime"
	"testing"
	"time"
)

func TestHintsAreBounded(t *testing.T) {
	for n, want := range map[int]uint32{math.MinInt: 0, -1: 0, 0: 0, 1: 1, 63: 63, 64: 64, 65: 64, math.MaxInt: 64} {
		if got := hints(n); got != want {
			t.Errorf("hints(%d) is %d, want %d", n, got, want)
		}
	}
}

func TestSpinHintReturns(t *testing.T) {
	for _, n := range []int{math.MinInt, -1, 0, 1, 2, 64, 65, math.MaxInt} {
		SpinHint(n)
	}
}

func TestClockName(t *testing.T) {
	want, ok := map[string]string{"amd64": "RDTSC", "arm64": "CNTVCT_EL0"}[runtime.GOARCH]
	if !ok || len(Suite) == 1 {
		want = "monotonic"
	}
	if got := ClockName(); got != want {
		t.Errorf("ClockName is %q, want %q", got, want)
	}
}

// TestTicks compares spans of Ticks with spans of the monotonic clock.
func TestTicks(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	outer := time.Now()
	first := Ticks()
	inner := time.Now()
	time.Sleep(50 * time.Millisecond)
	least := time.Since(inner)
	span := float64(Ticks() - first)
	most := time.Since(outer)

	lo, hi := span/most.Seconds(), span/least.Seconds()
	t.Logf("%s: %.0f to %.0f ticks per second, ClockHz is %.0f", ClockName(), lo, hi, ClockHz())
	if lo < 1e6 || hi > 1e10 {
		t.Errorf("ticks do not come at the rate of a clock")
	}
	const slack = 1.01 // CNTFRQ_EL0 and the kernel's own calibration may differ
	if hz := ClockHz(); hz != 0 && (hz < lo/slack || hz > hi*slack) {
		t.Errorf("ClockHz is %.0f, out of the range seen", hz)
	}
}

func TestTicksDoNotGoBack(t *testing.T) {
	last := Ticks()
	for range 10_000 {
		now := Ticks()
		if back := int64(last - now); back > 100_000 {
			t.Fatalf("Ticks went back by %d", back)
		}
		last = now
	}
}
