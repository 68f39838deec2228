package locktest

import (
	"context"
	"math/rand/v2"
	"runtime"
	"sync"
	"time"

	"locklab/harness"
)

// processWide lets one check at a time disturb the process. What it guards,
// GOMAXPROCS and the collector, belongs to the process, and so must the lock.
var processWide sync.Mutex

// The disturbances, in turn. Each takes goroutines off their processors
// wherever they happen to be.
var disturbances = []func(){
	func() { runtime.GOMAXPROCS(1) },
	func() { runtime.GC() },
	func() { runtime.GOMAXPROCS(2) },
	func() { runtime.KeepAlive(make([]byte, 1<<18)) },
	func() { runtime.GOMAXPROCS(4) }, // more, perhaps, than the machine has
	func() { runtime.GC() },
}

// startPerturbation disturbs all goroutines of the process, at random times, until
// stop is called.
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

// preemptionLocal checks exclusion, between readers and writers too, in a
// process that is disturbed all the time. Busy waiters are left out: on one
// processor each acquisition would take them the 10 ms after which they are
// preempted.
func preemptionLocal(ctx context.Context, s Subject) error {
	calm := []shape{
		{workers: atMost(s.Variant, 2)},
		{workers: atMost(s.Variant, 4)},
		{workers: atMost(s.Variant, 4), pin: harness.PinThread},
	}
	defer startPerturbation()()
	return roundsOf(ctx, s, calm, mixedAccess)
}
