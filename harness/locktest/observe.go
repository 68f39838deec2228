package locktest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"locklab/harness"
)

// inside records which writer is in the critical section, and the number of readers.
type inside struct {
	owner   atomic.Int32 // worker + 1; 0: none
	_       [128]byte
	readers atomic.Int32
	_       [128]byte
}

func (in *inside) write(i int, stay func()) error {
	me := int32(i) + 1
	if other := in.owner.Swap(me); other != 0 {
		return fmt.Errorf("worker %d got the lock while worker %d was inside", i, other-1)
	}
	stay()
	if other := in.owner.Load(); other != me {
		return fmt.Errorf("worker %d had the lock, and meanwhile worker %d was inside", i, other-1)
	}
	in.owner.Store(0)
	if n := in.readers.Load(); n != 0 {
		return fmt.Errorf("worker %d had the lock for writing while %d readers were inside", i, n)
	}
	return nil
}

func (in *inside) read(i int, stay func()) error {
	in.readers.Add(1)
	defer in.readers.Add(-1)
	if w := in.owner.Load(); w != 0 {
		return fmt.Errorf("worker %d got the lock for reading while writer %d was inside", i, w-1)
	}
	stay()
	if w := in.owner.Load(); w != 0 {
		return fmt.Errorf("worker %d had the lock for reading, and meanwhile writer %d was inside", i, w-1)
	}
	return nil
}

type pattern struct {
	thinks  bool
	workers []workerPattern
}

type workerPattern struct {
	uses uint32
	rand uint32
	_    [120]byte
}

func newPattern(workers int, thinks bool) *pattern {
	p := &pattern{thinks: thinks, workers: make([]workerPattern, workers)}
	for i := range p.workers {
		p.workers[i].rand = rand.Uint32()
	}
	return p
}

// hold passes time inside: mostly none, often a few steps, sometimes a yield.
func (p *pattern) hold(i int) {
	w := &p.workers[i]
	w.uses++
	switch {
	case w.uses%64 == 0:
		runtime.Gosched()
		runtime.Gosched()
	case w.uses%4 == 0:
		w.steps(128)
	}
}

// reads reports whether worker i reads next: three in four, with no two in step.
func (p *pattern) reads(i int) bool {
	w := &p.workers[i]
	w.rand = w.rand*1664525 + 1013904223
	return w.rand>>16%4 != 0
}

func (p *pattern) think(i int) {
	if p.thinks {
		p.workers[i].steps(128)
	}
}

func (w *workerPattern) steps(n uint32) {
	w.rand = w.rand*1664525 + 1013904223
	for range w.rand >> 16 % n {
	}
}

func compare(n uint64, uses []uint64) {
	var want uint64
	for _, k := range uses {
		want += k
	}
	if n != want {
		fail("%d acquisitions incremented the guarded counter to %d: %d updates lost", want, n, int64(want-n))
	}
}

// processWide lets one check at a time change GOMAXPROCS and the collector.
var processWide sync.Mutex

// The disturbances, in turn. Each takes goroutines off their processors at arbitrary points.
var disturbances = []func(){
	func() { runtime.GOMAXPROCS(1) },
	func() { runtime.GC() },
	func() { runtime.GOMAXPROCS(2) },
	func() { runtime.KeepAlive(make([]byte, 1<<18)) },
	func() { runtime.GOMAXPROCS(4) }, // possibly more than the machine has
	func() { runtime.GC() },
}

// startPerturbation disturbs all goroutines at random times until stop is called.
func startPerturbation() (stop func()) {
	processWide.Lock()
	before := runtime.GOMAXPROCS(0)
	quit, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for k := 0; ; k++ {
			select {
			case <-quit:
				return
			case <-time.After(time.Duration(rand.Int64N(int64(500 * time.Microsecond)))):
				disturbances[k%len(disturbances)]()
			}
		}
	}()
	return func() {
		close(quit)
		<-done
		runtime.GOMAXPROCS(before)
		processWide.Unlock()
	}
}

// preemption checks exclusion under constant disturbance, without busy waiters, which
// would take 10 ms until they are preempted.
func preemption(ctx context.Context, s Subject) {
	calm := []shape{
		{workers: atMost(s.Variant, 2)},
		{workers: atMost(s.Variant, 4)},
		{workers: atMost(s.Variant, 4), pin: harness.PinThread},
	}
	defer startPerturbation()()
	roundsOf(ctx, s, calm, func(r *rig) { mixedAccess(ctx, r) })
}
