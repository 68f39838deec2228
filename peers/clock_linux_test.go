package peers_test

import (
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"locklab/harness"
	"locklab/harness/locktest"
)

// On Linux Java's System.nanoTime is Go's monotonic time: the exchange finds the difference.
func TestClockOffset(t *testing.T) {
	needTime(t)
	t.Parallel()
	needJava(t)
	s := newJavaStage(t, locktest.Endpoint(t, harness.KindZooKeeper))
	defer s.close(t)
	base := time.Now()
	offset, err := s.java.ClockOffset(t.Context(), base)
	requireNoError(t, err)
	var ts unix.Timespec
	before := time.Since(base)
	requireNoError(t, unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts))
	want := int64(before) - ts.Nano()
	if d := time.Duration(offset - want).Abs(); d > 5*time.Millisecond {
		t.Errorf("Java's clock seems %v off CLOCK_MONOTONIC", d)
	} else {
		t.Logf("%v off", d)
	}
}
