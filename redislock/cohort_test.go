package redislock_test

import (
	"context"
	"errors"
	"math"
	"sync"
	"testing"
	"time"

	"locklab/harness"
	"locklab/redislock"
)

func TestCohort(t *testing.T) {
	runOnServer(t, []serverTest{
		{"requests and tokens", cohortRequests},
		{"the last waiter leaves", cohortWithdraws},
		{"a lease is lost", cohortLost},
		{"options", cohortOptions},
	})
}

// lockRepeatedly lets n goroutines take a lock that often each, and calls inside with each lease.
func lockRepeatedly(t *testing.T, m redislock.Lockable, n, times int, inside func(l *redislock.Lease)) {
	var wg sync.WaitGroup
	for range n {
		wg.Go(func() {
			for range times {
				ctx, cancel := context.WithTimeout(t.Context(), patience)
				err := redislock.Do(ctx, m, func(_ context.Context, l *redislock.Lease) error { inside(l); return nil })
				cancel()
				if err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
}

func cohortRequests(t *testing.T, at harness.Endpoint) {
	const workers, each, inARow = 8, 50, 10
	c := dialServer(t, at)
	m := newClient(t, c).Cohort(newKey(), redislock.CohortOptions{Handovers: inARow - 1})
	unlockLease(t, lockNow(t, m)) // the server may not have the scripts yet
	before := c.Counts()
	var last uint64 // guarded by the lock
	lockRepeatedly(t, m, workers, each, func(l *redislock.Lease) {
		if l.Token() <= last {
			t.Errorf("token %d after %d", l.Token(), last)
		}
		last = l.Token()
		time.Sleep(50 * time.Microsecond) // so that the others are back
	})
	got := c.Counts().Sub(before).Requests
	if least, most := uint64(workers*each/inARow*2), uint64(workers*each/2); got < least || got > most {
		t.Errorf("%d acquisitions, up to %d in a row, cost %d requests, want %d to %d", workers*each, inARow, got, least, most)
	}
}

func cohortWithdraws(t *testing.T, at harness.Endpoint) {
	c, key := dialServer(t, at), newKey()
	client := newClient(t, c)
	m := client.Cohort(key, redislock.CohortOptions{})
	other := lockNow(t, newClient(t, dialServer(t, at)).Cohort(key, redislock.CohortOptions{}))
	requireTaken(t, "a held lock", m)
	waits := func(n int64) func() bool { return func() bool { return countWaiting(t, c, key) == n } }
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	gone := make(chan error, 2)
	for range 2 {
		go func() { _, err := m.Lock(ctx); gone <- err }()
	}
	waitUntil(t, "the process waits, once", waits(1))
	cancel()
	for range 2 {
		if err := <-gone; !errors.Is(err, context.Canceled) {
			t.Errorf("Lock = %v, want the error of the context", err)
		}
	}
	waitUntil(t, "no waiters", waits(0))
	got := beginLock(t, m)
	waitUntil(t, "the process waits again", waits(1))
	unlockLease(t, other)
	unlockLease(t, takeLease(t, got))
	if v := ownerOf(t, c, key); v != "" {
		t.Errorf("%q still has the lock", v)
	}
}

func cohortLost(t *testing.T, at harness.Endpoint) {
	c, key := dialServer(t, at), newKey()
	m := newClient(t, c).Cohort(key, redislock.CohortOptions{Options: redislock.Options{TTL: 300 * time.Millisecond}})
	l := lockNow(t, m)
	got := beginLock(t, m)
	time.Sleep(50 * time.Millisecond)
	requireNoError(t, c.client.Del(t.Context(), key).Err())
	next := takeLease(t, got)
	requireLost(t, l)
	if err := next.Err(); err != nil || next.Token() <= l.Token() {
		t.Errorf("the next holder's Err is %v, its token %d after %d", err, next.Token(), l.Token())
	}
	if ownerOf(t, c, key) == "" {
		t.Error("a late Unlock released the lock of the next holder")
	}
	unlockLease(t, next)
}

func cohortOptions(t *testing.T, at harness.Endpoint) {
	client := newClient(t, dialServer(t, at))
	for _, c := range []struct{ handovers, inARow int }{{0, 17}, {-1, 1}, {math.MinInt, 1}, {1, 2}, {4095, 4096}} {
		m := client.Cohort(newKey(), redislock.CohortOptions{Handovers: c.handovers})
		if got := redislock.CohortInARow(m); got != c.inARow {
			t.Errorf("%d handovers: %d acquisitions in a row, want %d", c.handovers, got, c.inARow)
		}
	}
}
