package mutex

import (
	"slices"
	"sync"
	"testing"
	"time"
)

// queueWaiters starts n goroutines that lock m one after the other, and release it by release. The
// returned function waits for them and returns the order in which they had the lock.
func queueWaiters(t *testing.T, m *Mutex, n int, release func()) (served func() []int) {
	t.Helper()
	var order []int // guarded by m
	var wg sync.WaitGroup
	for i := range n {
		before := m.state.Load() / mutexWaiting
		wg.Go(func() {
			m.Lock()
			order = append(order, i)
			release()
		})
		waitUntil(t, func() bool { s := m.state.Load(); return s/mutexWaiting == before+1 && s&mutexQueue == 0 })
	}
	return func() []int { wg.Wait(); return order }
}

// release releases m, by a handover if due is true.
func (m *Mutex) release(due bool) {
	for {
		s := m.state.Load()
		n := s &^ mutexHandover
		if due {
			n |= mutexHandover
		}
		if m.state.CompareAndSwap(s, n) {
			m.Unlock()
			return
		}
	}
}

func requireFree(t *testing.T, m *Mutex) {
	t.Helper()
	if m.state.Load() != 0 || m.first != nil {
		t.Errorf("free lock: state %#x, first waiter %v, want 0 and none", m.state.Load(), m.first)
	}
}

// TestMutexServesLongestFirst releases by handovers, by wake-ups, and by both in turn.
func TestMutexServesLongestFirst(t *testing.T) {
	for name, due := range map[string]func(k int) bool{
		"handovers": func(int) bool { return true },
		"wake-ups":  func(int) bool { return false },
		"both":      func(k int) bool { return k%2 == 0 },
	} {
		var m Mutex
		var k int // guarded by m
		release := func() { k++; m.release(due(k)) }
		m.Lock()
		served := queueWaiters(t, &m, 5, release)
		release()
		if got := served(); !slices.Equal(got, []int{0, 1, 2, 3, 4}) {
			t.Errorf("%s: waiters 0 to 4 came in this order, and were served in the order %v", name, got)
		}
		requireFree(t, &m)
	}
}

// TestMutexHandsOver: during a handover no other goroutine can take the lock.
func TestMutexHandsOver(t *testing.T) {
	var m Mutex
	m.Lock()
	stay := make(chan struct{})
	served := queueWaiters(t, &m, 1, func() { <-stay; m.Unlock() })
	m.release(true)
	if s := m.state.Load(); s != mutexHeld {
		t.Errorf("state after the handover is %#x, want held", s)
	}
	if m.TryLock() {
		t.Error("TryLock took a lock that was handed over")
	}
	close(stay)
	served()
	requireFree(t, &m)
}

// TestMutexWakesOne: while a waiter is on its way, a release wakes no other, and a handover is to it.
func TestMutexWakesOne(t *testing.T) {
	for due, want := range map[bool]uint32{false: mutexWoken + 2*mutexWaiting, true: mutexHeld + mutexWaiting} {
		var m Mutex
		m.Lock()
		served := queueWaiters(t, &m, 2, m.Unlock)
		w := m.first
		m.state.Add(mutexWoken)
		m.release(due)
		time.Sleep(10 * time.Millisecond) // for a permit that wrongly comes
		if s := m.state.Load(); s != want || (m.first == w) == due {
			t.Errorf("due=%t: state after the release is %#x, want %#x; first is the woken waiter: %t", due, s, want, m.first == w)
		}
		w.parker.Unpark()
		if order := served(); !slices.Equal(order, []int{0, 1}) {
			t.Errorf("due=%t: served in the order %v, want 0, 1", due, order)
		}
		requireFree(t, &m)
	}
}

// TestMutexWokenWaiterStaysFirst: a woken waiter that finds the lock taken stays the first. It
// demands a handover if it has been woken in vain for long, but not at the first time.
func TestMutexWokenWaiterStaysFirst(t *testing.T) {
	var m Mutex
	m.Lock()
	served := queueWaiters(t, &m, 3, m.Unlock)
	w := m.first
	m.state.Add(mutexWoken)
	w.parker.Unpark()
	waitUntil(t, func() bool { return m.state.Load() == mutexHeld+3*mutexWaiting })
	if m.first != w {
		t.Error("the woken waiter is not the first")
	}
	w.late = -1
	m.state.Add(mutexWoken)
	w.parker.Unpark()
	waitUntil(t, func() bool { return m.state.Load() == mutexBusy+3*mutexWaiting })
	m.Unlock()
	if got := served(); !slices.Equal(got, []int{0, 1, 2}) {
		t.Errorf("served in the order %v, want 0, 1, 2", got)
	}
	requireFree(t, &m)
}

// TestMutexGiveUp takes each of three waiters out of the list. The second and the third leave while the first is woken.
func TestMutexGiveUp(t *testing.T) {
	for i := range 3 {
		var m Mutex
		m.state.Store(mutexHeld)
		ws := []*mutexWaiter{{}, {}, {}}
		for _, w := range ws {
			m.join(w)
		}
		woken := uint32(min(i, 1) * mutexWoken)
		m.state.Add(woken)
		if m.giveUp(ws[i]) {
			t.Errorf("waiter %d gives up and has the lock", i)
		}
		ws = slices.Delete(ws, i, i+1)
		if s := m.state.Add(-woken); s != mutexHeld+2*mutexWaiting {
			t.Errorf("waiter %d left: state %#x, want held with 2 waiters", i, s)
		}
		for _, w := range ws {
			if m.first != w || m.giveUp(w) {
				t.Errorf("waiter %d left: the others are out of order", i)
			}
		}
		m.Unlock()
		requireFree(t, &m)
	}
}

// TestMutexAwaitsPermit: a cancelled waiter that was woken takes its permit. Then it takes the
// lock if that is free, since no other waiter is woken, and leaves it otherwise.
func TestMutexAwaitsPermit(t *testing.T) {
	for _, free := range []bool{false, true} {
		var m Mutex
		m.Lock()
		done, returned := make(chan struct{}), make(chan bool)
		go func() { returned <- m.lockSlow(done) }()
		waitUntil(t, func() bool { return m.state.Load() == mutexHeld+mutexWaiting })
		m.state.Add(mutexWoken)
		w := m.first
		if free {
			m.Unlock()
		}
		close(done)
		requireWait(t, returned)
		w.parker.Unpark()
		if took := <-returned; took != free || m.state.Load() != mutexHeld {
			t.Errorf("free=%t: took the lock: %t, state %#x, want held", free, took, m.state.Load())
		}
		m.Unlock()
		requireFree(t, &m)
	}
}
