package redislock_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"locklab/harness"
	locks "locklab/lock"
	"locklab/redislock"
)

func TestMulti(t *testing.T) {
	runOnServer(t, []serverTest{
		{"names, tokens and deadline", multiNames},
		{"all or none", multiAllOrNone},
		{"a part is lost while waiting", multiLostWaiting},
		{"a part is lost as the context ends", multiLostEnding},
		{"a part is lost while held", multiLostHeld},
	})
}

func newSortedKeys() (first, last string) {
	a, b := newKey(), newKey()
	return min(a, b), max(a, b)
}

func multiNames(t *testing.T, at harness.Endpoint) {
	client := newClient(t, dialServer(t, at))
	a, b := newSortedKeys()
	m := client.Multi([]string{b, a, b}, redislock.Options{})
	if got := m.Names(); !slices.Equal(got, []string{a, b}) {
		t.Errorf("Names = %q, want %q", got, []string{a, b})
	}
	l := lockNow(t, m)
	if l.TokenOf(a) == 0 || l.TokenOf(b) == 0 || l.Token() != l.TokenOf(a) || l.TokenOf("c") != 0 {
		t.Errorf("tokens %d, %d and %d; Token is %d", l.TokenOf(a), l.TokenOf(b), l.TokenOf("c"), l.Token())
	}
	if l.TokenOf(b) <= l.TokenOf(a) { // taken later, and both follow the server's time
		t.Errorf("the tokens of the first and the second are %d and %d", l.TokenOf(a), l.TokenOf(b))
	}
	if until, ok := l.Deadline(); !ok || time.Until(until) < redislock.DefaultTTL/2 {
		t.Errorf("Deadline = %v from now, %t", time.Until(until), ok)
	}
	requireTaken(t, "the first", client.Mutex(a, redislock.Options{}))
	requireTaken(t, "the second", client.Mutex(b, redislock.Options{}))
	unlockLease(t, l)
}

func multiAllOrNone(t *testing.T, at harness.Endpoint) {
	c := dialServer(t, at)
	client := newClient(t, c)
	first, last := newSortedKeys()
	l := lockNow(t, client.Mutex(last, redislock.Options{}))
	m := client.Multi([]string{first, last}, redislock.Options{})
	requireTaken(t, "all, one of them held", m)
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := m.Lock(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Lock = %v, want the error of the context", err)
	}
	waitUntil(t, "the first is free", func() bool { return ownerOf(t, c, first) == "" })
	other := newClient(t, dialServer(t, at))
	failed, _ := waitTwice(t, other.Multi([]string{first, last}, redislock.Options{}))
	waitUntil(t, "one has the first and waits", func() bool { return countWaiting(t, c, last) == 1 && countWaiting(t, c, first) == 1 })
	requireNoError(t, other.Shutdown(t.Context()))
	if err := errors.Join(<-failed, <-failed); !errors.Is(err, redislock.ErrClosed) || ownerOf(t, c, first) != "" {
		t.Errorf("Lock during Shutdown = %v; the owner of the first is %q", err, ownerOf(t, c, first))
	}
	unlockLease(t, l)
}

func multiLostWaiting(t *testing.T, at harness.Endpoint) {
	c := dialServer(t, at)
	client := newClient(t, c)
	first, last := newSortedKeys()
	holder := lockNow(t, client.Mutex(last, redislock.Options{}))
	got := beginLock(t, newClient(t, dialServer(t, at)).Multi([]string{first, last}, redislock.Options{TTL: time.Second}))
	waitUntil(t, "the first is held", func() bool { return ownerOf(t, c, first) != "" })
	stolen := ownerOf(t, c, first)
	requireNoError(t, c.client.Set(t.Context(), first, "another 1", time.Second).Err())
	time.Sleep(500 * time.Millisecond) // the renewal finds out
	unlockLease(t, holder)
	l := takeLease(t, got)
	if now := ownerOf(t, c, first); now == stolen || now == "another 1" || l.Err() != nil {
		t.Errorf("the first belongs to %q after %q, and Err is %v", now, stolen, l.Err())
	}
	unlockLease(t, l)
}

// multiLostEnding: Lock returns the error of its context, not of the wait that the loss ended.
func multiLostEnding(t *testing.T, at harness.Endpoint) {
	c := dialServer(t, at)
	client := newClient(t, c)
	first, last := newSortedKeys()
	holder := lockNow(t, client.Mutex(last, redislock.Options{}))
	boom := errors.New("boom")
	ctx, cancel := context.WithCancelCause(t.Context())
	withdraws := &redislock.Trace{
		Queued: func(locks.QueuedInfo) { c.client.Del(t.Context(), first) },
		Sent: func(i locks.SentInfo) {
			if i.Op == "release" {
				cancel(boom)
			}
		},
	}
	_, err := newClient(t, dialServer(t, at)).Multi([]string{first, last}, redislock.Options{TTL: time.Second}).Lock(redislock.WithTrace(ctx, withdraws))
	if !errors.Is(err, boom) || !errors.Is(err, redislock.ErrNotAcquired) {
		t.Errorf("Lock = %v, want ErrNotAcquired and the cause of the context", err)
	}
	unlockLease(t, holder)
}

func multiLostHeld(t *testing.T, at harness.Endpoint) {
	c := dialServer(t, at)
	a, b := newKey(), newKey()
	l := lockNow(t, newClient(t, c).Multi([]string{a, b}, redislock.Options{TTL: 300 * time.Millisecond}))
	requireNoError(t, c.client.Del(t.Context(), b).Err())
	requireDone(t, l)
	requireLost(t, l)
	for _, key := range []string{a, b} {
		if got := ownerOf(t, c, key); got != "" {
			t.Errorf("%s is still held by %q", key, got)
		}
	}
}
