package machine

import (
	"fmt"
	"maps"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestEventNumbers(t *testing.T) {
	want := map[string][2]uint64{
		"cycles":           {unix.PERF_TYPE_HARDWARE, unix.PERF_COUNT_HW_CPU_CYCLES},
		"instructions":     {unix.PERF_TYPE_HARDWARE, unix.PERF_COUNT_HW_INSTRUCTIONS},
		"cache-references": {unix.PERF_TYPE_HARDWARE, unix.PERF_COUNT_HW_CACHE_REFERENCES},
		"cache-misses":     {unix.PERF_TYPE_HARDWARE, unix.PERF_COUNT_HW_CACHE_MISSES},
		"task-clock":       {unix.PERF_TYPE_SOFTWARE, unix.PERF_COUNT_SW_TASK_CLOCK},
		"page-faults":      {unix.PERF_TYPE_SOFTWARE, unix.PERF_COUNT_SW_PAGE_FAULTS},
		"context-switches": {unix.PERF_TYPE_SOFTWARE, unix.PERF_COUNT_SW_CONTEXT_SWITCHES},
		"cpu-migrations":   {unix.PERF_TYPE_SOFTWARE, unix.PERF_COUNT_SW_CPU_MIGRATIONS},
	}
	got := make(map[string][2]uint64)
	for _, e := range events {
		got[e.name] = [2]uint64{uint64(e.kind), e.number}
		if e.kind == hardware && e.mode != anyMode {
			t.Errorf("%s: the processor counts in any mode", e.name)
		}
	}
	if !maps.Equal(got, want) || len(events) != len(want) {
		t.Errorf("the events are %v, want %v", got, want)
	}
}

// counted returns the events between two readings, or skips the test.
func counted(t *testing.T, event string, before, after []Count) float64 {
	t.Helper()
	i := slices.Index(EventNames(), event)
	v, ok := after[i].Sub(before[i]).Value()
	if !ok {
		t.Skipf("%s: %s", event, after[i].Reason)
	}
	return v
}

// TestCountersCount: another thread's events do not count.
func TestCountersCount(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	const span = 20 * time.Millisecond
	for _, tc := range []struct {
		event string
		cause func()
		least float64
		most  float64
	}{
		{"task-clock", func() { work(span) }, 1e5, 1e9},
		{"task-clock", func() { elsewhere(func() { work(span) }) }, 0, 0.8 * float64(span)},
		{"context-switches", func() { sleep(5) }, 5, 1e6},
		{"page-faults", touchFreshMemory, 256, 1e6},
		{"cycles", func() { Do(1_000_000) }, 1e6, 1e9},
		{"instructions", func() { Do(1_000_000) }, 1e6, 1e9},
	} {
		t.Run(fmt.Sprintf("%s least %g", tc.event, tc.least), func(t *testing.T) {
			runtime.LockOSThread() // subtests run on goroutines of their own
			defer runtime.UnlockOSThread()
			c := OpenCounters()
			defer c.Close()
			before := c.Read()
			tc.cause()
			after := c.Read()
			if v := counted(t, tc.event, before, after); v < tc.least || v > tc.most {
				t.Errorf("counted %.0f, want %g to %g", v, tc.least, tc.most)
			}
		})
	}
}

func elsewhere(f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread()
		f()
	}()
	<-done
}

func sleep(n int) {
	for range n {
		span := unix.NsecToTimespec(int64(100 * time.Microsecond))
		_ = unix.Nanosleep(&span, nil) // if a signal ends it, that was a switch, too
	}
}

func touchFreshMemory() {
	const pages = 256
	size := pages * os.Getpagesize()
	memory, err := unix.Mmap(-1, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		return // and no fault is counted
	}
	_ = unix.Madvise(memory, unix.MADV_NOHUGEPAGE) // else one fault may fill it all
	for i := 0; i < size; i += os.Getpagesize() {
		memory[i]++
	}
	_ = unix.Munmap(memory)
}

func TestWhyNot(t *testing.T) {
	cycles, clock, switches := events[0], events[4], events[6]
	for _, tc := range []struct {
		event    event
		err      error
		paranoid string
		want     string
	}{
		{cycles, unix.ENOENT, "2", "offers no counters of this processor"},
		{clock, unix.ENOENT, "2", "does not know the event"},
		{cycles, unix.EINVAL, "2", "does not know the event"},
		{cycles, unix.EOPNOTSUPP, "2", "does not count it"},
		{cycles, unix.ENOSYS, "", "no perf events"},
		{cycles, unix.EBUSY, "2", "another program"},
		{cycles, unix.EMFILE, "2", "ulimit -n"},
		{cycles, unix.EACCES, "3", "is 3: run sudo sysctl kernel.perf_event_paranoid=2"},
		{cycles, unix.EPERM, "4", "is 4: run sudo sysctl kernel.perf_event_paranoid=2"},
		{switches, unix.EACCES, "2", "is 2: run sudo sysctl kernel.perf_event_paranoid=1"},
		{cycles, unix.EACCES, "2", "perhaps by the container"},
		{switches, unix.EPERM, "1", "perhaps by the container"},
		{cycles, unix.EPERM, "", "perhaps by the container"},
		{cycles, unix.EPERM, "high", "perhaps by the container"},
		{cycles, fmt.Errorf("wrapped: %w", unix.ENOSYS), "", "no perf events"},
		{cycles, unix.EIO, "2", unix.EIO.Error()},
	} {
		if got := whyNot(tc.event, tc.err, tc.paranoid); !strings.Contains(got, tc.want) || strings.Contains(got, "\n") {
			t.Errorf("%s, %v, paranoid %q: %q, want %q in it", tc.event.name, tc.err, tc.paranoid, got, tc.want)
		}
	}
}

func TestCountersLeaveNoFile(t *testing.T) {
	files := func() int {
		entries, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Skip(err)
		}
		n := 0
		for _, e := range entries {
			if link, _ := os.Readlink("/proc/self/fd/" + e.Name()); strings.Contains(link, "perf_event") {
				n++
			}
		}
		return n
	}
	before := files()
	c := OpenCounters()
	if files() == before {
		t.Skip("no event can be counted")
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	if got := files(); got != before {
		t.Errorf("%d files of events are open, before it were %d", got, before)
	}
}
