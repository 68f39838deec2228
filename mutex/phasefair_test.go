package mutex

import (
	"runtime"
	"sync"
	"testing"
	"time"
)

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
		until(t, func() bool { return l.writersIn.Load() == uint32(first)+2 })
		letGo := make(chan struct{})
		wg.Go(func() {
			l.RLock()
			order = append(order, "early reader")
			<-letGo
			l.RUnlock()
		})
		until(t, func() bool { return l.readersIn.Load()/phaseReader == 1 })
		l.Unlock()
		// The second writer now waits for the reader.
		until(t, func() bool { return l.readersIn.Load()&phaseBits == phaseWriter|uint32(first+1)&phaseNumber })
		wg.Go(func() {
			l.RLock()
			order = append(order, "late reader")
			l.RUnlock()
		})
		until(t, func() bool { return l.readersIn.Load()/phaseReader == 2 })
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
	entered := make(chan struct{})
	go func() {
		l.RLock()
		close(entered)
	}()
	until(t, func() bool { return l.readersIn.Load()/phaseReader == 1 })
	l.readersIn.Add(1 & phaseNumber) // number 1 in place of number 0
	select {
	case <-entered:
	case <-time.After(10 * time.Second):
		t.Error("the reader does not see that another writer is inside")
	}
}

func until(t *testing.T, done func() bool) {
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
