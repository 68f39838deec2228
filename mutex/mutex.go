package mutex

import (
	"context"
	"sync"
	"time"

	"locklab/atomics"
)

// Mutex is a lock that a program can use in place of a [sync.Mutex]. The zero value is free. A
// goroutine that runs may take a free lock before the waiters. But if the last handover was a
// while ago, the release hands the lock to the longest waiter: at most every 1 ms divided by
// the number of waiters, and at most every 15 µs. So no waiter starves.
//
// # Trade-offs
//
// A goroutine that takes the lock again needs no switch of goroutines. The handovers make the
// lock fair, and take at most a twentieth of the time, unless one takes longer than 0.1 ms.
// sync.Mutex hands over at every release, once a waiter has waited for 1 ms and until no waiter
// has. This lock has no such mode: n waiters wait for n critical sections and 1 ms (or n times
// 15 µs, or 20 times their handovers, if that is more). Delays of the scheduler come on top.
// After critical sections have become longer, the holder looks at the clock too late
// for a while: then n waiters wait for n times 4 ms and three critical sections. If other
// programs use the processors, sync.Mutex hardly hands over, and may be a third faster. If
// goroutines are locked to threads, a handover is a switch of threads: then handovers are rare.
//
// A waiter may give up: see [Mutex.LockContext]. Sleep and wake-up use a channel, which
// costs a little more than the semaphore of the runtime. A waiter polls even on one processor,
// or if other goroutines are ready, since only the runtime can check that cheaply.
//
// In a bubble of testing/synctest a goroutine in Lock is not durably blocked, as in a
// sync.Mutex. In LockContext it is, if the context belongs to the bubble, so that timeouts
// pass. While a goroutine of a bubble waits in LockContext, only goroutines of that bubble may
// release the lock: otherwise the Go runtime ends the process.
//
// # Memory ordering
//
// Every change of state is a read-modify-write instruction, so these changes have one order. A
// waiter joins the list only while the lock is busy, and the release finds it in the state. If
// the lock is free and has waiters, then either the woken bit is set, or a goroutine in Unlock
// has yet to look. The woken bit stands for the first waiter in the list, which has a permit of
// its parker and stays there. This waiter clears the bit when it takes the lock, or while the
// lock is busy: then the next release wakes it again. Therefore no wake-up is lost. A handover
// to it clears the bit too: a waiter that has a permit and finds the bit clear has the lock.
// The list is guarded by the queue bit.
//
// # References
//
// The state and the rule of one woken waiter: Mike Burrows, nsync,
// https://github.com/google/nsync, internal/mu.c, and internal/sync/mutex.go in the Go
// standard library.
//
// Handovers by time: "eventual fairness" of parking_lot,
// https://docs.rs/parking_lot/latest/parking_lot/type.Mutex.html, after WTF::Lock of WebKit,
// https://webkit.org/blog/6161/locking-in-webkit/.
type Mutex struct {
	state atomics.Uint32 // the bits below, and from mutexWaiting the number of waiters in the list
	since uint16         // when a handover was last due, in units of mutexClock; guarded by the lock
	skip  uint8          // acquisitions before the next look at the clock; guarded by the lock
	skips uint8          // the value that skip begins with; guarded by the lock

	mutexRing // the waiters; guarded by mutexQueue
}

// The parts of Mutex.state.
const (
	mutexHeld     = 1 << iota
	mutexWoken    // the first waiter was woken, and has yet to take the lock or to sleep again
	mutexQueue    // a goroutine changes the list
	mutexHandover // the release hands the lock over; until it has done so, the lock is not free
	mutexWaiting  // one waiter in the list

	mutexBusy = mutexHeld | mutexHandover
)

// mutexHints is the number of spin hints between the two polls of a waiter, before it sleeps.
const mutexHints = 30

// A mutexWaiter is a waiter in the list of one Mutex or RWMutex. Waiters are pooled.
type mutexWaiter struct {
	next, prev *mutexWaiter // nil outside the list
	parker     *atomics.Parker
	pool       *sync.Pool    // nil if it is not pooled
	since      time.Duration // when the handover to it began; Mutex alone
	late       time.Duration // when it demands a handover, or 0 before the first wake-up in vain; Mutex alone
	granted    bool          // was let in; RWMutex alone
	wakes      uint8         // wake-ups without the lock; RWMutex alone
}

// Lock takes the lock and waits for it if need be.
func (m *Mutex) Lock() {
	if !m.state.CompareAndSwap(0, mutexHeld) {
		m.lockSlow(nil)
	}
}

// TryLock takes the lock if it is free and reports whether it did.
func (m *Mutex) TryLock() bool {
	s := m.state.Load()
	if s&mutexBusy != 0 || !m.state.CompareAndSwap(s, s|mutexHeld) {
		return false
	}
	if s >= mutexWaiting && m.handoverDue(s/mutexWaiting) {
		for s = m.state.Load(); !m.state.CompareAndSwap(s, s|mutexHandover); { // the woken waiter may set it too
			s = m.state.Load()
		}
	}
	return true
}

// LockContext takes the lock and returns nil, or gives up when ctx ends and returns
// [context.Cause]. It never takes the lock under a context that had ended before.
func (m *Mutex) LockContext(ctx context.Context) error {
	if ctx.Err() != nil || !m.TryLock() && !m.lockSlow(ctx.Done()) {
		return context.Cause(ctx)
	}
	return nil
}

// Unlock releases the lock. It panics if the lock is free, and may break it if others use it.
func (m *Mutex) Unlock() {
	if s := m.state.Add(^uint32(mutexHeld - 1)); s != 0 {
		m.unlockSlow(s)
	}
}

// lockSlow reports whether it took the lock before done was closed.
func (m *Mutex) lockSlow(done <-chan struct{}) bool {
	if m.TryLock() {
		return true
	}
	atomics.SpinHint(mutexHints) // the holder may be about to leave
	if m.TryLock() {
		return true
	}
	w := newMutexWaiter(done)
	defer w.free()
	w.late = 0
	if !m.join(w) {
		return true
	}
	for w.parker.ParkUntil(done) {
		if m.retry(w) {
			return true
		}
	}
	return m.giveUp(w)
}

// join puts w into the list, or takes the lock and returns false.
func (m *Mutex) join(w *mutexWaiter) bool {
	for polls := 0; ; {
		s := m.state.Load()
		switch {
		case s&mutexBusy == 0:
			if m.TryLock() {
				return false
			}
		case s&mutexQueue != 0:
			polls = waitForQueue(polls)
		case m.state.CompareAndSwap(s, (s|mutexQueue)+mutexWaiting):
			m.insert(w)
			m.state.Add(^uint32(mutexQueue - 1))
			return true
		}
	}
}

// retry ends the turn of w, which had a permit, and reports whether it has the lock. If not, w
// is still the longest waiter, and the next release wakes it again.
func (m *Mutex) retry(w *mutexWaiter) bool {
	for polls := 0; ; {
		s := m.state.Load()
		switch {
		case s&mutexWoken == 0:
			m.putOff(mutexNow() - w.since)
			return true
		case s&mutexQueue != 0:
			polls = waitForQueue(polls)
		case s&mutexBusy == 0:
			if m.state.CompareAndSwap(s, s|mutexHeld|mutexQueue) {
				m.remove(w, mutexWoken)
				return true
			}
		case polls == 0:
			atomics.SpinHint(mutexHints)
			polls++
		case m.state.CompareAndSwap(s, s&^mutexWoken|w.demand()):
			return false
		}
	}
}

// demand returns mutexHandover if w has been woken in vain for mutexPatience, otherwise 0.
func (w *mutexWaiter) demand() uint32 {
	now := mutexNow()
	if w.late == 0 {
		w.late = now + mutexPatience
	}
	if now < w.late && !bubbled() { // the clock of a bubble stands still
		return 0
	}
	return mutexHandover
}

// giveUp takes w out of the list and returns false, or returns true if w has got the lock.
func (m *Mutex) giveUp(w *mutexWaiter) bool {
	for polls := 0; ; {
		s := m.state.Load()
		if s&mutexQueue != 0 {
			polls = waitForQueue(polls)
		} else if m.state.CompareAndSwap(s, s|mutexQueue) {
			if w.next != nil && (s&mutexWoken == 0 || m.first != w) {
				m.remove(w, 0)
				return false
			}
			m.state.Add(^uint32(mutexQueue - 1))
			w.parker.Park() // the permit is on the way
			if m.retry(w) {
				return true
			}
		}
	}
}

// unlockSlow ends a release that left the state s: it hands the lock over if that is due, or
// wakes the longest waiter, unless one is on its way or another goroutine has the lock.
func (m *Mutex) unlockSlow(s uint32) {
	if s&mutexHeld != 0 {
		m.state.Add(mutexHeld)
		panic("mutex: Unlock of a Mutex that is not locked")
	}
	if s&mutexHandover != 0 {
		m.handOver()
		return
	}
	for polls := 0; s >= mutexWaiting && s&(mutexBusy|mutexWoken) == 0; s = m.state.Load() {
		if s&mutexQueue != 0 {
			polls = waitForQueue(polls)
		} else if m.state.CompareAndSwap(s, s|mutexWoken|mutexQueue) {
			w := m.first
			m.state.Add(^uint32(mutexQueue - 1))
			w.parker.Unpark()
			return
		}
	}
}

// handOver gives the lock to the longest waiter. If all have given up it frees the lock.
func (m *Mutex) handOver() {
	for polls := 0; ; {
		s := m.state.Load()
		switch {
		case s < mutexWaiting:
			if m.state.CompareAndSwap(s, s&^mutexHandover) {
				return
			}
		case s&mutexQueue != 0:
			polls = waitForQueue(polls)
		case m.state.CompareAndSwap(s, s&^mutexHandover|mutexHeld|mutexQueue):
			w := m.first
			w.since = mutexNow()
			m.remove(w, s&mutexWoken)
			if s&mutexWoken == 0 {
				w.parker.Unpark()
			}
			return
		}
	}
}

// remove takes w out of the list, and the queue bit and woken, which is mutexWoken or 0, out
// of the state.
func (m *Mutex) remove(w *mutexWaiter, woken uint32) {
	m.drop(w)
	m.state.Add(^(mutexQueue + mutexWaiting + woken - 1))
}

type mutexRing struct{ first *mutexWaiter } // the longest waiter

func (r *mutexRing) insert(w *mutexWaiter) {
	if r.first == nil {
		w.next, w.prev, r.first = w, w, w
		return
	}
	w.next, w.prev = r.first, r.first.prev
	w.prev.next, w.next.prev = w, w
}

func (r *mutexRing) drop(w *mutexWaiter) {
	if r.first == w {
		r.first = w.next
	}
	if r.first == w {
		r.first = nil
	}
	w.prev.next, w.next.prev = w.next, w.prev
	w.next, w.prev = nil, nil
}

// waitForQueue waits for the end of a short change of the list, which may be preempted.
func waitForQueue(polls int) int {
	if atomics.SpinHint(1); polls%16 == 15 {
		atomics.Yield()
	}
	return polls + 1
}
