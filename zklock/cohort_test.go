package zklock_test

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"locklab/harness"
	"locklab/zklock"
)

func TestCohort(t *testing.T) {
	runParallel(t, []serverTest{
		{"handovers cost nothing", handoversAreFree},
		{"others are not starved", othersNotStarved},
		{"waiters give up", waitersGiveUp},
		{"try", tryCohort},
		{"try that is given up", tryGivenUp},
		{"session expires before the handover", handsOverAfterExpiry},
		{"lost but not over", cohortSuspects},
		{"leases complete", leasesComplete},
		{"storm", cohortStorm},
	})
}

func inLine(t *testing.T, ctx context.Context, k *zklock.Cohort, n int) <-chan result {
	t.Helper()
	got := beginLock(ctx, k.Lock)
	waitUntil(t, "the line has the right length", func() bool { return k.Line() == n })
	return got
}

func queueLines(t *testing.T, k *zklock.Cohort, n int) (waiters []<-chan result) {
	t.Helper()
	for i := range n {
		waiters = append(waiters, inLine(t, t.Context(), k, i+1))
	}
	return waiters
}

// tryGivenUp: a Lock after a TryLock that was given up waits until the servers have answered it.
func tryGivenUp(t *testing.T, at harness.Endpoint) {
	p := newProxy(t, at)
	k := dialServer(t, p.at, zklock.ClientOptions{}).Cohort(newPath(), zklock.CohortOptions{})
	p.Partition(true)
	expectError(t, lockError(contextWithin(t, 50*time.Millisecond), k.TryLock), context.DeadlineExceeded)
	s := newTimeline()
	got := beginLock(zklock.WithTrace(t.Context(), s.trace()), k.Lock)
	<-s.queued // it waits for the answer
	p.Partition(false)
	unlockLease(t, awaitLease(t, got))
}

func handoversAreFree(t *testing.T, at harness.Endpoint) {
	see, c := dialRaw(t, at), dialServer(t, at, zklock.ClientOptions{})
	k := c.Cohort(newPath(), zklock.CohortOptions{Handovers: 3})
	unlockLease(t, acquireLock(t, k.Lock)) // makes the parents
	got := countCost(func() {
		held := acquireLock(t, k.Lock)
		handOver(t, held, queueLines(t, k, 7)...)
	}, c)
	expectEqual(t, "8 holders on 2 tickets cost", got, harness.Counts{Requests: 2 * 3})
	awaitQueue(t, see, k.Path(), 0)
}

// othersNotStarved: a client with many waiters gives the lock up after its handovers.
func othersNotStarved(t *testing.T, at harness.Endpoint) {
	for _, o := range []zklock.CohortOptions{
		{Handovers: -1}, {Handovers: -1, LocalFirst: true}, {Handovers: 2}, {Handovers: 2, LocalFirst: true},
	} {
		see := dialRaw(t, at)
		busy := dialServer(t, at, zklock.ClientOptions{}).Cohort(newPath(), o)
		other := dialServer(t, at, zklock.ClientOptions{}).Cohort(busy.Path(), o)
		held := acquireLock(t, busy.Lock)
		waiters := queueLines(t, busy, 6)
		first := inLine(t, t.Context(), other, 1)
		awaitQueue(t, see, busy.Path(), 2)
		n := max(0, o.Handovers)
		handOver(t, held, slices.Insert(waiters, n, first)...)
		awaitQueue(t, see, busy.Path(), 0)
	}
}

// waitersGiveUp: a client's ticket keeps its place while a goroutine waits, and goes with the last.
func waitersGiveUp(t *testing.T, at harness.Endpoint) {
	see, head := dialRaw(t, at), newMutex(t, at, newPath())
	k := dialServer(t, at, zklock.ClientOptions{}).Cohort(head.Path(), zklock.CohortOptions{})
	held := lockNow(t, head)
	for range 3 {
		ctx, cancel := context.WithCancel(t.Context())
		last, cancelLast := context.WithCancel(t.Context())
		waiters := []<-chan result{inLine(t, ctx, k, 1), inLine(t, last, k, 2)}
		before := awaitQueue(t, see, k.Path(), 2)
		cancel()
		expectError(t, (<-waiters[0]).err, context.Canceled)
		expectWaiting(t, waiters[1])
		if after := listQueue(t, see, k.Path()); !slices.Equal(before, after) {
			t.Errorf("the queue is %q, was %q", after, before)
		}
		cancelLast()
		expectError(t, (<-waiters[1]).err, context.Canceled)
		awaitQueue(t, see, k.Path(), 1)
	}
	next := inLine(t, t.Context(), k, 1)
	awaitQueue(t, see, k.Path(), 2)
	handOver(t, held, next)
	awaitQueue(t, see, k.Path(), 0)
}

func tryCohort(t *testing.T, at harness.Endpoint) {
	see, c := dialRaw(t, at), dialServer(t, at, zklock.ClientOptions{})
	k := c.Cohort(newPath(), zklock.CohortOptions{})
	other := dialServer(t, at, zklock.ClientOptions{}).Cohort(k.Path(), zklock.CohortOptions{})
	held, err := k.TryLock(t.Context())
	requireNoError(t, err)
	before := counts(c)
	for _, k := range []*zklock.Cohort{k, other, k} {
		expectError(t, lockError(t.Context(), k.TryLock), zklock.ErrNotAcquired)
	}
	expectEqual(t, "TryLock behind one's own client costs", counts(c).Sub(before), harness.Counts{})
	handOver(t, held, inLine(t, t.Context(), k, 1)) // TryLock took it
	expectError(t, lockError(contextWithin(t, 0), k.TryLock), context.DeadlineExceeded)
	held = acquireLock(t, other.Lock) // the refused one has left nothing
	unlockLease(t, held)
	awaitQueue(t, see, k.Path(), 0)
}

func handsOverAfterExpiry(t *testing.T, at harness.Endpoint) {
	k := dialServer(t, at, zklock.ClientOptions{}).Cohort(newPath(), zklock.CohortOptions{})
	if handed, err := zklock.HandOverAfterExpiry(k); handed || err != nil {
		t.Errorf("a ticket of an expired session is handed on: %t, %v", handed, err)
	}
}

// cohortSuspects: a holder that may have lost the lock blocks its client until Unlock.
func cohortSuspects(t *testing.T, at harness.Endpoint) {
	p, see := newProxy(t, at), dialRaw(t, at)
	o := zklock.ClientOptions{SessionTimeout: 6 * time.Second, Margin: 2 * time.Second}
	k := dialServer(t, p.at, o).Cohort(newPath(), zklock.CohortOptions{})
	held := acquireLock(t, k.Lock)
	next := inLine(t, t.Context(), k, 1)
	p.Partition(true)
	<-held.Done()
	p.Partition(false)
	p.cut() // to the same session
	awaitQueue(t, see, k.Path(), 2)
	expectWaiting(t, next)
	expectLost(t, held)
	l := awaitLease(t, next)
	expectRisingTokens(t, held, l)
	unlockLease(t, l)
	awaitQueue(t, see, k.Path(), 0)
}

// leasesComplete: Shutdown can give back every lease that it finds, also during a handover.
func leasesComplete(t *testing.T, at harness.Endpoint) {
	c := dialServer(t, at, zklock.ClientOptions{})
	k := c.Cohort(newPath(), zklock.CohortOptions{})
	var begun atomic.Int32
	var done sync.WaitGroup
	defer done.Wait()
	for range 3 {
		done.Go(func() {
			for begun.Add(1) < 1000 {
				unlockLease(t, acquireLock(t, k.Lock))
			}
		})
	}
	for begun.Load() < 1000 {
		if !zklock.Complete(c) {
			t.Fatal("a lease cannot be given back")
		}
	}
}

func cohortStorm(t *testing.T, at harness.Endpoint) {
	options := []zklock.CohortOptions{{Handovers: -1}, {Handovers: 2, LocalFirst: true}, {}, {}}
	s := &stage{at: at, see: dialRaw(t, at), path: newPath()}
	disturbClients(t, s, func(c *zklock.Client, i int) []taker {
		k := c.Cohort(s.path, options[i])
		return []taker{k.Lock, k.Lock, k.Lock}
	})
	s.deserted(t)
}
