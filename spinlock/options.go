package spinlock

import "locklab/internal/waiting"

// Options says how the waiters of a lock wait. The zero value suits plain
// goroutines.
//
// A constructor panics if it is asked for fewer than one worker, or if an option
// has no meaning; a Worker method panics if there is no worker of that number.
// The locks that need no constructor have fields Wait and Pin, and panic when a
// goroutine first waits.
type Options struct {
	// Wait says what a waiter does between two polls of the lock. The zero value
	// is WaitAdaptive.
	Wait WaitPolicy

	// Pin says how the goroutines that use the lock are bound to threads, which
	// decides how a waiter gives its processor up. The zero value is PinNone.
	Pin Pin

	// Nodes[i] is the node of the machine that worker i stays on: processors that
	// share a last-level cache, numbered from 0. It has an element for each worker,
	// or is nil: then all are on one node. Only Cohort uses it.
	Nodes []int
}

// A WaitPolicy says what a waiter does between two polls of the lock. Package
// mutex has the same type.
type WaitPolicy = waiting.Policy

// The wait policies. A goroutine lets another goroutine have its processor by
// runtime.Gosched; a goroutine that is locked to a thread has to ask the operating
// system, by sched_yield.
//
// The default does not only spin, because a lock that serves in order of arrival
// and whose waiters never yield comes to a standstill as soon as there are more
// workers than processors: the next owner is not running.
const (
	WaitAdaptive   = waiting.Adaptive   // a few spin hints, then sleep if the lock can wake its waiters, else yield before each poll
	WaitSpin       = waiting.Spin       // poll again at once
	WaitPause      = waiting.Pause      // one spin hint (PAUSE, ISB) between polls, and a yield now and then
	WaitYield      = waiting.Yield      // runtime.Gosched between polls
	WaitSchedYield = waiting.SchedYield // sched_yield(2) between polls; runtime.Gosched where there is none
	WaitPark       = waiting.Park       // sleep until woken; yield in a lock that cannot wake its waiters
)

// A Pin says how the goroutines that use a lock are bound to threads. Package
// mutex has the same type.
type Pin = waiting.Pin

// The ways to be bound.
const (
	PinNone   = waiting.PinNone   // plain goroutines
	PinThread = waiting.PinThread // each locked to its thread, by runtime.LockOSThread
	PinCPU    = waiting.PinCPU    // each locked to its thread, and that bound to one processor
)

// check panics if a lock cannot be made of these.
func (o Options) check(workers int) { waiting.Check(workers, o.Wait, o.Pin) }

// sleeper begins a wait in a lock that can wake its waiters.
func (o Options) sleeper(workers int) waiting.Waiter {
	o.check(workers)
	return waiting.NewSleeper(workers, o.Wait, o.Pin)
}
