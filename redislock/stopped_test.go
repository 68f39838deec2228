package redislock

import (
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"locklab/harness"
	"locklab/harness/locktest"
	"locklab/internal/wire"
)

// connected returns a Client of a real server for the duration of t.
func connected(t *testing.T) (*Client, *redis.Client) {
	rdb, _, err := wire.Redis(locktest.Endpoint(t, harness.KindRedis))
	if err != nil {
		t.Fatal(err)
	}
	c := NewClient(rdb, ClientOptions{})
	t.Cleanup(func() { c.Close(); rdb.Close() })
	return c, rdb
}

// overLease returns a lease of 20 ms of the lock called name whose time is over, and that
// nothing has ended: as if the watchdog, and everything else, had stood still.
func overLease(t *testing.T, c *Client, name string) *Lease {
	l, err := c.Mutex(name, Options{Lease: 20 * time.Millisecond}).acquire(t.Context(), true)
	if err != nil {
		t.Fatal(err)
	}
	c.drop(l)
	time.Sleep(time.Until(l.until()))
	return l
}

// TestStopped: a process that was stopped for longer than its lease, between the grant and
// the return of Lock, does not return that lease but gets another one.
func TestStopped(t *testing.T) {
	t.Run("Lock", stoppedLock)
	t.Run("Multi", stoppedMulti)
	t.Run("Cohort", stoppedCohort)
}

const stoppedName = "locklab:{stopped}"

func stoppedLock(t *testing.T) {
	c, _ := connected(t)
	m := c.Mutex(stoppedName, Options{})
	tries := 0
	l, err := c.await(t.Context(), stoppedName, 0, func(ctx context.Context) (*Lease, error) {
		if tries++; tries == 1 {
			return overLease(t, c, stoppedName), nil
		}
		return m.acquire(ctx, true)
	})
	alive(t, l, err)
}

func stoppedMulti(t *testing.T) {
	c, _ := connected(t)
	m := c.Mutex(stoppedName, Options{})
	tries := 0
	l, err := c.await(t.Context(), stoppedName, 0, func(ctx context.Context) (*Lease, error) {
		j := newJoint(c, stoppedName, 1)
		j.all.free = j.unwind
		if tries++; tries == 1 {
			j.add(overLease(t, c, stoppedName))
			return j.begin(), nil
		}
		l, err := m.acquire(ctx, true)
		if err == nil {
			j.add(l)
		}
		return j.begin(), err
	})
	alive(t, l, err)
}

func stoppedCohort(t *testing.T) {
	c, _ := connected(t)
	m := c.Cohort(stoppedName, CohortOptions{})
	m.busy = true // it has the lock, and a waiter to hand it to
	type got struct {
		l   *Lease
		err error
	}
	done := make(chan got, 1)
	go func() {
		l, err := m.Lock(t.Context())
		done <- got{l, err}
	}()
	for !m.wanted() {
		time.Sleep(time.Millisecond)
	}
	last := overLease(t, c, stoppedName)
	if !m.give(turn{lease: last}) {
		t.Fatal("nobody waits")
	}
	g := <-done
	alive(t, g.l, g.err)
}

// alive expects a lease that can be unlocked.
func alive(t *testing.T, l *Lease, err error) {
	t.Helper()
	switch {
	case err != nil:
		t.Fatal(err)
	case !l.lives():
		t.Errorf("Lock returned a lease that was over: %v, until %v", l.Err(), time.Until(l.until()))
	}
	if err := l.Unlock(t.Context()); err != nil {
		t.Error(err)
	}
}
