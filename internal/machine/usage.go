package machine

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"runtime/metrics"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// Usage is the accumulated cost of a process or a thread.
type Usage struct {
	User, System time.Duration // CPU time, summed over all threads

	Voluntary   int64 // context switches because a thread waited
	Involuntary int64 // context switches because a thread was preempted
}

// ProcessUsage returns this process's usage without children (getrusage with RUSAGE_SELF).
// Some kernels advance CPU time only by ticks of 1 to 10 ms.
func ProcessUsage() Usage {
	u, _ := usageOf(unix.RUSAGE_SELF)
	return u
}

func usageOf(subject int) (Usage, bool) {
	var r unix.Rusage
	if unix.Getrusage(subject, &r) != nil {
		return Usage{}, false
	}
	return Usage{
		User: time.Duration(r.Utime.Nano()), System: time.Duration(r.Stime.Nano()),
		Voluntary: int64(r.Nvcsw), Involuntary: int64(r.Nivcsw),
	}, true
}

// Sub returns u - v.
func (u Usage) Sub(v Usage) Usage {
	return Usage{
		User: u.User - v.User, System: u.System - v.System,
		Voluntary: u.Voluntary - v.Voluntary, Involuntary: u.Involuntary - v.Involuntary,
	}
}

// CPU returns the CPU time in user and system mode together.
func (u Usage) CPU() time.Duration { return u.User + u.System }

// RunDelays returns for each thread of a process how long it was ready to run but did not: the
// second field of schedstat (Documentation/scheduler/sched-stats.rst), or nothing.
func RunDelays(pid int) map[string]time.Duration {
	delays := make(map[string]time.Duration)
	dir := fmt.Sprintf("/proc/%d/task", pid)
	threads, err := os.ReadDir(dir)
	if err != nil {
		return delays
	}
	for _, thread := range threads {
		text, err := os.ReadFile(filepath.Join(dir, thread.Name(), "schedstat"))
		if f := bytes.Fields(text); err == nil && len(f) > 1 {
			ns, _ := strconv.ParseInt(string(f[1]), 10, 64)
			delays[thread.Name()] = time.Duration(ns)
		}
	}
	return delays
}

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
