package machine

import (
	"os"
	"runtime/metrics"
	"time"
)

// A Served counts the time in which a process could have made progress: the CPU time while a
// thread wants a processor, at most the elapsed time, and the elapsed time otherwise. A limit
// on it distinguishes a hung process from one that lacks processors.
type Served struct {
	pid   int
	wants func() bool // a processor
	used  func() (cpu time.Duration, ok bool)

	at  time.Time
	cpu time.Duration
	sum time.Duration
}

// NewServed starts counting for process pid; not on Linux, others' elapsed time counts.
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

// Count returns the sum. A reading adds at most step, however late it comes, because a process
// stopped by the host does not hang. Call it more often than every step.
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

func runnableGoroutines() uint64 {
	sample := []metrics.Sample{{Name: "/sched/goroutines/runnable:goroutines"}}
	if metrics.Read(sample); sample[0].Value.Kind() != metrics.KindUint64 {
		return 0
	}
	return sample[0].Value.Uint64()
}
