package machine

import (
	"math"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
)

// skewOf returns measureSkew's result, or skips the test if two threads cannot run at once.
func skewOf(t *testing.T, c Clock, shift uint64) (s Skew) {
	t.Helper()
	for range 10 {
		if s = measureSkew(c, CPUOrder(), shift); s.CPUs > 0 {
			return s
		}
	}
	t.Skipf("not measured: %s", s.Reason)
	return s
}

// TestMeasureSkew: counters that are set ahead are found so far apart.
func TestMeasureSkew(t *testing.T) {
	c := Calibrate()
	for _, ns := range []float64{0, 500_000, -500_000} {
		s := skewOf(t, c, uint64(int64(ns/c.period)))
		t.Logf("%+v", s)
		if n := len(CPUOrder()); s.CPUs < 2 || s.CPUs > n || s.Reason != "" || s.Error <= 0 {
			t.Errorf("compared %d of %d processors: %+v", s.CPUs, n, s)
		}
		// The machine's own offset is within Error, too.
		if math.Abs(s.Offset-math.Abs(ns)) > 2*s.Error || s.Bound < s.Offset {
			t.Errorf("counters set %v ns ahead are found %v±%v ns apart", ns, s.Offset, s.Error)
		}
		if s.Backward == 0 && s.Error < math.Abs(ns)/2 {
			t.Errorf("counters are %v ns apart, and no message arrived before it was sent", ns)
		}
	}
}

func TestSkewNotMeasured(t *testing.T) {
	if s := measureSkew(newClock(1e9), []int{3}, 0); s.Reason == "" || s.CPUs != 0 {
		t.Errorf("one processor: %+v", s)
	}
	if s := measureSkew(newClock(1e9), []int{1 << 15, 1<<15 + 1}, 0); s.Reason == "" || s.CPUs != 0 {
		t.Errorf("processors that are not there: %+v", s)
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	if s := MeasureSkew(newClock(1e9)); s.CPUs != 0 || len(CPUOrder()) > 1 && !strings.Contains(s.Reason, "GOMAXPROCS") {
		t.Errorf("GOMAXPROCS is 1: %+v", s)
	}
}

func TestTransitOffset(t *testing.T) {
	c := newClock(1e9)
	c.rating.Step = 10
	var s Skew
	for _, tc := range []struct {
		there, back int64 // least times
		offset, err float64
		after       Skew // with all before
	}{
		{100, 100, 0, 100, Skew{0, 110, 110, 2, 0, ""}},
		{120, 80, 20, 100, Skew{20, 110, 130, 3, 0, ""}},
		{30, 90, -30, 60, Skew{30, 70, 130, 4, 0, ""}},
		{-4900, 5100, -5000, 100, Skew{5000, 110, 5110, 5, 1, ""}},
	} {
		var there, back transit
		for _, more := range []int64{500, 0, 700} { // the least counts
			there.add(tc.there + more)
			back.add(tc.back + more)
		}
		if there.received != 3 {
			t.Fatalf("%d messages received of 3", there.received)
		}
		if there.backward > 1 { // -4400 and -4200 arrived early as well
			there.backward = 1
		}
		if offset, err := there.offset(back); offset != tc.offset || err != tc.err {
			t.Errorf("%d and %d: offset %v±%v, want %v±%v", tc.there, tc.back, offset, err, tc.offset, tc.err)
		}
		s.add(c, there, back)
		if s != tc.after {
			t.Errorf("%d and %d: %+v, want %+v", tc.there, tc.back, s, tc.after)
		}
	}
}

// TestVolleyWithoutPartner: no thread waits forever, or takes an old message for a new one.
func TestVolleyWithoutPartner(t *testing.T) {
	for _, serves := range []bool{true, false} {
		var in, out atomic.Uint64
		if got := volley(&in, &out, serves, 0); got.received != 0 {
			t.Errorf("received %d messages that no thread sent", got.received)
		}
		in.Store(1) // the first, and no second
		if got := volley(&in, &out, serves, 0); got.received != 1 {
			t.Errorf("received %d messages of 1", got.received)
		}
	}
}
