package zklock_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"locklab/harness"
	"locklab/zklock"
)

func TestSession(t *testing.T) {
	t.Parallel()
	at := endpoint(t)
	atOnce(t, at, []serverTest{
		{"lost reply to create", lostReplyToCreate},
		{"lost reply to create and cancel", lostReplyAndCancel},
		{"lost reply to delete", lostReplyToDelete},
		{"connection lost while waiting", cutWhileWaiting},
		{"cut off", cutOff},
		{"session expires", sessionExpires},
		{"session expires while waiting", expiresWhileWaiting},
		{"session expires before the grant", expiresBeforeGrant},
		{"too little left for a lease", leaseTooShort},
		{"silent server", silentServer},
		{"late replies", lateReplies},
		{"close", closeClient},
		{"no authority", noAuthority},
	})
}

func lostReplyToCreate(t *testing.T, at harness.Endpoint) {
	p, see := newProxy(t, at), raw(t, at)
	m := dial(t, p.at, zklock.ClientOptions{}).Mutex(newPath(), zklock.Options{})
	unlock(t, lock(t, m))
	p.swallow.Store(true)
	l := lock(t, m)
	if p.swallow.Load() {
		t.Fatal("the test shows nothing: no reply was lost")
	}
	if nodes := queue(t, see, m.Path()); len(nodes) != 1 || nodes[0][len(nodes[0])-10:] != "0000000001" {
		t.Errorf("the queue is %q, want the second ticket ever alone", nodes)
	}
	unlock(t, l)
	queued(t, see, m.Path(), 0)
}

// lostReplyAndCancel: an unconfirmed ticket is removed after its waiter has left.
func lostReplyAndCancel(t *testing.T, at harness.Endpoint) {
	p, see := newProxy(t, at), raw(t, at)
	m := dial(t, p.at, zklock.ClientOptions{}).Mutex(newPath(), zklock.Options{})
	unlock(t, lock(t, m))
	p.refuse.Store(true) // the client does not reconnect for now
	p.swallow.Store(true)
	ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	began := time.Now()
	if _, err := m.Lock(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("Lock = %v, want %v", err, context.DeadlineExceeded)
	}
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("Lock returned after %v: it waited for the connection", took)
	}
	queued(t, see, m.Path(), 1) // the ticket of the lost reply
	p.refuse.Store(false)
	queued(t, see, m.Path(), 0)
}

func lostReplyToDelete(t *testing.T, at harness.Endpoint) {
	p, see := newProxy(t, at), raw(t, at)
	m := dial(t, p.at, zklock.ClientOptions{}).Mutex(newPath(), zklock.Options{})
	l := lock(t, m)
	p.swallow.Store(true)
	lost(t, l) // another might have deleted the ticket
	queued(t, see, m.Path(), 0)
}

func cutWhileWaiting(t *testing.T, at harness.Endpoint) {
	p, see := newProxy(t, at), raw(t, at)
	path := newPath()
	head := lock(t, dial(t, at, zklock.ClientOptions{}).Mutex(path, zklock.Options{}))
	next := waiting(t, t.Context(), dial(t, p.at, zklock.ClientOptions{}).Mutex(path, zklock.Options{}), see, 2)
	before := queue(t, see, path)
	p.refuse.Store(true)
	p.cut()
	unlock(t, head) // while the waiter cannot receive it
	p.refuse.Store(false)
	l := take(t, next)
	if nodes := queue(t, see, path); len(nodes) != 1 || nodes[0] != before[1] {
		t.Errorf("the queue is %q, want %q", nodes, before[1])
	}
	unlock(t, l)
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
	p.silent.Store(true)
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
	if err := held.Err(); !errors.Is(err, zklock.ErrLost) {
		t.Errorf("Err = %v, want ErrLost", err)
	}
	p.silent.Store(false)
	p.cut()
	lost(t, held)
}

// sessionExpires: the local clock does not notice first.
func sessionExpires(t *testing.T, at harness.Endpoint) {
	p, see := newProxy(t, at), raw(t, at)
	c := dial(t, p.at, zklock.ClientOptions{SessionTimeout: time.Second})
	zklock.SetMargin(c, -time.Hour)
	m := c.Mutex(newPath(), zklock.Options{})
	l := lock(t, m)
	p.refuse.Store(true)
	p.cut()
	queued(t, see, m.Path(), 0)
	if err := l.Err(); err != nil {
		t.Errorf("no server can have told the client yet, but Err = %v", err)
	}
	p.refuse.Store(false)
	select {
	case <-l.Done():
	case <-time.After(patience):
		t.Fatal("Done stays open")
	}
	if err := l.Err(); !errors.Is(err, zklock.ErrSessionExpired) {
		t.Errorf("Err = %v, want ErrSessionExpired", err)
	}
	lost(t, l)
	again := lock(t, m) // in the next session
	if again.Token() <= l.Token() {
		t.Errorf("token %d after %d", again.Token(), l.Token())
	}
	unlock(t, again)
}

func expiresWhileWaiting(t *testing.T, at harness.Endpoint) {
	p, see := newProxy(t, at), raw(t, at)
	path := newPath()
	stable := dial(t, at, zklock.ClientOptions{}).Mutex(path, zklock.Options{})
	head := lock(t, stable)
	m := dial(t, p.at, zklock.ClientOptions{SessionTimeout: time.Second}).Mutex(path, zklock.Options{})
	unlucky := waiting(t, t.Context(), m, see, 2)
	last := waiting(t, t.Context(), stable, see, 3)
	p.refuse.Store(true)
	p.cut()
	queued(t, see, path, 2)
	p.refuse.Store(false)
	queued(t, see, path, 3)
	unlock(t, head)
	l := take(t, last)
	empty(t, unlucky)
	unlock(t, l)
	unlock(t, take(t, unlucky))
	queued(t, see, path, 0)
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
	p.silent.Store(true)
	began := time.Now()
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if _, err := m.Lock(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Lock = %v, want %v", err, context.DeadlineExceeded)
	}
	if err := held.Unlock(ctx); err == nil || errors.Is(err, zklock.ErrNotHeld) {
		t.Errorf("Unlock = %v, want that no server answers", err)
	}
	if took := time.Since(began); took > 6*time.Second {
		t.Errorf("Lock and Unlock took %v together", took)
	}
	p.silent.Store(false)
	p.cut() // the server still has the session
	queued(t, see, heldPath, 0)
	queued(t, see, m.Path(), 0)
	eventually(t, "the lease knows", func() bool { return errors.Is(held.Err(), zklock.ErrReleased) })
}

func lateReplies(t *testing.T, at harness.Endpoint) {
	p, see := newProxy(t, at), raw(t, at)
	m := dial(t, p.at, zklock.ClientOptions{}).Mutex(newPath(), zklock.Options{})
	unlock(t, lock(t, m))
	p.delay.Store(int64(time.Second))
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := m.Lock(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("Lock = %v, want %v", err, context.DeadlineExceeded)
	}
	queued(t, see, m.Path(), 1)
	time.Sleep(2 * time.Second) // both replies have come, to the acquisition and to the release
	p.delay.Store(0)
	queued(t, see, m.Path(), 0)
}

func closeClient(t *testing.T, at harness.Endpoint) {
	see := raw(t, at)
	c := dial(t, at, zklock.ClientOptions{})
	m := c.Mutex(newPath(), zklock.Options{})
	l := lock(t, m)
	next := waiting(t, t.Context(), m, see, 2)
	for range 2 {
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if r := <-next; !errors.Is(r.err, zklock.ErrClosed) {
		t.Errorf("waiting Lock = %v, want ErrClosed", r.err)
	}
	if _, err := m.Lock(t.Context()); !errors.Is(err, zklock.ErrClosed) {
		t.Errorf("Lock = %v, want ErrClosed", err)
	}
	lost(t, l)
	queued(t, see, m.Path(), 0)
}

func noAuthority(t *testing.T, at harness.Endpoint) {
	path := newPath()
	stranger := dial(t, at, zklock.ClientOptions{})
	unlock(t, lock(t, stranger.Mutex(newPath(), zklock.Options{}))) // the root is open to all
	owner := dial(t, at, zklock.ClientOptions{Username: user, Password: password})
	unlock(t, lock(t, owner.Mutex(path, zklock.Options{})))
	_, err := stranger.Mutex(path, zklock.Options{}).Lock(t.Context())
	if !errors.Is(err, zk.ErrNoAuth) {
		t.Errorf("Lock by a stranger = %v, want %v", err, zk.ErrNoAuth)
	}
	unlock(t, lock(t, owner.Mutex(path, zklock.Options{})))
}
