package locktest

import (
	"context"
	"runtime"
	"time"

	"locklab/harness"
)

func followsWait(v *harness.Variant) bool { return v.Traits.FollowsWait }

// waitPolicy tries a lock under two policies that the scheduler can distinguish: by one a
// waiter keeps its processor until it is preempted, by the other it yields at every poll.
func waitPolicy(ctx context.Context, s Subject) {
	if atMost(s.Variant, 2) < 2 {
		must(NotApplicable("the lock serves one worker, which never waits"))
	}
	for _, c := range []struct {
		policy harness.WaitPolicy
		yields bool
		did    string
	}{
		{harness.WaitSpin, false, "gave its processor up"},
		{harness.WaitYield, true, "kept its processor until it was preempted"},
	} {
		if waiterYields(ctx, s, c.policy) != c.yields {
			fail("with Setup.Wait %q a waiter %s", c.policy, c.did)
		}
	}
}

const (
	// Preemption comes after 10 ms: a waiter that ran for half of that did not yield.
	kept = 5 * time.Millisecond

	// keptOften is how often a waiter must have kept the processor, and yieldedOften how often
	// yielded, whichever is first. A busy machine takes the processor less often than that.
	keptOften, yieldedOften = 4, 200
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
			begin := time.Now()
			runtime.Gosched()
			if time.Since(begin) >= kept {
				slices++
			}
			yields = n == yieldedOften-1
		}
	})
	return yields
}
