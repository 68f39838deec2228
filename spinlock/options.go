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

	// Pin is the goroutines' binding to threads: it decides how a waiter yields. Zero is PinNone.
	Pin Pin

	// Nodes[i] is the node on which worker i stays: the processors that share a last-level
	// cache, numbered from 0. If nil, all workers are on one node. Only Cohort uses it.
	Nodes []int
}

// A WaitPolicy is a waiter's behaviour between two polls, as in package mutex.
type WaitPolicy = waiting.Policy

// The wait policies. A plain goroutine yields its processor with runtime.Gosched; a goroutine
// locked to a thread needs sched_yield of the operating system.
//
// A lock in order of arrival whose waiters never yield comes to a standstill with more workers
// than processors: the next owner is not running.
const (
	WaitAdaptive   = waiting.Adaptive   // a few spin hints, then sleep if the lock can wake its waiters, else yield before each poll
	WaitSpin       = waiting.Spin       // poll again at once
	WaitPause      = waiting.Pause      // one spin hint (PAUSE, ISB) between polls, and a yield now and then
	WaitYield      = waiting.Yield      // runtime.Gosched between polls
	WaitSchedYield = waiting.SchedYield // sched_yield(2) between polls; runtime.Gosched on systems without it
	WaitPark       = waiting.Park       // sleep until woken; yield in a lock that cannot wake its waiters
)

// A Pin is how goroutines are bound to threads, as in package mutex.
type Pin = waiting.Pin

const (
	PinNone   = waiting.PinNone   // plain goroutines
	PinThread = waiting.PinThread // each locked to its thread by runtime.LockOSThread
	PinCPU    = waiting.PinCPU    // each locked to its thread, which is bound to one processor
)

func (o Options) check(workers int) { waiting.Check(workers, o.Wait, o.Pin) }

func (o Options) sleeper(workers int) waiting.Waiter {
	o.check(workers)
	return waiting.NewSleeper(workers, o.Wait, o.Pin)
}
