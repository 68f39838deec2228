package locktest

import (
	"context"
	"fmt"
	"runtime"
	"time"

	"locklab/harness"
)

func followsWait(v *harness.Variant) bool { return v.Traits.FollowsWait }

// waitLocal tries a lock under two policies that the scheduler can distinguish: by one a
// waiter keeps its processor until it is preempted, by the other it yields at every poll.
func waitLocal(ctx context.Context, s Subject) error {
	if atMost(s.Variant, 2) < 2 {
		return NotApplicable("the lock serves one worker, which never waits")
	}
	for _, c := range []struct {
		policy harness.WaitPolicy
		yields bool
		did    string
	}{
		{harness.WaitSpin, false, "gave its processor up"},
		{harness.WaitYield, true, "kept its processor until it was preempted"},
	} {
		yields, err := waiterYields(ctx, s, c.policy)
		if err != nil {
			return err
		}
		if yields != c.yields {
			return fmt.Errorf("with Setup.Wait %q a waiter %s", c.policy, c.did)
		}
	}
	return nil
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
func waiterYields(ctx context.Context, s Subject, policy harness.WaitPolicy) (yields bool, err error) {
	processWide.Lock()
	defer processWide.Unlock()
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	hs, err := shape{workers: 2, wait: policy}.handles(ctx, s)
	if err != nil {
		return false, err
	}
	held, asks := make(chan struct{}), make(chan struct{})
	_, err = drive(ctx, 2, limits{uses: 1, patience: s.patience()}, func(ctx context.Context, i int) error {
		if i == 1 {
			if err := await(ctx, held); err != nil {
				return err
			}
			close(asks)
			hs[1].Lock()
			defer hs[1].Unlock()
			return nil
		}
		hs[0].Lock()
		defer hs[0].Unlock()
		close(held)
		if err := await(ctx, asks); err != nil {
			return err
		}
		for n, slices := 0, 0; n < yieldedOften && slices < keptOften; n++ {
			begin := time.Now()
			runtime.Gosched()
			if time.Since(begin) >= kept {
				slices++
			}
			yields = n == yieldedOften-1
		}
		return nil
	})
	return yields, err
}
