package measure

import (
	"testing"
	"time"

	"locklab/harness"
)

// TestSleeperWakes: the length of a short hold or think time is not the grain of a timer of Go.
func TestSleeperWakes(t *testing.T) {
	span := harness.Span{Mean: 100 * time.Microsecond}
	w := newRemoteWorker(&drive{rig: &Rig{job: Job{Workload: harness.Workload{Hold: span, Think: span}}}}, 0, nil)
	defer w.alarm.Close()
	for _, s := range []*sleeper{&w.hold, &w.think} {
		shortest := time.Hour
		for range 50 {
			start := time.Now()
			s.spend()
			shortest = min(shortest, time.Since(start))
		}
		if shortest < span.Mean || shortest > time.Millisecond {
			t.Errorf("the shortest of 50 spans of %v took %v", span.Mean, shortest)
		}
	}
}
