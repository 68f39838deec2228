package redislock_test

import (
	"context"
	"crypto/rand"
	"errors"
	"slices"
	"testing"
	"time"

	"locklab/harness"
	locks "locklab/lock"
	"locklab/redislock"
)

func TestReentrant(t *testing.T) {
	runOnServer(t, []serverTest{
		{"expiry inside", reentrantExpiry},
		{"lost here, not yet in the server", reentrantLostHere},
		{"one owner, many goroutines", reentrantGoroutines},
		{"TryLock beside a Lock of its owner", reentrantTry},
		{"two locks with one channel", reentrantBraces},
		{"Lock during an Unlock of its owner", func(t *testing.T, at harness.Endpoint) {
			lockRepeatedly(t, newClient(t, dialServer(t, at)).Reentrant(newKey(), redislock.Options{}).Owner(), 3, 300, func(*redislock.Lease) {})
		}},
	})
}

func requireCount(t *testing.T, c *link, name, count string) {
	t.Helper()
	if got, err := c.client.HVals(t.Context(), name).Result(); err != nil || !slices.Equal(got, []string{count}) {
		t.Fatalf("the owners hold the lock %q times, %v; want one owner, and %s", got, err, count)
	}
}

// reentrantExpiry: the old leases of an owner past its lease do not release the new one.
func reentrantExpiry(t *testing.T, at harness.Endpoint) {
	c := dialServer(t, at)
	key := newKey()
	m := newClient(t, c).Reentrant(key, redislock.Options{})
	a, b := m.Owner(), m.Owner()
	late := lockNow(t, a)
	c.client.Del(t.Context(), key) // as if the lease were over
	next := lockNow(t, b)
	requireTaken(t, "an owner that has lost the lock", a)
	unlockLease(t, next)
	again := lockNow(t, a)
	requireLost(t, late)
	inner := lockNow(t, a)
	requireCount(t, c, key, "2")
	unlockLease(t, inner)
	unlockLease(t, again)
}

// reentrantLostHere: a lock that is over by our clock is not taken again.
func reentrantLostHere(t *testing.T, at harness.Endpoint) {
	c := dialServer(t, at)
	key := newKey()
	o := newClient(t, c).Reentrant(key, redislock.Options{TTL: 100 * time.Millisecond, DisableRenewal: true}).Owner()
	forgotten := lockNow(t, o)
	c.client.PExpire(t.Context(), key, time.Second)
	<-forgotten.Done()
	requireTaken(t, "an owner whose lease is over", o)
	unlockLease(t, lockNow(t, o))
	if n := c.client.Exists(t.Context(), key).Val(); n != 0 {
		t.Error("the key is left")
	}
}

func reentrantGoroutines(t *testing.T, at harness.Endpoint) {
	c, other := dialServer(t, at), dialServer(t, at)
	key := newKey()
	mine := newClient(t, c).Reentrant(key, redislock.Options{}).Owner()
	rival := newClient(t, other).Reentrant(key, redislock.Options{}).Owner()
	taken := lockNow(t, rival)
	begins := make([]<-chan *redislock.Lease, 8)
	for i := range begins {
		begins[i] = beginLock(t, mine)
	}
	time.Sleep(50 * time.Millisecond)
	began := time.Now()
	unlockLease(t, taken)
	var leases []*redislock.Lease
	for _, got := range begins {
		leases = append(leases, takeLease(t, got))
	}
	if took := time.Since(began); took > redislock.DefaultTTL/3 {
		t.Errorf("one message has woken all of them after %v", took)
	}
	requireCount(t, other, key, "8")
	for _, l := range leases[1:] {
		unlockLease(t, l)
	}
	requireTaken(t, "one of eight is left", rival)
	unlockLease(t, leases[0])
	unlockLease(t, lockNow(t, rival))
}

// reentrantBraces: a message about a lock also wakes a waiter if another lock of that channel has one.
func reentrantBraces(t *testing.T, at harness.Endpoint) {
	c, w := dialServer(t, at), dialServer(t, at)
	holder, waiter, name := newClient(t, c), newClient(t, w), "locklab:redislock-test-"+rand.Text()
	before := w.Counts()
	var held [2]*redislock.Lease
	var got [2]<-chan *redislock.Lease
	for i, name := range []string{"{" + name + "}", name} {
		held[i] = lockNow(t, holder.Reentrant(name, redislock.Options{}))
		got[i] = beginLock(t, waiter.Reentrant(name, redislock.Options{}))
		waitUntil(t, "it has asked and listens", func() bool { return w.Counts().Sub(before).Requests >= uint64(3+i) })
	}
	for i := range 2 {
		unlockLease(t, held[1-i])
		unlockLease(t, takeLease(t, got[1-i]))
	}
}

func reentrantTry(t *testing.T, at harness.Endpoint) {
	client := newClient(t, dialServer(t, at))
	m := client.Reentrant(newKey(), redislock.Options{})
	held, owner := lockNow(t, m), m.Owner()
	waits := make(chan struct{})
	got := beginLock(t, traced{owner, &redislock.Trace{Queued: func(locks.QueuedInfo) { close(waits) }}})
	<-waits
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if _, err := owner.TryLock(ctx); !errors.Is(err, redislock.ErrNotAcquired) || ctx.Err() != nil {
		t.Errorf("TryLock = %v, want ErrNotAcquired at once", err)
	}
	unlockLease(t, held)
	outer := takeLease(t, got)
	inner, err := owner.TryLock(ctx)
	requireNoError(t, err)
	unlockLease(t, inner)
	unlockLease(t, outer)
}
