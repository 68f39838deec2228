package harness

import "sync"

// Setup is what a Local constructor may need to know.
type Setup struct {
	Workers int        // how many workers will call Local.Worker; at least 1
	Wait    WaitPolicy // how a waiter waits, for locks that poll
}

// A Local is a lock inside one process.
type Local interface {
	// Worker returns worker i's own handle, 0 <= i < Setup.Workers. The
	// handle holds what the algorithm keeps per worker, such as a queue node.
	// A worker asks once and uses its handle from one goroutine at a time.
	// Unlock of a handle that does not hold the lock is undefined.
	Worker(i int) sync.Locker
}

// A TryLocker is a handle that can also take the lock without waiting.
type TryLocker interface {
	// TryLock takes the lock if it is free and reports whether it did.
	TryLock() bool
}

// Shared makes a Local of a lock that keeps nothing per worker: every worker
// gets the lock itself.
func Shared(l sync.Locker) Local { return shared{l} }

type shared struct{ l sync.Locker }

func (s shared) Worker(int) sync.Locker { return s.l }

// WaitPolicy says what a polling waiter does between two looks at the lock.
// The zero value is WaitAdaptive.
type WaitPolicy string

// The wait policies. Why the default yields: on plain goroutines a FIFO lock
// whose waiters never do comes to a standstill as soon as there are more
// workers than processors, because the next owner is not running. With 8
// workers on 2 processors ticket and mcs made at most 30 turns a second instead
// of half a million:
//
//	locklab run --locks ticket,mcs --wait busy,adaptive --workers 8 --hold 0
const (
	WaitAdaptive WaitPolicy = ""      // a few spin hints, then runtime.Gosched before each look
	WaitBusy     WaitPolicy = "busy"  // look again at once
	WaitPause    WaitPolicy = "pause" // one spin hint (PAUSE, ISB) between looks
	WaitYield    WaitPolicy = "yield" // runtime.Gosched between looks
)

// WaitPolicies lists every policy, default first.
var WaitPolicies = []WaitPolicy{WaitAdaptive, WaitBusy, WaitPause, WaitYield}

// String returns the policy's name; "adaptive" for the zero value.
func (p WaitPolicy) String() string {
	if p == WaitAdaptive {
		return "adaptive"
	}
	return string(p)
}
