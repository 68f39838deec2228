package spinlock

import "locklab/internal/waiting"

// Options configures the waiters of a lock. The zero value suits plain goroutines.
//
// A constructor panics if workers is less than one or an option has no meaning. A Worker
// method panics if there is no worker of that number. The locks that need no constructor
// have fields Wait and Pin, and panic when a goroutine first waits.
type Options struct {
	// Wait is the policy between two polls of the lock. The zero value is WaitAdaptive.
	Wait WaitPolicy

	// Pin is how the goroutines that use the lock are bound to threads. It decides how a
	// waiter yields its processor. The zero value is PinNone.
	Pin Pin

	// Nodes[i] is the node of the machine on which worker i stays. A node is the
	// processors that share a last-level cache, numbered from 0. Nodes has an element for
	// each worker, or is nil: then all workers are on one node. Only Cohort uses it.
	Nodes []int
}

// A WaitPolicy is what a waiter does between two polls of the lock. Package mutex has the
// same type.
type WaitPolicy = waiting.Policy

// The wait policies. A plain goroutine yields its processor with runtime.Gosched; a
// goroutine locked to a thread needs sched_yield of the operating system.
//
// The default does not only spin. A lock that serves in order of arrival and whose
// waiters never yield comes to a standstill with more workers than processors: the next
// owner is not running.
const (
	WaitAdaptive   = waiting.Adaptive   // a few spin hints, then sleep if the lock can wake its waiters, else yield before each poll
	WaitSpin       = waiting.Spin       // poll again at once
	WaitPause      = waiting.Pause      // one spin hint (PAUSE, ISB) between polls, and a yield now and then
	WaitYield      = waiting.Yield      // runtime.Gosched between polls
	WaitSchedYield = waiting.SchedYield // sched_yield(2) between polls; runtime.Gosched on systems without it
	WaitPark       = waiting.Park       // sleep until woken; yield in a lock that cannot wake its waiters
)

// A Pin is how the goroutines that use a lock are bound to threads. Package mutex has the
// same type.
type Pin = waiting.Pin

const (
	PinNone   = waiting.PinNone   // plain goroutines
	PinThread = waiting.PinThread // each locked to its thread by runtime.LockOSThread
	PinCPU    = waiting.PinCPU    // each locked to its thread, which is bound to one processor
)

func (o Options) check(workers int) { waiting.Check(workers, o.Wait, o.Pin) }

// sleeper returns the start of a wait in a lock that can wake its waiters.
func (o Options) sleeper(workers int) waiting.Waiter {
	o.check(workers)
	return waiting.NewSleeper(workers, o.Wait, o.Pin)
}
