package redislock

import (
	"context"
	"testing"
	"time"
)

// overLease returns an expired lease of 20 ms that nothing has ended.
func overLease(t *testing.T, c *Client, name string) *Lease {
	l, err := c.Mutex(name, Options{TTL: 20 * time.Millisecond}).acquire(t.Context(), true)
	if err != nil {
		t.Fatal(err)
	}
	c.drop(l)
	time.Sleep(time.Until(l.until()))
	return l
}

// Stopped stops a process for longer than its lease before Lock returns, in each place.
var Stopped = map[string]func(t *testing.T, c *Client){
	"Lock":   stoppedLock,
	"Cohort": stoppedCohort,
}

const stoppedName = "locklab:{stopped}"

func stoppedLock(t *testing.T, c *Client) {
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

func stoppedCohort(t *testing.T, c *Client) {
	m := c.Cohort(stoppedName, CohortOptions{})
	m.turns.Try() // it has the lock, and a waiter to hand it to
	type got struct {
		l   *Lease
		err error
	}
	done := make(chan got, 1)
	go func() {
		l, err := m.Lock(t.Context())
		done <- got{l, err}
	}()
	for m.turns.Len() == 0 {
		time.Sleep(time.Millisecond)
	}
	last := overLease(t, c, stoppedName)
	if !m.turns.Serve(func() (acquisition, bool) { return acquisition{lease: last}, true }) {
		t.Fatal("there is no waiter")
	}
	g := <-done
	alive(t, g.l, g.err)
}

// alive expects a lease that can be unlocked.
func alive(t *testing.T, l *Lease, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	if left := time.Until(l.until()); left <= 0 || l.Err() != nil { // not only Err, which Lock relies on
		t.Errorf("Lock returned a lease that was over: %v, until %v", l.Err(), left)
	}
	if err := l.Unlock(t.Context()); err != nil {
		t.Error(err)
	}
}
