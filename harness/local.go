package harness

import (
	"cmp"
	"sync"
	"time"
)

// Setup has the parameters of a Local constructor.
type Setup struct {
	Workers int        // how many workers will call Local.Worker; at least 1
	Wait    WaitPolicy // how a waiter waits, for locks that claim Traits.FollowsWait; WaitAdaptive for others
	Pin     Pin        // how workers are bound, and so how a waiter yields its processor

	// Nodes[i] is the node of the machine that worker i stays on. A node is the
	// processors that share a last-level cache; nodes are numbered from 0. Nodes is
	// nil if the workers are not bound to processors, or all to one node. The lock
	// must be correct wherever they run.
	Nodes []int
}

// A Local is a lock inside one process.
type Local interface {
	// Worker returns worker i's own handle, 0 <= i < Setup.Workers. The handle has
	// the algorithm's per-worker state, such as a queue node. A worker calls Worker
	// once and uses its handle from one goroutine at a time. Unlock of a handle that
	// does not hold the lock is undefined.
	Worker(i int) sync.Locker
}

// A TryLocker is a handle that can also take the lock without waiting.
type TryLocker interface {
	// TryLock takes the lock if it is free and reports whether it did.
	TryLock() bool
}

// An RWLocker is a handle of a lock that lets readers share: any number of them, or one writer
// by Lock. Unlock must not be called for an RLock, nor RUnlock for a Lock.
type RWLocker interface {
	sync.Locker
	RLock()
	RUnlock()
}

// An OptimisticReader is a handle whose readers do not keep writers out. They read between
// ReadBegin and ReadRetry. If ReadRetry returns true, a writer intervened, and the reader
// discards what it read and begins again. Guarded data must be read atomically, word by word.
type OptimisticReader interface {
	sync.Locker
	ReadBegin() (version uint64)
	ReadRetry(version uint64) bool
}

// WaitPolicy is the action of a waiter between two polls of the lock. The zero value is
// WaitAdaptive.
type WaitPolicy string

// The wait policies. The default does not only spin: with more workers than processors, a FIFO
// lock whose waiters never yield stops making progress, because the next owner is not running:
//
//	locklab run --locks ticket,mcs --wait spin,adaptive --workers 8 --hold 0
//
// A goroutine yields its processor to another goroutine by runtime.Gosched. A goroutine
// bound to a thread has to ask the operating system, by sched_yield.
const (
	WaitAdaptive   WaitPolicy = ""            // a few spin hints, then sleep if the lock can wake its waiters, else a yield before each poll
	WaitSpin       WaitPolicy = "spin"        // poll again at once
	WaitPause      WaitPolicy = "pause"       // one spin hint (PAUSE, ISB) between polls, and a yield now and then
	WaitYield      WaitPolicy = "yield"       // runtime.Gosched between polls
	WaitSchedYield WaitPolicy = "sched-yield" // sched_yield(2) between polls; runtime.Gosched on systems without it
	WaitPark       WaitPolicy = "park"        // sleep until woken; a lock that cannot wake its waiters yields instead, and reports that
)

// String returns the policy's name; "adaptive" for the zero value.
func (p WaitPolicy) String() string { return cmp.Or(string(p), "adaptive") }

// Shared makes a Local of a lock that keeps nothing per worker: every worker
// gets the lock itself.
func Shared(l sync.Locker) Local { return shared{l} }

type shared struct{ l sync.Locker }

func (s shared) Worker(int) sync.Locker { return s.l }

// Handles makes a Local of a lock whose workers have handles of their own type.
func Handles[H sync.Locker](l interface{ Worker(i int) H }) Local { return handles[H]{l} }

type handles[H sync.Locker] struct{ l interface{ Worker(i int) H } }

func (h handles[H]) Worker(i int) sync.Locker { return h.l.Worker(i) }

// A LoopLog records the work of the workers of a [Variant.Loop]. Times are ns since Began.
type LoopLog struct {
	Began        time.Time
	Open, Close  int64   // the window
	Acquisitions []Hold  // in and around the window, in any order
	Wire         *Counts // in the window; nil if it was not counted
}
