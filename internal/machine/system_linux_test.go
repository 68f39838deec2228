package machine

import (
	"runtime"
	"slices"
	"testing"
	"testing/fstest"
	"time"
)

func TestPinThread(t *testing.T) {
	all := CPUOrder()
	done := make(chan struct{})
	go func() { // the thread ends with this goroutine
		defer close(done)
		runtime.LockOSThread()
		for _, cpu := range all {
			if err := PinThread(cpu); err != nil {
				t.Error(err)
				continue
			}
			if got := threadAffinity(0); !slices.Equal(got, []int{cpu}) {
				t.Errorf("pinned to %d, may run on %v", cpu, got)
			}
			if got := CPUOrder(); !slices.Equal(got, all) {
				t.Errorf("a pinned thread sees %v of %v", got, all)
			}
		}
		for _, cpu := range []int{-1, 1 << 20} {
			if err := PinThread(cpu); err == nil {
				t.Errorf("pinned to processor %d, which is not there", cpu)
			}
		}
	}()
	<-done
}

func TestServed(t *testing.T) {
	const step = time.Second
	cpu, wants := time.Duration(0), false
	s := &Served{wants: func() bool { return wants }, used: func() (time.Duration, bool) { return cpu, true }}
	for _, c := range []struct {
		name               string
		wants              bool
		passed, used, want time.Duration
	}{
		{"it sleeps", false, step / 2, 0, step / 2},
		{"it computes", true, step / 2, step / 2, step / 2},
		{"by several threads", true, step / 2, 4 * step, step / 2},
		{"with a tenth of a processor", true, step / 2, step / 20, step / 20},
		{"with none", true, step / 2, 0, 0},
		{"it was stopped", false, time.Hour, 0, step},
	} {
		before := s.sum
		s.at, wants = time.Now().Add(-c.passed), c.wants
		cpu += c.used
		// If the test itself does not run, that time counts as passed.
		if got := s.Count(step) - before; got < c.want || c.want < c.passed && got > max(c.want, step) || c.wants && got > max(c.want, c.used) {
			t.Errorf("%s: %v counts, want %v", c.name, got, c.want)
		}
	}
}

func TestThreadsWant(t *testing.T) {
	for state, want := range map[string]bool{"R": true, "D": true, "S": false, "T": false, "": false} {
		fsys := fstest.MapFS{
			"proc/7/task/7/stat": {Data: []byte("7 (main) S 1 2")},
			"proc/7/task/8/stat": {Data: []byte("8 (a) R (b) " + state + " 1 2")},
		}
		if got := threadsWant(fsys, 7); got != want {
			t.Errorf("state %q: %v", state, got)
		}
	}
	if threadsWant(fstest.MapFS{}, 7) {
		t.Error("a process that is not there wants a processor")
	}
}
