package locktest

import (
	"cmp"
	"context"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"locklab/harness"
	"locklab/internal/machine"
)

func notReentrant(ctx context.Context, s Subject) {
	if s.Variant.Traits.Doorway {
		must(NotApplicable("an arrival has several steps: by a second one the holder undoes its own"))
	}
	if s.Variant.Traits.MaxWorkers == 1 {
		must(NotApplicable("the lock serves one worker, which never waits"))
	}
	for range 3 { // on a busy machine a lock that admits its holder again may need more than a moment
		for _, again := range []struct {
			hold, ask func(h sync.Locker) (take, leave func())
			did       string
		}{
			{asWriter, asWriter, "Lock let the holder in again"},
			{asWriter, byTrying, "TryLock let the holder in again"},
			{byTrying, asWriter, "Lock let a holder by TryLock in again"},
			{asWriter, asReader, "RLock let a writer in again, as a reader"},
			{asReader, asWriter, "Lock let a reader in again, as a writer"},
		} {
			asksAgain(ctx, s, again.hold, again.ask, again.did)
		}
	}
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
func asksAgain(ctx context.Context, s Subject, hold, ask func(sync.Locker) (take, leave func()), did string) {
	policies := sleepingPolicies(s.Variant)
	hs := shape{workers: atMost(s.Variant, 2), wait: policies[len(policies)-1]}.handles(ctx, s)
	if RaceDetector && len(hs) > 1 && hs[0] != hs[1] {
		must(NotApplicable("the race detector reports the second use of a handle"))
	}
	take, leave := hold(hs[0])
	again, _ := ask(hs[0])
	if take == nil || again == nil {
		return
	}
	alone(ctx, s, isFree, take)
	asks, entered := make(chan struct{}), make(chan struct{})
	go func() {
		close(asks)
		again()
		close(entered)
	}()
	await(ctx, asks)
	if opens(entered, aMoment) {
		must(errors.New(did))
	}
	leave()
}

func noAllocation(ctx context.Context, s Subject) {
	if RaceDetector {
		must(NotApplicable("under the race detector a sync.Pool drops values at random"))
	}
	for _, wait := range sleepingPolicies(s.Variant) {
		sh := shape{workers: atMost(s.Variant, few), wait: wait}
		sh.once(ctx, s, limits{}, false, func(r *rig) { allocations(ctx, r) })
	}
}

const (
	allocRounds = 1000 // operations of each kind
	allocTries  = 20   // a new lock, and other goroutines at the same time, may allocate
)

// allocations makes each worker use the lock in every way, on one processor, so that each
// meets the others inside.
func allocations(ctx context.Context, r *rig) {
	processWide.Lock()
	defer processWide.Unlock()
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	least := ^uint64(0)
	var over atomic.Bool
	r.lim.uses = 1
	r.drive(ctx, func(_ context.Context, i int) {
		if i > 0 {
			for !over.Load() {
				useAll(r.hs[i])
			}
			return
		}
		defer over.Store(true)
		for range allocTries {
			least = min(least, mallocs(func() {
				for range allocRounds {
					useAll(r.hs[0])
				}
			}))
			if least == 0 {
				return
			}
		}
		fail("%d allocations in %d acquisitions, and more in %d other tries", least, allocRounds, allocTries-1)
	})
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
		h.ReadRetry(h.ReadBegin()) // once, because other workers write all the time
	}
}

// checkClaims checks a lock's claims, on which others rely, against its handles or sessions.
func checkClaims(ctx context.Context, s Subject) {
	h := shape{workers: 1}.handles(ctx, s)[0]
	_, shared := h.(harness.RWLocker)
	_, optimistic := h.(harness.OptimisticReader)
	switch claims := s.Variant.Traits.ReadWrite; {
	case claims && !shared && !optimistic:
		fail("the variant claims Traits.ReadWrite, but a worker is no harness.RWLocker, OptimisticReader or RWSession")
	case !claims && (shared || optimistic):
		fail("a worker has readers, but the variant does not claim Traits.ReadWrite")
	case shared && optimistic:
		fail("a %T is both harness.RWLocker and harness.OptimisticReader: it does not say how its readers read", h)
	}
}

func checkReentrant(ctx context.Context, s Subject) {
	if atMost(s.Variant, 2) < 2 {
		must(NotApplicable("no other worker to keep out: the lock serves one"))
	}
	eachShape(ctx, s, func(r *rig) {
		if len(r.hs) < 2 {
			return
		}
		owner, other := r.hs[0], r.hs[1]
		nested := 300 // more than a counter of eight bits counts
		if isRemote(s.Variant) {
			nested = 8
		}
		again := func(f func()) {
			for range nested {
				f()
			}
		}
		alone(ctx, s, "its owner waits for itself: Lock has not returned", func() {
			owner.Lock()
			again(owner.Lock)
			again(owner.Unlock)
			if try, ok := other.(harness.TryLocker); ok && try.TryLock() {
				fail("TryLock took a lock whose owner has not freed it as often as it took it")
			}
			again(owner.Lock)
		})
		const early = "another worker got the lock before its owner freed it as often as it took it"
		var frees atomic.Bool
		shutOut(ctx, s, early, func() {
			if other.Lock(); !frees.Load() {
				must(errors.New(early))
			}
		}, func() {
			again(owner.Unlock)
			time.Sleep(2 * aMoment)
			frees.Store(true)
			owner.Unlock()
		})
		other.Unlock()
	})
}

// waitPolicy tries a lock under each policy. By WaitSpin a waiter keeps its processor until it is
// preempted. By all others it yields within some polls, so that the holder can run.
func waitPolicy(ctx context.Context, s Subject) {
	if atMost(s.Variant, 2) < 2 {
		must(NotApplicable("the lock serves one worker, which never waits"))
	}
	for _, policy := range harness.WaitPolicies {
		spins := policy == harness.WaitSpin
		switch yields := waiterYields(ctx, s, policy); {
		case spins && yields:
			fail("with Setup.Wait %q a waiter gave its processor up", policy)
		case !spins && !yields:
			fail("with Setup.Wait %q a waiter kept its processor until it was preempted", policy)
		}
	}
}

const (
	// kept is the processor time of a waiter that did not yield. Preemption comes after 10 ms
	// of the clock. Beside 30 busy programs on two processors a spinning waiter had 1.7 ms or
	// more of them, and 199 of 200 that yielded by the kernel less than 0.3 ms.
	kept = time.Millisecond

	// keptOften is how often a waiter must have kept the processor, and yieldedOften how often
	// yielded, whichever is first. A busy machine takes the processor less often than that.
	keptOften, yieldedOften = 4, 50
)

// waiterYields reports whether a waiter of a new lock yields its processor: the holder
// yields on the only processor of the process, and counts the waiter's reactions.
func waiterYields(ctx context.Context, s Subject, policy harness.WaitPolicy) (yields bool) {
	processWide.Lock()
	defer processWide.Unlock()
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	hs := shape{workers: 2, wait: policy}.handles(ctx, s)
	held, asks := make(chan struct{}), make(chan struct{})
	drive(ctx, 2, s.limits(1), func(ctx context.Context, i int) {
		if i == 1 {
			await(ctx, held)
			close(asks)
			acquireRelease(hs[1], false)
			return
		}
		hs[0].Lock()
		defer hs[0].Unlock()
		close(held)
		await(ctx, asks)
		for n, slices := 0, 0; n < yieldedOften && slices < keptOften; n++ {
			begin, before := time.Now(), machine.ProcessUsage()
			runtime.Gosched()
			ran := machine.ProcessUsage().Sub(before).CPU() // 0 on systems that do not count it
			if cmp.Or(ran, time.Since(begin)) >= kept {
				slices++
			}
			yields = n == yieldedOften-1
		}
	})
	return yields
}
