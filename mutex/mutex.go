package mutex

import (
	"context"

	"locklab/atomics"
)

// Mutex is a lock that a program can use in place of a [sync.Mutex]. The zero value is
// free. A goroutine that runs takes a free lock before the waiters. But a release hands
// the lock to the longest waiter if the last such handover was a while ago: 1 ms divided
// by the number of waiters. So no waiter starves.
//
// # Trade-offs
//
// A goroutine that takes the lock again needs no switch of goroutines, so this is fast;
// the handovers make it fair. sync.Mutex hands over too, but once a waiter has waited for
// 1 ms it hands over at each release until a waiter has waited less. This lock hands over
// once in a while, and n waiters wait for 1 ms, n handovers and n critical sections at
// most, apart from the scheduler's delays. A waiter may give up: see [Mutex.LockContext].
// It is woken by a channel, which costs a little more than the semaphore in the runtime
// that sync.Mutex has.
//
// # Memory ordering
//
// Every change of state is a read-modify-write instruction, so these changes have one
// order. A waiter joins the list only in a state with the held bit, and the Unlock that
// clears this bit finds the waiter in the state. So a free lock with waiters always has
// the woken bit: one waiter has left the list and has yet to take the lock. That waiter
// clears the woken bit when it takes the lock; or it finds the lock held and clears it
// then, so that the next Unlock wakes another one. Therefore no wake-up is lost. The list
// is guarded by the queue bit. After a handover the permit of the waiter's parker is the
// lock.
//
// # References
//
// The state and the rule of one woken waiter: Mike Burrows, nsync,
// https://github.com/google/nsync, internal/mu.c, and internal/sync/mutex.go in the Go
// standard library.
//
// Handovers by time: "eventual fairness" of parking_lot,
// https://docs.rs/parking_lot/latest/parking_lot/type.Mutex.html, after WTF::Lock of
// WebKit, https://webkit.org/blog/6161/locking-in-webkit/.
type Mutex struct {
	state    atomics.Uint32 // mutexHeld, mutexWoken, mutexQueue, and from mutexWaiting the number of waiters
	releases uint16         // releases with waiters; guarded by the lock
	since    uint16         // when the last handover was, in units of mutexClock; guarded by the lock
	first    *mutexWaiter   // the longest waiter, in a ring; guarded by mutexQueue
}

// The parts of Mutex.state.
const (
	mutexHeld    = 1 << iota
	mutexWoken   // a waiter was woken and has yet to take the lock or to join the list again
	mutexQueue   // a goroutine changes the list
	mutexWaiting // one waiter in the list
)

// A waiter polls mutexPolls times, with mutexHints spin hints in between, before it sleeps.
const (
	mutexPolls = 4
	mutexHints = 30
)

// A mutexWaiter is a waiter in the list of one Mutex. Waiters are pooled.
type mutexWaiter struct {
	next, prev *mutexWaiter // nil outside the list
	parker     *atomics.Parker
	granted    bool // the permit is the lock
}

// Lock takes the lock and waits for it if need be.
func (m *Mutex) Lock() {
	if !m.state.CompareAndSwap(0, mutexHeld) {
		m.lockSlow(nil)
	}
}

// TryLock takes the lock if it is free and reports whether it did.
func (m *Mutex) TryLock() bool { return m.take(0) }

// LockContext takes the lock and returns nil, or gives up when ctx ends and returns
// [context.Cause]. It never takes the lock under a context that has already ended. If
// the context ends while the lock becomes free, it may do either.
func (m *Mutex) LockContext(ctx context.Context) error {
	if ctx.Err() != nil || !m.take(0) && !m.lockSlow(ctx.Done()) {
		return context.Cause(ctx)
	}
	return nil
}

// Unlock releases the lock. It panics if the lock is free.
func (m *Mutex) Unlock() {
	if !m.state.CompareAndSwap(mutexHeld, 0) {
		m.unlockSlow()
	}
}

// take takes the lock if it is free. woken is mutexWoken for the woken waiter, else 0.
func (m *Mutex) take(woken uint32) bool {
	s := m.state.Load()
	return s&mutexHeld == 0 && m.state.CompareAndSwap(s, s&^woken|mutexHeld)
}

// lockSlow reports whether it took the lock before done was closed.
func (m *Mutex) lockSlow(done <-chan struct{}) bool {
	if m.poll(0) {
		return true
	}
	w := newMutexWaiter()
	defer w.free()
	for woken := uint32(0); m.join(w, woken); woken = mutexWoken {
		if !w.parker.ParkUntil(done) {
			if m.leave(w) {
				return false
			}
			w.parker.Park() // the permit is on the way
			return w.granted || m.pass()
		}
		if w.granted || m.poll(mutexWoken) {
			return true
		}
	}
	return true
}

// poll tries to take the lock for a while. The holder may be about to leave.
func (m *Mutex) poll(woken uint32) bool {
	for range mutexPolls {
		if m.take(woken) {
			return true
		}
		atomics.SpinHint(mutexHints)
	}
	return false
}

// join puts w into the list and returns true, or takes the lock and returns false. The
// woken waiter is the longest, so it joins at the front.
func (m *Mutex) join(w *mutexWaiter, woken uint32) bool {
	for polls := 0; ; {
		s := m.state.Load()
		switch {
		case s&mutexHeld == 0:
			if m.state.CompareAndSwap(s, s&^woken|mutexHeld) {
				return false
			}
		case s&mutexQueue != 0:
			polls = waitForQueue(polls)
		case m.state.CompareAndSwap(s, (s&^woken|mutexQueue)+mutexWaiting):
			w.granted = false
			m.insert(w)
			if woken != 0 {
				m.first = w
			}
			m.state.Add(^uint32(mutexQueue - 1))
			return true
		}
	}
}

// leave takes w out of the list. It returns false if another goroutine has done so: then
// w has a permit or will have one.
func (m *Mutex) leave(w *mutexWaiter) bool {
	for polls := 0; ; {
		s := m.state.Load()
		switch {
		case s&mutexQueue != 0:
			polls = waitForQueue(polls)
		case m.state.CompareAndSwap(s, s|mutexQueue):
			if w.next == nil {
				m.state.Add(^uint32(mutexQueue - 1))
				return false
			}
			m.remove(w)
			return true
		}
	}
}

// pass ends the turn of the woken waiter, which gives up. It takes the lock if it is free
// and reports whether it did. Otherwise the next Unlock wakes another waiter.
func (m *Mutex) pass() bool {
	for {
		s := m.state.Load()
		free := s&mutexHeld == 0
		if m.state.CompareAndSwap(s, s&^mutexWoken|mutexHeld) {
			return free
		}
	}
}

func (m *Mutex) unlockSlow() { m.release(m.handoverDue()) }

// release hands the lock to the longest waiter if that is due. Otherwise it frees the
// lock, and wakes the longest waiter unless a woken waiter is on its way.
func (m *Mutex) release(due bool) {
	for polls := 0; ; {
		s := m.state.Load()
		switch {
		case s&mutexHeld == 0:
			panic("mutex: Unlock of a Mutex that is not locked")
		case s < mutexWaiting || s&mutexWoken != 0 && !due:
			if m.state.CompareAndSwap(s, s&^mutexHeld) {
				return
			}
		case s&mutexQueue != 0:
			polls = waitForQueue(polls)
		case due:
			if m.state.CompareAndSwap(s, s|mutexQueue) {
				w := m.first
				w.granted = true
				m.remove(w)
				w.parker.Unpark()
				return
			}
		case m.state.CompareAndSwap(s, s&^mutexHeld|mutexWoken|mutexQueue):
			w := m.first
			m.remove(w)
			w.parker.Unpark()
			return
		}
	}
}

// insert puts w at the end of the list. The caller has the queue bit.
func (m *Mutex) insert(w *mutexWaiter) {
	if m.first == nil {
		w.next, w.prev, m.first = w, w, w
		return
	}
	w.next, w.prev = m.first, m.first.prev
	w.prev.next, w.next.prev = w, w
}

// remove takes w out of the list, and gives the queue bit of the caller back.
func (m *Mutex) remove(w *mutexWaiter) {
	if m.first == w {
		m.first = w.next
	}
	if m.first == w {
		m.first = nil
	}
	w.prev.next, w.next.prev = w.next, w.prev
	w.next, w.prev = nil, nil
	m.state.Add(^uint32(mutexQueue + mutexWaiting - 1))
}

// waitForQueue waits for the end of a change of the list, a few instructions long. The
// goroutine in it may have been preempted, so it yields now and then.
func waitForQueue(polls int) int {
	if atomics.SpinHint(1); polls%16 == 15 {
		atomics.Yield()
	}
	return polls + 1
}
