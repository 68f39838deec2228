package mutex

import (
	"runtime"
	"slices"
	"sync"
	"testing"
)

// TestSpinParkServesSleepers: a release wakes only the worker that has slept longest.
func TestSpinParkServesSleepers(t *testing.T) {
	const waiters = 5
	l := NewSpinPark(waiters+1, Options{Wait: WaitPark})
	for range 2 {
		holder := l.Worker(waiters)
		holder.Lock()
		var order []int // guarded by l
		var wg sync.WaitGroup
		for i := range waiters {
			wg.Go(func() {
				n := l.Worker(i)
				n.Lock()
				order = append(order, i)
				if s := l.state.Load(); s&parkWoken != 0 {
					t.Errorf("worker %d has the lock, and its state %#x still shows a worker on its way", i, s)
				}
				n.Unlock()
			})
			until(t, func() bool { return l.state.Load()>>parkShift == l.Worker(i).id })
		}
		holder.Unlock()
		wg.Wait()
		if !slices.IsSorted(order) || len(order) != waiters {
			t.Errorf("workers 0 to %d fell asleep in this order, and were served in the order %v", waiters-1, order)
		}
		if l.state.Load() != 0 || l.queue != 0 {
			t.Errorf("free lock: state %#x, queue %d, want 0", l.state.Load(), l.queue)
		}
	}
}

func TestSpinParkWakesOne(t *testing.T) {
	l := NewSpinPark(3, Options{})
	l.Worker(0).Lock()
	l.state.Store(parkHeld | parkWoken | l.Worker(1).id<<parkShift)
	l.Worker(0).Unlock()
	if s := l.state.Load(); s != parkWoken|l.Worker(1).id<<parkShift || l.queue != 0 {
		t.Errorf("state %#x and queue %d: the release of a lock that one is on its way to changes more than that it is free", s, l.queue)
	}
}

// TestBRAVOInhibits: writers that wait for readers shut the bypass for longer than that.
func TestBRAVOInhibits(t *testing.T) {
	l := NewBRAVO(2, new(sync.RWMutex), Options{})
	reader, writer := l.Worker(0), l.Worker(1)
	reader.RLock() // sets the bias
	//lint:ignore SA2001 only the bias matters
	reader.RUnlock()
	reader.RLock() // is on the bypass
	var wg sync.WaitGroup
	wg.Go(func() {
		writer.Lock()
		//lint:ignore SA2001 only the wait matters
		writer.Unlock()
	})
	until(t, func() bool { return l.bias.Load() == 0 })
	begin := bravoTicks()
	for range 1000 {
		runtime.Gosched()
	}
	end := bravoTicks()
	reader.RUnlock()
	wg.Wait()
	if shut, waited := l.until-end, end-begin; shut < 5*waited {
		t.Errorf("the writer waited for %d ticks at least, and the bypass is shut for %d", waited, shut)
	}
}

func TestSeqLockVersions(t *testing.T) {
	for k := 1; k < 64; k++ {
		var l SeqLock
		v := l.ReadBegin()
		l.version.Store(1 << k)
		if !l.ReadRetry(v) {
			t.Errorf("version %#x is version %d to a reader", uint64(1)<<k, v)
		}
	}
}
