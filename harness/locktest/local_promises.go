package locktest

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"

	"locklab/harness"
)

func notReentrant(ctx context.Context, s Subject) error {
	if s.Variant.Traits.Doorway {
		return NotApplicable("an arrival has several steps: by a second one the holder undoes its own")
	}
	if s.Variant.Traits.MaxWorkers == 1 {
		return NotApplicable("the lock serves one worker, which never waits")
	}
	for range 3 { // on a busy machine a lock that admits its holder again may need more than a moment
		for _, again := range []struct {
			hold, ask func(h sync.Locker) (take, leave func())
			did       string
		}{
			{asWriter, asWriter, "Lock let the holder in again"},
			{asWriter, byTrying, "TryLock let the holder in again"},
			{asWriter, asReader, "RLock let a writer in again, as a reader"},
			{asReader, asWriter, "Lock let a reader in again, as a writer"},
		} {
			if err := asksAgain(ctx, s, again.hold, again.ask, again.did); err != nil {
				return err
			}
		}
	}
	return nil
}

// asWriter, byTrying and asReader return functions to take and leave the lock, or nil.
func asWriter(h sync.Locker) (take, leave func()) { return h.Lock, h.Unlock }

func asReader(h sync.Locker) (take, leave func()) {
	if rw, ok := h.(harness.RWLocker); ok {
		return rw.RLock, rw.RUnlock
	}
	return nil, nil
}

// byTrying never returns if TryLock refuses.
func byTrying(h sync.Locker) (take, leave func()) {
	if try, ok := h.(harness.TryLocker); ok {
		return func() {
			if !try.TryLock() {
				runtime.Goexit()
			}
		}, h.Unlock
	}
	return nil, nil
}

// asksAgain takes a new lock and asks for it again: a lock with handles may sleep forever.
func asksAgain(ctx context.Context, s Subject, hold, ask func(sync.Locker) (take, leave func()), did string) error {
	policies := crowdPolicies(s.Variant)
	hs, err := shape{workers: atMost(s.Variant, 2), wait: policies[len(policies)-1]}.handles(ctx, s)
	if err != nil {
		return err
	}
	if raceDetector && len(hs) > 1 && hs[0] != hs[1] {
		return NotApplicable("the race detector reports the second use of a handle")
	}
	take, leave := hold(hs[0])
	again, _ := ask(hs[0])
	if take == nil || again == nil {
		return nil
	}
	if err := alone(ctx, s, isFree, func() error { take(); return nil }); err != nil {
		return err
	}
	asks, entered := make(chan struct{}), make(chan struct{})
	go func() {
		close(asks)
		again()
		close(entered)
	}()
	if err := await(ctx, asks); err != nil {
		return err
	}
	if opens(entered, aMoment) {
		return errors.New(did)
	}
	leave()
	return nil
}

func noAllocation(ctx context.Context, s Subject) error {
	for _, wait := range crowdPolicies(s.Variant) {
		sh := shape{workers: atMost(s.Variant, 2), wait: wait}
		if err := sh.once(ctx, s, limits{}, false, allocations); err != nil {
			return err
		}
	}
	return nil
}

const (
	allocRounds = 400 // operations of each kind, and as many before them
	allocTries  = 5   // other goroutines may allocate at the same time
	allocMost   = allocRounds / 100
)

// allocations makes each worker use the lock in every way, on one processor, so that each
// meets the other inside.
func allocations(ctx context.Context, r *rig) error {
	processWide.Lock()
	defer processWide.Unlock()
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	least := ^uint64(0)
	var over atomic.Bool
	r.lim.uses = 1
	_, err := r.drive(ctx, func(i int) error {
		if i > 0 {
			for !over.Load() {
				useAll(r.hs[i])
			}
			return nil
		}
		defer over.Store(true)
		for range allocTries {
			least = min(least, mallocs(func() {
				for range allocRounds {
					useAll(r.hs[0])
				}
			}))
			if least <= allocMost {
				return nil
			}
		}
		return fmt.Errorf("%d allocations in %d acquisitions, and more in %d other tries", least, allocRounds, allocTries-1)
	})
	return err
}

func mallocs(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.Mallocs - before.Mallocs
}

func useAll(h sync.Locker) {
	h.Lock()
	runtime.Gosched()
	h.Unlock()
	runtime.Gosched()
	if try, ok := h.(harness.TryLocker); ok && try.TryLock() {
		h.Unlock()
	}
	switch h := h.(type) {
	case harness.RWLocker:
		read(h, runtime.Gosched)
	case harness.OptimisticReader:
		h.ReadRetry(h.ReadBegin()) // once, because the other worker writes all the time
	}
}
