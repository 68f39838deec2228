package zklock_test

import (
	"context"
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
		{"session expires before the grant", expiresBeforeGrant},
		{"too little left for a lease", leaseTooShort},
	})
}

// lostReplyAndCancel: an unconfirmed ticket is removed after its waiter has left.
func lostReplyAndCancel(t *testing.T, at harness.Endpoint) {
	p, see := newProxy(t, at), raw(t, at)
	m := dial(t, p.at, zklock.ClientOptions{}).Mutex(newPath(), zklock.Options{})
	unlock(t, lock(t, m))
	p.Refuse(true) // the client does not reconnect for now
	p.loseReply()
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
