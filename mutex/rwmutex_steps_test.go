package mutex

import (
	"context"
	"sync"
	"testing"
	"time"
	"unsafe"

	"locklab/atomics"
	"locklab/harness/locktest"
)

func spreadRW(n int) *RWMutex {
	l := &RWMutex{slots: make([]rwSlot, n)}
	l.spread.Store(1)
	return l
}

func TestRWSlotIsLine(t *testing.T) {
	if size := unsafe.Sizeof(rwSlot{}); size != atomics.CacheLine {
		t.Errorf("a slot has %d bytes, want %d", size, atomics.CacheLine)
	}
}

// TestRWMutexSpreads counts collisions of readers up to the bound.
func TestRWMutexSpreads(t *testing.T) {
	var l RWMutex
	l.state.Store(2 * rwInside)
	most := int(rwCollisions / rwCollision)
	for i := range most {
		if l.entered(2); l.slots != nil { // the second reader
			t.Fatalf("slots after %d collisions, want %d", i, most)
		}
		l.entered(3) // a third one, and one of the others leaves
	}
	if len(l.slots) != rwSlots() || l.spread.Load() != 1 {
		t.Fatalf("%d slots after %d collisions, spread %d, want %d and 1", len(l.slots), most, l.spread.Load(), rwSlots())
	}
	slots := &l.slots[0]
	l.collide()
	if &l.slots[0] != slots {
		t.Error("a later collision made new slots")
	}
	l.RLock()
	if n := l.state.Load() % rwWaiting; n != 2 {
		t.Errorf("%d readers on the first slot, want 2: the third one has another slot", n)
	}
	for range 3 { // on another slot than RLock
		if l.TryLock() {
			t.Fatal("a writer beside a reader")
		}
		l.RUnlock()
	}
	if !l.TryLock() {
		t.Error("no writer in a free lock")
	}
}

// TestRWMutexWriterSpreads: a writer that is inside at the last collision makes the slots.
func TestRWMutexWriterSpreads(t *testing.T) {
	var l RWMutex
	l.Lock()
	for range rwCollisions / rwCollision {
		l.collide()
	}
	if l.slots != nil {
		t.Error("a reader made slots beside a writer")
	}
	l.Unlock()
	if l.slots == nil || l.spread.Load() != 1 {
		t.Errorf("after the writer: %d slots, spread %d, want slots and 1", len(l.slots), l.spread.Load())
	}
}

// TestRWMutexSumsAllSlots puts a reader on each slot in turn.
func TestRWMutexSumsAllSlots(t *testing.T) {
	const slots = 5
	for i := range slots {
		l := spreadRW(slots)
		l.slots[i].Add(1)
		if l.TryLock() {
			t.Errorf("a writer beside a reader on slot %d", i)
		}
		l.slots[(i+1)%slots].Add(^uint32(0)) // it leaves on another one
		if !l.TryLock() {
			t.Errorf("no writer after the reader on slot %d left", i)
		}
	}
}

// TestRWMutexTryResetsPending: a TryLock that fails resets the number of readers that left
// during such calls. Otherwise the number wraps, and a reader wakes a writer that does not wait.
func TestRWMutexTryResetsPending(t *testing.T) {
	var l RWMutex
	l.RLock()
	l.pending.Store(1) // after 2^32 - 1 of them
	if l.TryLock() || l.pending.Load() != 0 {
		t.Errorf("after a TryLock beside a reader %d readers are awaited, want 0 and no lock", l.pending.Load())
	}
}

// TestRWMutexNegativeSum: the writer after one RUnlock too many panics, and frees the lock. A
// diverted reader that finds no reader left panics too.
func TestRWMutexNegativeSum(t *testing.T) {
	l := spreadRW(2)
	if l.RUnlock(); l.TryLock() {
		t.Fatal("TryLock took the lock after an RUnlock too many")
	}
	locktest.RequirePanic(t, "after an RUnlock too many", "mutex: RUnlock of an RWMutex without a reader", l.Lock)
	l.state.Add(rwInside)
	if !l.TryLock() {
		t.Error("the Lock that panicked keeps others out")
	}

	l = new(RWMutex)
	l.Lock()
	diverted := l.state.Add(rwInside)
	l.RUnlock()
	locktest.RequirePanic(t, "beside a diverted reader", "mutex: RUnlock of an RWMutex without a reader", func() { l.entered(diverted) })
	if s := l.state.Load(); s != rwWriter {
		t.Errorf("state %#x beside a writer, want %#x", s, uint64(rwWriter))
	}
}

// TestRWMutexPhases: readers that arrive during a writer enter together, before the next
// writer. None stays on the first slot, which would overflow after 4 billion.
func TestRWMutexPhases(t *testing.T) {
	for _, l := range []*RWMutex{new(RWMutex), spreadRW(4)} {
		const early = 3
		var mu sync.Mutex
		var order []string // guarded by mu
		enters := func(who string) { mu.Lock(); order = append(order, who); mu.Unlock() }
		waiting := func(n uint64) func() bool {
			return func() bool { s := l.state.Load(); return s%rwQueue/rwWaiting == n && s&rwQueue == 0 }
		}
		var inside, wg sync.WaitGroup
		letGo := make(chan struct{})
		l.Lock()
		wg.Go(func() { l.Lock(); enters("writer"); l.Unlock() })
		waitUntil(t, func() bool { return l.writers.state.Load() == mutexHeld+mutexWaiting })
		inside.Add(early)
		for i := range uint64(early) {
			wg.Go(func() { l.RLock(); enters("early"); inside.Done(); <-letGo; l.RUnlock() })
			waitUntil(t, waiting(i+1))
		}
		l.Unlock()
		inside.Wait() // all early readers at once
		waitUntil(t, func() bool { return l.state.Load()&rwWriter != 0 })
		wg.Go(func() { l.RLock(); enters("late"); l.RUnlock() })
		waitUntil(t, waiting(1))
		time.Sleep(time.Millisecond) // for one that wrongly does not wait
		close(letGo)
		wg.Wait()
		if want := [5]string{"early", "early", "early", "writer", "late"}; len(order) != 5 || [5]string(order) != want {
			t.Errorf("served in the order %q, want %q", order, want)
		}
		l.join(nil) // enters, since there is no writer
		if l.RUnlock(); l.state.Load() != 0 || !l.TryLock() {
			t.Errorf("after all readers left, the state is %#x, want 0 and a free lock", l.state.Load())
		}
	}
}

// TestRWMutexWakesWriter: a writer sleeps until the last reader leaves or is diverted.
func TestRWMutexWakesWriter(t *testing.T) {
	for _, l := range []*RWMutex{new(RWMutex), spreadRW(4)} {
		for name, leaves := range map[string]func(){
			"RUnlock":  l.RUnlock,
			"diverted": func() { l.state.Add(^uint64(rwInside - 1)); l.left() },
		} {
			l.state.Add(3 * rwInside)
			l.pending.Store(^uint32(4)) // from readers that left while other writers were inside
			locked := make(chan struct{})
			go func() { l.Lock(); close(locked) }()
			waitUntil(t, func() bool { return l.pending.Load() == 3 })
			for left := uint32(3); left > 0; left-- {
				if n := l.pending.Load(); n != left {
					t.Errorf("%s: %d readers are still awaited, want %d", name, n, left)
				}
				time.Sleep(time.Millisecond) // for a writer that sleeps
				leaves()
			}
			select {
			case <-locked:
			case <-time.After(10 * time.Second):
				t.Fatalf("%s: the writer sleeps although all readers have left", name)
			}
			l.Unlock()
		}
	}
}

// TestRWMutexEarlyWakeUp: a writer that wakes too early repeats the pass over the slots.
func TestRWMutexEarlyWakeUp(t *testing.T) {
	var l RWMutex
	l.state.Add(2 * rwInside)
	locked := make(chan struct{})
	go func() { l.Lock(); close(locked) }()
	waitUntil(t, func() bool { return l.pending.Load() == 2 })
	l.left()
	l.left()
	waitUntil(t, func() bool { return l.pending.Load() == 2 })
	l.RUnlock()
	l.RUnlock()
	<-locked
}

// TestRWMutexPlaces: a reader that was let in and has yet to run loses its place to one that
// runs, and keeps it after rwLosses losses.
func TestRWMutexPlaces(t *testing.T) {
	for _, losses := range []uint8{0, rwLosses - 1, rwLosses} {
		lost := false
		for try := 0; try < 1000 && !lost; try++ { // it may run at once
			var l RWMutex
			entered := make(chan bool)
			l.Lock()
			go func() { entered <- l.rLockSlow(nil) }()
			waitUntil(t, func() bool { return l.state.Load() == rwWriter+rwWaiting })
			l.waiters.first.wakes = losses
			l.Unlock()
			lost = l.takePlace()
			if lost && l.takePlace() {
				t.Fatal("two readers took one place")
			}
			<-entered
			if l.RUnlock(); lost {
				l.RUnlock()
			}
			if !l.TryLock() {
				t.Fatal("the lock is not free in the end")
			}
		}
		if want := losses < rwLosses; lost != want {
			t.Errorf("a reader after %d losses lost its place: %v, want %v", losses, lost, want)
		}
	}
}

// TestContextsDoNotAllocate tries the ways into a lock that the rule no-allocation leaves out.
func TestContextsDoNotAllocate(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var m Mutex
	for _, l := range []*RWMutex{new(RWMutex), spreadRW(4)} {
		if n := testing.AllocsPerRun(1000, func() {
			if m.LockContext(ctx) == nil {
				m.Unlock()
			}
			if l.LockContext(ctx) == nil {
				l.Unlock()
			}
			if l.RLockContext(ctx) == nil {
				l.RUnlock()
			}
			l.RLocker().Lock()
			l.RUnlock()
		}); n != 0 {
			t.Errorf("%v allocations, want none", n)
		}
	}
}

func requireWait(t *testing.T, returned <-chan bool) {
	t.Helper()
	select {
	case <-returned:
		t.Fatal("the waiter returned before its permit came")
	case <-time.After(20 * time.Millisecond):
	}
}

// TestRWMutexAwaitsPermit: a cancelled waiter takes the permit that is on its way.
func TestRWMutexAwaitsPermit(t *testing.T) {
	done, returned := make(chan struct{}), make(chan bool)

	var l RWMutex
	l.Lock()
	go func() { returned <- l.rLockSlow(done) }()
	waitUntil(t, func() bool { return l.state.Load() == rwWriter+rwWaiting })
	w := l.waiters.first // these are the steps of admit
	w.granted, l.waiters.first = true, nil
	l.state.Store(rwInside)
	l.places.Add(1)
	close(done)
	requireWait(t, returned)
	w.next, w.prev = nil, nil
	w.parker.Unpark()
	if !<-returned {
		t.Error("the reader gave up although it is inside")
	}
	l.writers.Unlock()

	done = make(chan struct{})
	go func() { l.writers.Lock(); l.shut(); returned <- l.drain(done) }()
	waitUntil(t, func() bool { return l.pending.Load() == 1 })
	l.pending.Add(^uint32(0)) // these are the steps of left
	close(done)
	requireWait(t, returned)
	l.writer.parker.Unpark()
	if <-returned {
		t.Error("the writer entered beside a reader")
	}
	if l.drain(done) || l.pending.Load() != 0 {
		t.Error("a writer that gave up still awaits a reader, which would wake the next user of its parker")
	}
}
