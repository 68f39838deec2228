package machine

import (
	"os"
	"runtime/metrics"
	"time"
)

// A Served counts for how long a process could have got on, by which one that hangs is
// told from one that is short of processors: while a thread of it wants a processor the
// processor time that it gets counts, at most the time that passes; while none does,
// the time that passes. A time limit must count this and not seconds.
type Served struct {
	pid   int
	wants func() bool // a processor
	used  func() (cpu time.Duration, ok bool)

	at  time.Time
	cpu time.Duration
	sum time.Duration
}

// NewServed begins to count for the process with that number. On systems other than
// Linux all time counts of a process other than this one.
func NewServed(pid int) *Served {
	s := &Served{pid: pid, at: time.Now()}
	s.used = func() (time.Duration, bool) { return ProcessCPU(pid) }
	s.wants = func() bool { return threadsWant(hostFS(), pid) }
	if pid == os.Getpid() {
		s.used = func() (time.Duration, bool) { cpu := ProcessUsage().CPU(); return cpu, cpu > 0 }
		s.wants = func() bool { return threadsWant(hostFS(), pid) || runnableGoroutines() > 0 }
	}
	s.cpu, _ = s.used()
	return s
}

// Count returns the sum so far. A reading adds at most step, however late it comes: a
// process that is stopped, as by the host, does not hang. It is to be read more often.
func (s *Served) Count(step time.Duration) time.Duration {
	now := time.Now()
	passed := min(now.Sub(s.at), step)
	cpu, ok := s.used()
	if ok && s.wants() {
		passed = min(passed, max(0, cpu-s.cpu))
	}
	s.at, s.cpu = now, cpu
	s.sum += passed
	return s.sum
}

// runnableGoroutines returns how many goroutines wait for a thread.
func runnableGoroutines() uint64 {
	sample := []metrics.Sample{{Name: "/sched/goroutines/runnable:goroutines"}}
	if metrics.Read(sample); sample[0].Value.Kind() != metrics.KindUint64 {
		return 0
	}
	return sample[0].Value.Uint64()
}
