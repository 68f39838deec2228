//go:build systematic && simulate

package mutex

import (
	"sync"
	"testing"

	"locklab/atomics"
	"locklab/harness"
	"locklab/harness/simulate"
)

// simulated returns the result of workers that think for 50 ns.
func simulated(t *testing.T, machine string, w simulate.Workload, lock harness.Local) simulate.Result {
	t.Helper()
	m, err := simulate.Named(machine)
	if err != nil {
		t.Fatal(err)
	}
	w.Wait, w.Think, w.Seed = harness.WaitPause, 50, 1
	r, err := simulate.Run(m, w, func(harness.Setup) harness.Local { return lock })
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestRWMutexSimulated compares RWMutex with a model of sync.RWMutex on modelled machines.
// Both poll if they would sleep, since the model has no operating system: this favours
// sync.RWMutex, whose readers sleep sooner. A worker has its own slot.
//
//	go test -tags systematic,simulate -run RWMutexSimulated -v ./mutex
func TestRWMutexSimulated(t *testing.T) {
	defer func(n int, c, most uint32) { rwSlotCount, rwCollision, rwCollisions = n, c, most }(rwSlotCount, rwCollision, rwCollisions)
	rwCollision, rwCollisions = 32, 64*32 // soon, since the run is short
	for _, at := range []struct {
		machine string
		workers int
	}{{"naples-32", 8}, {"naples-32", 32}, {"icelake-2x32", 64}} {
		rwSlotCount = at.workers
		for _, reads := range []int{0, 50, 90, 99, 100} {
			perAcquisition := func(lock pollingRW) float64 {
				return simulated(t, at.machine, simulate.Workload{Workers: at.workers, Hold: 50, Overlaps: true}, rwMix{lock, reads}).PerAcquisition
			}
			ours := perAcquisition(new(pollingRWMutex))
			if at.workers == 8 && perAcquisition(new(pollingRWMutex)) != ours {
				t.Errorf("%d %% reads: another time with the same seed", reads)
			}
			theirs := perAcquisition(new(syncRWModel))
			t.Logf("%s, %d workers, %d %% reads: %.1f ns, sync.RWMutex %.1f ns, ratio %.2f", at.machine, at.workers, reads, ours, theirs, theirs/ours)
			if reads >= 99 && at.workers >= 32 && theirs < 2*ours {
				t.Errorf("%s, %d workers, %d %% reads: %.2f times the rate of sync.RWMutex, want 2", at.machine, at.workers, reads, theirs/ours)
			}
		}
	}
}

type pollingRW interface {
	RLock()
	RUnlock()
	Lock()
	Unlock()
}

type rwMix struct {
	l     pollingRW
	reads int
}

func (m rwMix) Worker(int) sync.Locker { return &rwMixed{rwMix: m} }

type rwMixed struct {
	rwMix
	read bool
}

func (w *rwMixed) Lock() {
	if w.read = atomics.Random(100) < w.reads; w.read {
		w.l.RLock()
	} else {
		w.l.Lock()
	}
}

func (w *rwMixed) Unlock() {
	if w.read {
		w.l.RUnlock()
	} else {
		w.l.Unlock()
	}
}

// A pollingRWMutex begins a cache line wherever it is allocated.
type pollingRWMutex struct {
	RWMutex
	_ [48]byte
}

func (l *pollingRWMutex) RLock() { pollUntil(l.TryRLock) }

func (l *pollingRWMutex) Lock() {
	pollUntil(l.writers.TryLock)
	l.shut()
	pollUntil(func() bool { return l.inside() == 0 })
}

// A syncRWModel has the operations of sync.RWMutex on its words, with semaphores that poll.
type syncRWModel struct {
	w, writerSem, readerSem, readerCount, readerWait atomics.Uint32
	_                                                [44]byte
}

const rwModelMax = 1 << 30

func (l *syncRWModel) RLock() {
	if int32(l.readerCount.Add(1)) < 0 {
		pollUntil(func() bool { return takePermit(&l.readerSem) })
	}
}

func (l *syncRWModel) RUnlock() {
	if int32(l.readerCount.Add(^uint32(0))) < 0 && l.readerWait.Add(^uint32(0)) == 0 {
		l.writerSem.Add(1)
	}
}

func (l *syncRWModel) Lock() {
	pollUntil(l.w.TestAndSet)
	r := l.readerCount.Add(^uint32(rwModelMax-1)) + rwModelMax
	if r != 0 && l.readerWait.Add(r) != 0 {
		pollUntil(func() bool { return takePermit(&l.writerSem) })
	}
}

func (l *syncRWModel) Unlock() {
	l.readerSem.Add(l.readerCount.Add(rwModelMax))
	l.w.Store(0)
}

func takePermit(sem *atomics.Uint32) bool {
	n := sem.Load()
	return n != 0 && sem.CompareAndSwap(n, n-1)
}

func pollUntil(done func() bool) {
	for !done() {
		atomics.SpinHint(1)
	}
}
