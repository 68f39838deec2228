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

func TestReentrant(t *testing.T) {
	t.Parallel()
	at := endpoint(t)
	atOnce(t, at, []serverTest{
		{"counts", ownerCounts},
		{"requests", ownerRequests},
		{"by handle", ownedByHandle},
		{"by context", ownedByContext},
		{"by client", ownedByClient},
		{"by session", ownedBySession},
		{"lost", ownerLoses},
		{"waiters of one owner share a place", ownerSharesPlace},
		{"one of them gives up", ownerKeepsPlace},
		{"try", ownerTries},
		{"zk.Lock on the same path", ownerBesideZKLock},
		{"revoke", revokeHeard},
		{"revoke with no owner that listens", revokeWithoutListener},
		{"revoke what cannot be asked for", revokeSealed},
		{"revoke on a path with others", revokeMixed},
		{"revoke of what is no ticket", revokeNonsense},
	})
}

func newReentrant(t *testing.T, at harness.Endpoint, path string, o zklock.ReentrantOptions) *zklock.Reentrant {
	t.Helper()
	return dial(t, at, zklock.ClientOptions{}).Reentrant(path, o)
}

func ownerCounts(t *testing.T, at harness.Endpoint) {
	path := newPath()
	m, other := newReentrant(t, at, path, zklock.ReentrantOptions{}), newReentrant(t, at, path, zklock.ReentrantOptions{})
	o := m.Owner()
	var leases []*zklock.Lease
	for i := range 4 {
		l := acquire(t, o.Lock)
		if l.Token() == 0 || i > 0 && l.Token() != leases[0].Token() {
			t.Errorf("the token of lease %d is %d, want that of the first", i, l.Token())
		}
		if leases = append(leases, l); o.Count() != i+1 {
			t.Errorf("Count = %d, want %d", o.Count(), i+1)
		}
	}
	next := behind(t.Context(), other.Owner().Lock)
	for i, k := range []int{0, 2, 3, 1} { // the first is nothing special
		expectWaiting(t, next)
		unlock(t, leases[k])
		expectError(t, leases[k].Unlock(t.Context()), zklock.ErrNotHeld)
		expectError(t, leases[k].Err(), zklock.ErrReleased)
		expectEqual(t, "Count", o.Count(), 3-i)
	}
	l := awaitLease(t, next)
	expectRisingTokens(t, leases[0], l)
	unlock(t, l)
}

func ownerRequests(t *testing.T, at harness.Endpoint) {
	for _, test := range []struct {
		name string
		o    zklock.ReentrantOptions
		want uint64
	}{
		{"plain", zklock.ReentrantOptions{}, 3},
		{"with OnRevoke", zklock.ReentrantOptions{OnRevoke: func(*zklock.Owner) {}}, 4},
	} {
		c := dial(t, at, zklock.ClientOptions{})
		m := c.Reentrant(newPath(), test.o)
		o := m.Owner()
		first := acquire(t, o.Lock) // makes the parents
		time.Sleep(aWhile / 10)     // as below
		unlock(t, first)
		before := counts(c)
		const acquisitions = 5
		for range acquisitions {
			outer, inner := acquire(t, o.Lock), acquire(t, o.Lock)
			time.Sleep(aWhile / 10) // OnRevoke is prepared in the background
			unlock(t, inner)
			unlock(t, outer)
		}
		if have := counts(c).Sub(before).Requests; have != test.want*acquisitions {
			t.Errorf("%s: %d acquisitions cost %d requests, want %d each", test.name, acquisitions, have, test.want)
		}
	}
}

func expectExcluded(t *testing.T, what string, f taker) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), aWhile)
	defer cancel()
	if l, err := f(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%s gets %v, %v, want that it waits", what, l, err)
	}
}

func ownedByHandle(t *testing.T, at harness.Endpoint) {
	m := newReentrant(t, at, newPath(), zklock.ReentrantOptions{})
	o := m.Owner()
	l := acquire(t, o.Lock)
	expectExcluded(t, "another handle of the client", m.Owner().Lock)
	unlock(t, acquire(t, o.Lock))
	unlock(t, l)
	unlock(t, acquire(t, m.Owner().Lock))
}

func ownedByContext(t *testing.T, at harness.Endpoint) {
	m, elsewhere := newReentrant(t, at, newPath(), zklock.ReentrantOptions{}), newReentrant(t, at, newPath(), zklock.ReentrantOptions{})
	mine, theirs := zklock.WithOwner(t.Context()), zklock.WithOwner(t.Context())
	with := func(owner context.Context, m *zklock.Reentrant) taker {
		return func(ctx context.Context) (*zklock.Lease, error) {
			owner, cancel := context.WithCancelCause(owner)
			defer context.AfterFunc(ctx, func() { cancel(nil) })()
			l, err := m.Lock(owner)
			if err != nil && ctx.Err() != nil {
				err = ctx.Err()
			}
			return l, err
		}
	}
	l := acquire(t, with(mine, m))
	done := make(chan *zklock.Lease)
	go func() { done <- acquire(t, with(mine, m)) }() // the owner goes with the context
	unlock(t, <-done)
	expectExcluded(t, "another context", with(theirs, m))
	unlock(t, acquire(t, with(mine, elsewhere))) // a separate lock
	unlock(t, l)
	unlock(t, acquire(t, with(theirs, m)))
	for _, lock := range []taker{m.Lock, m.TryLock} {
		expectError(t, lockError(t.Context(), lock), zklock.ErrNoOwner)
	}
}

func ownedByClient(t *testing.T, at harness.Endpoint) {
	path, o := newPath(), zklock.ReentrantOptions{Ownership: zklock.ByClient}
	m, other := newReentrant(t, at, path, o), newReentrant(t, at, path, o)
	l := acquire(t, m.Lock)
	done := make(chan *zklock.Lease)
	go func() { done <- acquire(t, m.TryLock) }()
	inner := <-done
	unlock(t, l)
	expectExcluded(t, "another client", other.Lock)
	unlock(t, inner)
	unlock(t, acquire(t, other.Lock))
}

// ownedBySession: the next session queues again despite leases of the last; ByClient does not.
func ownedBySession(t *testing.T, at harness.Endpoint) {
	p := newProxy(t, at)
	c := dial(t, p.at, zklock.ClientOptions{SessionTimeout: time.Second})
	zklock.SetMargin(c, -time.Hour) // only the servers end its session
	bySession := c.Reentrant(newPath(), zklock.ReentrantOptions{Ownership: zklock.BySession})
	byClient := c.Reentrant(newPath(), zklock.ReentrantOptions{Ownership: zklock.ByClient})
	old, inner, stuck := acquire(t, bySession.Lock), acquire(t, bySession.Lock), acquire(t, byClient.Lock)
	if old.Token() != inner.Token() {
		t.Error("the session takes its own lock as a stranger")
	}
	expire(t, raw(t, at), p, bySession.Path())
	<-old.Done()
	l := acquire(t, bySession.Lock)
	expectRisingTokens(t, old, l)
	expectLost(t, old)
	expectLost(t, inner)
	if err := l.Err(); err != nil {
		t.Errorf("the lease of this session ended with one of the last: %v", err)
	}
	unlock(t, l)
	expectError(t, lockError(t.Context(), byClient.Lock), zklock.ErrLost)
	expectLost(t, stuck)
	unlock(t, acquire(t, byClient.Lock))
}

func ownerLoses(t *testing.T, at harness.Endpoint) {
	p := newProxy(t, at)
	c := dial(t, p.at, zklock.ClientOptions{SessionTimeout: time.Second})
	zklock.SetMargin(c, -time.Hour) // only the servers end its session
	m := c.Reentrant(newPath(), zklock.ReentrantOptions{})
	o := m.Owner()
	outer, inner := acquire(t, o.Lock), acquire(t, o.Lock)
	expire(t, raw(t, at), p, m.Path())
	for _, l := range []*zklock.Lease{inner, outer} {
		<-l.Done()
		expectError(t, lockError(t.Context(), o.Lock), zklock.ErrSessionExpired)
		expectLost(t, l)
	}
	expectEqual(t, "Count", o.Count(), 0)
	l := acquire(t, o.Lock)
	expectRisingTokens(t, outer, l)
	unlock(t, l)
}

func ownerSharesPlace(t *testing.T, at harness.Endpoint) {
	see, path := raw(t, at), newPath()
	m := newReentrant(t, at, path, zklock.ReentrantOptions{})
	o, other := m.Owner(), m.Owner()
	held := acquire(t, other.Lock)
	a, b := behind(t.Context(), o.Lock), behind(t.Context(), o.Lock)
	awaitQueue(t, see, path, 2)
	expectError(t, lockError(t.Context(), o.TryLock), zklock.ErrNotAcquired)
	unlock(t, held)
	first, second := awaitLease(t, a), awaitLease(t, b)
	awaitQueue(t, see, path, 1)
	unlock(t, first)
	expectExcluded(t, "another owner", other.Lock)
	unlock(t, second)
	awaitQueue(t, see, path, 0)
}

func ownerKeepsPlace(t *testing.T, at harness.Endpoint) {
	see, path := raw(t, at), newPath()
	m := newReentrant(t, at, path, zklock.ReentrantOptions{})
	o, other := m.Owner(), m.Owner()
	held := acquire(t, other.Lock)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	a, b := behind(ctx, o.Lock), behind(t.Context(), o.Lock)
	before := awaitQueue(t, see, path, 2)
	cancel()
	expectError(t, (<-a).err, context.Canceled)
	if after := awaitQueue(t, see, path, 2); after[1] != before[1] {
		t.Errorf("the place is %s, was %s", after[1], before[1])
	}
	unlock(t, held)
	unlock(t, awaitLease(t, b))
	held = acquire(t, other.Lock)
	expectExcluded(t, "the owner", o.Lock)
	awaitQueue(t, see, path, 1)
	unlock(t, held)
	unlock(t, acquire(t, o.Lock))
	awaitQueue(t, see, path, 0)
}

func ownerTries(t *testing.T, at harness.Endpoint) {
	see, path := raw(t, at), newPath()
	m := newReentrant(t, at, path, zklock.ReentrantOptions{})
	o, other := m.Owner(), m.Owner()
	l := acquire(t, o.TryLock)
	expectError(t, lockError(t.Context(), other.TryLock), zklock.ErrNotAcquired)
	awaitQueue(t, see, path, 1)
	inner := acquire(t, o.TryLock)
	unlock(t, l)
	unlock(t, inner)
	awaitQueue(t, see, path, 0)
}

func ownerBesideZKLock(t *testing.T, at harness.Endpoint) {
	see, path := raw(t, at), newPath()
	m := newReentrant(t, at, path, zklock.ReentrantOptions{})
	theirs := zk.NewLock(see.Conn.Conn, path, zk.WorldACL(zk.PermAll))
	requireNoError(t, theirs.Lock())
	o := m.Owner()
	next := behind(t.Context(), o.Lock)
	expectWaiting(t, next)
	requireNoError(t, theirs.Unlock())
	l := awaitLease(t, next)
	locked := make(chan error, 1)
	go func() { locked <- theirs.Lock() }()
	awaitQueue(t, see, path, 2)
	inner := acquire(t, o.Lock)
	unlock(t, l)
	select {
	case err := <-locked:
		t.Fatalf("zk.Lock got in beside the owner: %v", err)
	case <-time.After(aWhile):
	}
	unlock(t, inner)
	requireNoError(t, <-locked)
	requireNoError(t, theirs.Unlock())
}

// expire ends the session of the client behind p, with its ticket, and lets it reconnect.
func expire(t *testing.T, see interface {
	Children(string) ([]string, *zk.Stat, error)
}, p *proxy, path string) {
	t.Helper()
	p.disconnect()
	eventually(t, "the session expires", func() bool {
		names, _, err := see.Children(path)
		return err == nil && len(names) == 0
	})
	p.Refuse(false)
}
