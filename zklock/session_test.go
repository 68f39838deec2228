package zklock_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"locklab/harness"
	"locklab/zklock"
)

func TestSession(t *testing.T) {
	t.Parallel()
	at := endpoint(t)
	atOnce(t, at, []serverTest{
		{"lost reply to create and cancel", lostReplyAndCancel},
		{"cut off", cutOff},
		{"session expires before the grant", expiresBeforeGrant},
		{"too little left for a lease", leaseTooShort},
		{"silent server", silentServer},
	})
}

// lostReplyAndCancel: an unconfirmed ticket is removed after its waiter has left.
func lostReplyAndCancel(t *testing.T, at harness.Endpoint) {
	p, see := newProxy(t, at), raw(t, at)
	m := dial(t, p.at, zklock.ClientOptions{}).Mutex(newPath(), zklock.Options{})
	unlock(t, lock(t, m))
	p.Refuse(true) // the client does not reconnect for now
	p.loseReply(0)
	ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	began := time.Now()
	expectError(t, lockError(ctx, m.Lock), context.DeadlineExceeded)
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("Lock returned after %v: it waited for the connection", took)
	}
	awaitQueue(t, see, m.Path(), 1) // the ticket of the lost reply
	p.Refuse(false)
	awaitQueue(t, see, m.Path(), 0)
}

func cutOff(t *testing.T, at harness.Endpoint) {
	p, see := newProxy(t, at), raw(t, at)
	path := newPath()
	o := zklock.ClientOptions{SessionTimeout: 2 * time.Second}
	held := lock(t, dial(t, p.at, o).Mutex(path, zklock.Options{}))
	next := waiting(t, t.Context(), dial(t, at, zklock.ClientOptions{}).Mutex(path, zklock.Options{}), see, 2)
	time.Sleep(o.SessionTimeout) // alive all the time
	if err := held.Err(); err != nil {
		t.Fatalf("Err of a healthy lease = %v", err)
	}
	until, ok := held.Deadline()
	if left := time.Until(until); !ok || left <= 0 || left > o.SessionTimeout {
		t.Errorf("the deadline of a healthy lease is %v ahead, %t", left, ok)
	}
	p.Partition(true)
	var told, entered time.Time
	for told.IsZero() || entered.IsZero() {
		done := held.Done()
		if !told.IsZero() {
			done = nil
		}
		select {
		case <-done:
			told = time.Now()
		case r := <-next:
			if r.err != nil {
				t.Fatal(r.err)
			}
			entered = time.Now()
			unlock(t, r.l)
		case <-time.After(patience):
			t.Fatalf("told %v, next holder %v", told, entered)
		}
	}
	if margin := entered.Sub(told); margin <= 0 {
		t.Errorf("the old holder was told %v after the next entered", -margin)
	} else {
		t.Logf("the old holder was told %v before the next entered", margin)
	}
	expectError(t, held.Err(), zklock.ErrLost)
	p.Partition(false)
	p.cut()
	expectLost(t, held)
}

// expiresBeforeGrant: the session or deadline ends between the look and the lease.
func expiresBeforeGrant(t *testing.T, at harness.Endpoint) {
	for why, happens := range map[string]func(*zklock.Client){
		"of an expired session": zklock.Expire,
		"after the deadline":    func(c *zklock.Client) { zklock.SetMargin(c, time.Hour) },
	} {
		m := dial(t, at, zklock.ClientOptions{}).Mutex(newPath(), zklock.Options{})
		if granted, err := zklock.GrantAfter(m, happens); granted || err != nil {
			t.Errorf("a ticket %s is granted the lock: %t, %v", why, granted, err)
		}
	}
}

// leaseTooShort: when little is left of the session, a lease begins after a proof.
func leaseTooShort(t *testing.T, at harness.Endpoint) {
	c := dial(t, at, zklock.ClientOptions{SessionTimeout: time.Second})
	before := zklock.Deadline(c)
	eventually(t, "little is left", func() bool { return time.Until(before) < c.SessionTimeout()/10 })
	if err := zklock.Assure(t.Context(), c); err != nil || !zklock.Deadline(c).After(before) {
		t.Errorf("a lease may begin with %v left, %v", time.Until(zklock.Deadline(c)), err)
	}
}

// silentServer: contexts bound Lock, and unlockWait bounds Unlock.
func silentServer(t *testing.T, at harness.Endpoint) {
	p, see := newProxy(t, at), raw(t, at)
	c := dial(t, p.at, zklock.ClientOptions{SessionTimeout: 10 * time.Second})
	heldPath, m := newPath(), c.Mutex(newPath(), zklock.Options{})
	held := lock(t, c.Mutex(heldPath, zklock.Options{}))
	p.Partition(true)
	began := time.Now()
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	expectError(t, lockError(ctx, m.Lock), context.DeadlineExceeded)
	if err := held.Unlock(ctx); err == nil || errors.Is(err, zklock.ErrNotHeld) {
		t.Errorf("Unlock = %v, want that no server answers", err)
	}
	if took := time.Since(began); took > 6*time.Second {
		t.Errorf("Lock and Unlock took %v together", took)
	}
	p.Partition(false)
	p.cut() // the server still has the session
	awaitQueue(t, see, heldPath, 0)
	awaitQueue(t, see, m.Path(), 0)
	eventually(t, "the lease knows", func() bool { return errors.Is(held.Err(), zklock.ErrReleased) })
}
