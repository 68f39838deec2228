package mutex

import "locklab/atomics"

// rLockSlow reports whether it took the lock before done was closed.
func (l *RWMutex) rLockSlow(done <-chan struct{}) bool {
	if l.takePlace() {
		return true
	}
	for range rwPolls * l.spread.Load() {
		atomics.SpinHint(rwHints)
		if l.TryRLock() || l.takePlace() {
			return true
		}
	}
	w := newMutexWaiter(done)
	defer w.free()
	for w.wakes = 0; l.join(w); w.wakes++ {
		woken := w.parker.ParkUntil(done)
		if !woken {
			if l.leave(w) {
				return false
			}
			w.parker.Park() // the permit is on the way
		}
		if w.wakes == rwLosses || l.takePlace() {
			return true
		}
		if !woken {
			return false
		}
	}
	return true
}

// takePlace makes the caller a reader inside in place of one that was let in and has yet to run.
func (l *RWMutex) takePlace() bool {
	for n := l.places.Load(); n != 0; n = l.places.Load() {
		if l.places.CompareAndSwap(n, n-1) {
			return true
		}
	}
	return false
}

// join puts w into the list, or takes the lock and returns false if there is no writer.
func (l *RWMutex) join(w *mutexWaiter) bool {
	if l.lockList()&rwWriter == 0 {
		l.enter(1, rwQueue)
		return false
	}
	w.granted = false
	l.waiters.insert(w)
	l.state.Add(^uint64(rwQueue - rwWaiting - 1))
	return true
}

// enter counts n more readers inside, and then takes parts, rwQueue among them, off the state.
func (l *RWMutex) enter(n uint32, parts uint64) {
	if l.spread.Load() == 0 {
		parts -= uint64(n) * rwInside
	} else { // they leave on slots, so the first slot would overflow
		l.slot().Add(n)
	}
	l.state.Add(-parts)
}

// leave takes w out of the list, or returns false if w has a permit or will have one.
func (l *RWMutex) leave(w *mutexWaiter) bool {
	l.lockList()
	if w.granted {
		l.state.Add(^uint64(rwQueue - 1))
		return false
	}
	l.waiters.drop(w)
	l.state.Add(^uint64(rwQueue + rwWaiting - 1))
	return true
}

func (l *RWMutex) lockList() uint64 {
	for polls := 0; ; {
		s := l.state.Load()
		if s&rwQueue != 0 {
			polls = waitForQueue(polls)
		} else if l.state.CompareAndSwap(s, s|rwQueue) {
			return s
		}
	}
}

// admit clears the writer bit, and lets in the readers in the list.
func (l *RWMutex) admit() {
	s := l.lockList()
	if s&rwWriter == 0 {
		l.state.Add(^uint64(rwQueue - 1))
		panic("mutex: Unlock of an RWMutex that is not locked")
	}
	n := uint32(s % rwQueue / rwWaiting)
	places, w := uint32(0), l.waiters.first
	for range n {
		if w.granted = true; w.wakes < rwLosses {
			places++
		}
		w = w.next
	}
	l.waiters.first = nil
	l.enter(n, uint64(n)*rwWaiting+rwQueue+rwWriter)
	l.places.Add(places)
	for range n {
		next := w.next
		w.next, w.prev = nil, nil
		w.parker.Unpark()
		w = next
	}
}
