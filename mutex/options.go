package mutex

import (
	"sync"

	"locklab/internal/waiting"
)

// Options says how the waiters of a lock wait. The zero value suits plain
// goroutines.
//
// A constructor panics if it is asked for fewer than one worker, or if an option
// has no meaning; a Worker method panics if there is no worker of that number.
// The locks that need no constructor have fields Wait and Pin, and panic when a
// goroutine first waits.
type Options struct {
	// Wait says what a waiter does between two polls of the lock. The zero value
	// is WaitAdaptive. Each lock says which policies matter to it.
	Wait WaitPolicy

	// Pin says how the goroutines that use the lock are bound to threads, which
	// decides how a waiter gives its processor up. The zero value is PinNone.
	Pin Pin
}

// A WaitPolicy says what a waiter does between two polls of the lock. Package
// spinlock has the same type.
type WaitPolicy = waiting.Policy

// The wait policies. A goroutine lets another goroutine have its processor by
// runtime.Gosched; a goroutine that is locked to a thread has to ask the operating
// system, by sched_yield.
const (
	WaitAdaptive   = waiting.Adaptive   // a few spin hints, then yield before each poll
	WaitSpin       = waiting.Spin       // poll again at once
	WaitPause      = waiting.Pause      // one spin hint (PAUSE, ISB) between polls, and a yield now and then
	WaitYield      = waiting.Yield      // runtime.Gosched between polls
	WaitSchedYield = waiting.SchedYield // sched_yield(2) between polls; runtime.Gosched where there is none
	WaitPark       = waiting.Park       // sleep until woken; yield in a lock that cannot wake its waiters
)

// A Pin says how the goroutines that use a lock are bound to threads. Package
// spinlock has the same type.
type Pin = waiting.Pin

// The ways to be bound.
const (
	PinNone   = waiting.PinNone   // plain goroutines
	PinThread = waiting.PinThread // each locked to its thread, by runtime.LockOSThread
	PinCPU    = waiting.PinCPU    // each locked to its thread, and that bound to one processor
)

// An RWLocker is a lock that readers share: any number of them hold it, or one
// writer does. [sync.RWMutex] and [PhaseFair] are some.
type RWLocker interface {
	sync.Locker
	RLock()
	RUnlock()
}

// check panics if a lock cannot be made of these.
func (o Options) check(workers int) { waiting.Check(workers, o.Wait, o.Pin) }
