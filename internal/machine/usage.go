package machine

import "time"

// Usage is the accumulated cost of a process or a thread. On systems other than Unix it is zero.
type Usage struct {
	User, System time.Duration // CPU time, summed over all threads

	Voluntary   int64 // context switches because a thread waited
	Involuntary int64 // context switches because a thread was preempted
}

// ProcessUsage returns this process's usage without children (getrusage with RUSAGE_SELF).
// Some kernels advance CPU time only by ticks of 1 to 10 ms.
func ProcessUsage() Usage { return processUsage() }

// ThreadUsage returns the usage of the calling thread (getrusage with RUSAGE_THREAD), in about 0.4
// µs; false on systems other than Linux and FreeBSD. The caller must have called
// runtime.LockOSThread; otherwise the figures belong to an arbitrary thread.
func ThreadUsage() (u Usage, ok bool) { return threadUsage() }

// ProcessCPU returns a process's CPU time over running and ended threads, without the last
// timer tick. It returns false without such a process, and on systems other than Linux.
func ProcessCPU(pid int) (time.Duration, bool) { return processCPU(pid) }

// Sub returns u - v.
func (u Usage) Sub(v Usage) Usage {
	return Usage{
		User: u.User - v.User, System: u.System - v.System,
		Voluntary: u.Voluntary - v.Voluntary, Involuntary: u.Involuntary - v.Involuntary,
	}
}

// CPU returns the CPU time in user and system mode together.
func (u Usage) CPU() time.Duration { return u.User + u.System }
