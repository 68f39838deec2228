package mutex

import (
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"
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
			waitUntil(t, func() bool { return l.state.Load()>>parkShift == l.Worker(i).id })
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
	waitUntil(t, func() bool { return l.bias.Load() == 0 })
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

// TestPhasesAlternate: a reader that arrives behind a waiting writer enters before it, but
// after it if that writer already waits for readers.
func TestPhasesAlternate(t *testing.T) {
	for first := range 4 { // the number of the phase is odd or even
		var l PhaseFair
		for range first {
			l.Lock()
			//lint:ignore SA2001 only the number of the phase matters
			l.Unlock()
		}
		var order []string // guarded by l, or by the phase for readers
		var wg sync.WaitGroup
		l.Lock()
		wg.Go(func() {
			l.Lock()
			order = append(order, "writer")
			l.Unlock()
		})
		waitUntil(t, func() bool { return l.writersIn.Load() == uint32(first)+2 })
		letGo := make(chan struct{})
		wg.Go(func() {
			l.RLock()
			order = append(order, "early reader")
			<-letGo
			l.RUnlock()
		})
		waitUntil(t, func() bool { return l.readersIn.Load()/phaseReader == 1 })
		l.Unlock()
		// The second writer now waits for the reader.
		waitUntil(t, func() bool { return l.readersIn.Load()&phaseBits == phaseWriter|uint32(first+1)&phaseNumber })
		wg.Go(func() {
			l.RLock()
			order = append(order, "late reader")
			l.RUnlock()
		})
		waitUntil(t, func() bool { return l.readersIn.Load()/phaseReader == 2 })
		time.Sleep(time.Millisecond) // for a reader that wrongly does not wait
		close(letGo)
		wg.Wait()
		if want := [3]string{"early reader", "writer", "late reader"}; len(order) != 3 || [3]string(order) != want {
			t.Errorf("after %d writers: served in the order %q, want %q", first, order, want)
		}
	}
}

// TestPhaseFairReaderSeesNextPhase: a reader enters even if one writer follows another.
func TestPhaseFairReaderSeesNextPhase(t *testing.T) {
	var l PhaseFair
	l.Lock()
	var entered atomic.Bool
	go func() { l.RLock(); entered.Store(true) }()
	waitUntil(t, func() bool { return l.readersIn.Load()/phaseReader == 1 })
	l.readersIn.Add(1 & phaseNumber) // number 1 in place of number 0
	waitUntil(t, entered.Load)
}

func waitUntil(t *testing.T, done func() bool) {
	t.Helper()
	for start := time.Now(); !done(); runtime.Gosched() {
		if time.Since(start) > 10*time.Second {
			t.Fatal("it does not come to pass")
		}
	}
}

func TestPhaseFairWraps(t *testing.T) {
	var l PhaseFair
	l.readersIn.Store(1<<32 - 2*phaseReader)
	l.readersOut.Store(1<<32 - 2*phaseReader)
	l.writersIn.Store(1<<32 - 2)
	l.writersOut.Store(1<<32 - 2)
	for range 5 {
		l.Lock()
		//lint:ignore SA2001 only that the counters wrap matters
		l.Unlock()
		l.RLock()
		//lint:ignore SA2001 only that the counters wrap matters
		l.RUnlock()
	}
	if l.readersIn.Load() != 3*phaseReader || l.writersOut.Load() != 3 {
		t.Errorf("counters after 5 acquisitions from 2 below the end: %d readers, %d writers, want 3", l.readersIn.Load()/phaseReader, l.writersOut.Load())
	}
}
