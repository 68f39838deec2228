package locktest

import (
	"context"
	"math/rand/v2"
	"runtime"
	"sync"
	"time"

	"locklab/harness"
)

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
