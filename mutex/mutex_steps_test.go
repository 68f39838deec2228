package mutex

import (
	"slices"
	"sync"
	"testing"
	"time"
)

// waiters starts n goroutines that lock m one after the other, and release it by release. The
// returned function waits for them and returns the order in which they had the lock.
func waiters(t *testing.T, m *Mutex, n int, release func()) (served func() []int) {
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
		until(t, func() bool { s := m.state.Load(); return s/mutexWaiting == before+1 && s&mutexQueue == 0 })
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

// requireFree checks that m has no holder, no waiter and no woken waiter.
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
		served := waiters(t, &m, 5, release)
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
	served := waiters(t, &m, 1, func() { <-stay; m.Unlock() })
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

// TestMutexWakesOne: a release wakes no second waiter, but a handover does.
func TestMutexWakesOne(t *testing.T) {
	for _, due := range []bool{false, true} {
		var m Mutex
		m.Lock()
		served := waiters(t, &m, 2, m.Unlock)
		m.state.Add(mutexWoken) // as if a third one was on its way
		m.release(due)
		if due {
			until(t, func() bool { return m.state.Load() == mutexWoken+mutexWaiting })
		}
		if s, want := m.state.Load(), map[bool]uint32{false: mutexWoken + 2*mutexWaiting, true: mutexWoken + mutexWaiting}[due]; s != want {
			t.Errorf("due=%t: state after the release is %#x, want %#x", due, s, want)
		}
		if m.pass() { // the third one gives up
			m.Unlock()
		}
		served()
		requireFree(t, &m)
	}
}

// TestMutexWokenWaiterStaysFirst: a woken waiter that finds the lock taken goes to the front.
func TestMutexWokenWaiterStaysFirst(t *testing.T) {
	var m Mutex
	m.Lock()
	served := waiters(t, &m, 3, m.Unlock)
	w := m.first
	w.since, w.wakes = -time.Hour, mutexWakes
	// The woken waiter joins again: these are its steps and the release before.
	m.state.Add(mutexWoken | mutexQueue)
	m.remove(w)
	if !m.join(w, mutexWoken) {
		t.Fatal("the woken waiter took a lock that is held")
	}
	if s := m.state.Load(); s != mutexBusy+3*mutexWaiting || m.first != w {
		t.Errorf("state %#x, want held with 3 waiters and a handover to come; the woken waiter is first: %t", s, m.first == w)
	}
	m.Unlock()
	if got := served(); !slices.Equal(got, []int{0, 1, 2}) {
		t.Errorf("served in the order %v, want 0, 1, 2", got)
	}
	requireFree(t, &m)
}

// TestMutexLeave takes each of three waiters out of the list once.
func TestMutexLeave(t *testing.T) {
	for i := range 3 {
		var m Mutex
		m.state.Store(mutexHeld)
		ws := []*mutexWaiter{{}, {}, {}}
		for _, w := range ws {
			m.join(w, 0)
		}
		if !m.leave(ws[i]) || m.leave(ws[i]) {
			t.Errorf("waiter %d: the first leave must take it out of the list, the second must not", i)
		}
		ws = slices.Delete(ws, i, i+1)
		if s := m.state.Load(); s != mutexHeld+2*mutexWaiting {
			t.Errorf("waiter %d left: state %#x, want held with 2 waiters", i, s)
		}
		for _, w := range ws {
			if m.first != w || !m.leave(w) {
				t.Errorf("waiter %d left: the others are out of order", i)
			}
		}
		m.Unlock()
		requireFree(t, &m)
	}
}

// TestMutexAwaitsPermit: a cancelled waiter takes the permit that is on its way.
func TestMutexAwaitsPermit(t *testing.T) {
	var m Mutex
	m.Lock()
	done, returned := make(chan struct{}), make(chan bool)
	go func() { returned <- m.lockSlow(done) }()
	until(t, func() bool { return m.state.Load() == mutexHeld+mutexWaiting })
	m.state.Add(mutexWoken | mutexQueue)
	w := m.first
	close(done)
	m.remove(w)
	select {
	case <-returned:
		t.Fatal("the waiter returned before its permit came")
	case <-time.After(20 * time.Millisecond):
	}
	w.parker.Unpark()
	if <-returned {
		t.Error("the waiter took a lock that is held")
	}
	m.Unlock()
	requireFree(t, &m)
}

// TestMutexWokenWaiterGivesUp: a cancelled woken waiter takes a free lock: no other is woken.
func TestMutexWokenWaiterGivesUp(t *testing.T) {
	for _, test := range []struct {
		before, after uint32
		took          bool
	}{
		{mutexWoken + mutexWaiting, mutexHeld + mutexWaiting, true},
		{mutexHeld + mutexWoken + mutexWaiting, mutexHeld + mutexWaiting, false},
	} {
		var m Mutex
		m.state.Store(test.before)
		if took := m.pass(); took != test.took || m.state.Load()&^mutexHandover != test.after {
			t.Errorf("state %#x: took the lock: %t, and left %#x, want %t and %#x", test.before, took, m.state.Load(), test.took, test.after)
		}
	}
}
