package machine

import "time"

// Usage is what a process has cost so far. On systems other than Unix it is
// zero.
type Usage struct {
	User, System time.Duration // CPU time, summed over all threads

	Voluntary   int64 // context switches because a thread waited
	Involuntary int64 // context switches because a thread was preempted
}

// ProcessUsage returns what this process has used, its children not included
// (getrusage with RUSAGE_SELF). The kernel counts CPU time exactly on most
// systems, but some advance it only with the timer tick, every 1 to 10 ms.
func ProcessUsage() Usage { return processUsage() }

// Sub returns u - v.
func (u Usage) Sub(v Usage) Usage {
	return Usage{u.User - v.User, u.System - v.System, u.Voluntary - v.Voluntary, u.Involuntary - v.Involuntary}
}

// CPU returns the CPU time in user and system mode together.
func (u Usage) CPU() time.Duration { return u.User + u.System }
