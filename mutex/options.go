package mutex

import (
	"sync"

	"locklab/internal/waiting"
)

// Options configures the waiters of a lock. The zero value suits plain goroutines.
//
// A constructor panics if workers is less than one or an option has no meaning. A Worker
// method panics if there is no worker of that number. The locks that need no constructor
// have fields Wait and Pin, and panic when a goroutine first waits.
type Options struct {
	// Wait is the policy between two polls of the lock. The zero value is WaitAdaptive.
	// The documentation of each lock names the policies that matter to it.
	Wait WaitPolicy

	// Pin is the goroutines' binding to threads: it decides how a waiter yields. Zero is PinNone.
	Pin Pin
}

// A WaitPolicy is a waiter's behaviour between two polls, as in package spinlock.
type WaitPolicy = waiting.Policy

// The wait policies. A plain goroutine yields its processor with runtime.Gosched; a
// goroutine locked to a thread needs sched_yield of the operating system.
const (
	WaitAdaptive   = waiting.Adaptive   // a few spin hints, then yield before each poll
	WaitSpin       = waiting.Spin       // poll again at once
	WaitPause      = waiting.Pause      // one spin hint (PAUSE, ISB) between polls, and a yield now and then
	WaitYield      = waiting.Yield      // runtime.Gosched between polls
	WaitSchedYield = waiting.SchedYield // sched_yield(2) between polls; runtime.Gosched on systems without it
	WaitPark       = waiting.Park       // sleep until woken; yield in a lock that cannot wake its waiters
)

// A Pin is how goroutines are bound to threads, as in package spinlock.
type Pin = waiting.Pin

const (
	PinNone   = waiting.PinNone   // plain goroutines
	PinThread = waiting.PinThread // each locked to its thread by runtime.LockOSThread
	PinCPU    = waiting.PinCPU    // each locked to its thread, which is bound to one processor
)

// An RWLocker is a lock that readers share, such as [sync.RWMutex] and [PhaseFair].
type RWLocker interface {
	sync.Locker
	RLock()
	RUnlock()
}

func (o Options) check(workers int) { waiting.Check(workers, o.Wait, o.Pin) }
