package zklock_test

import (
	"errors"
	"testing"
	"time"

	"locklab/harness"
	"locklab/zklock"
)

// revokeHeard: the holder receives each request and continues; a waiter keeps its place.
func revokeHeard(t *testing.T, at harness.Endpoint) {
	path := newPath()
	asked := make(chan *zklock.Owner, 10)
	m := newReentrant(t, at, path, zklock.ReentrantOptions{OnRevoke: func(o *zklock.Owner) { asked <- o }})
	c := dial(t, at, zklock.ClientOptions{})
	other := c.Reentrant(path, zklock.ReentrantOptions{})
	o := m.Owner()
	for range 2 {
		outer, inner := acquire(t, o.Lock), acquire(t, o.Lock)
		next := behind(t.Context(), other.Owner().Lock)
		line, err := other.Participants(t.Context())
		if err != nil || len(line) != 2 {
			t.Fatalf("Participants = %q, %v, want two", line, err)
		}
		for range 2 {
			requireNoError(t, c.Revoke(t.Context(), line[0]))
			select {
			case owner := <-asked:
				if owner != o {
					t.Error("a wish to another owner")
				}
			case <-time.After(patience):
				t.Fatal("the holder does not hear the wish")
			}
		}
		expectWaiting(t, next)
		if err := outer.Err(); err != nil {
			t.Errorf("the wish has ended the lease: %v", err)
		}
		unlock(t, inner)
		expectWaiting(t, next)
		unlock(t, outer)
		unlock(t, awaitLease(t, next))
		if err := c.Revoke(t.Context(), line[0]); err != nil {
			t.Errorf("Revoke of what is gone = %v, want nil", err)
		}
	}
	expectEqual(t, "wishes more than were made", len(asked), 0)
}

func revokeWithoutListener(t *testing.T, at harness.Endpoint) {
	c := dial(t, at, zklock.ClientOptions{})
	m := c.Reentrant(newPath(), zklock.ReentrantOptions{})
	if line, err := m.Participants(t.Context()); err != nil || len(line) != 0 {
		t.Errorf("Participants without a node = %q, %v", line, err)
	}
	l := acquire(t, m.Owner().Lock)
	line, err := m.Participants(t.Context())
	if err != nil || len(line) != 1 {
		t.Fatalf("Participants = %q, %v, want one", line, err)
	}
	if err := c.Revoke(t.Context(), line[0]); err != nil {
		t.Error(err)
	}
	expectExcluded(t, "another", m.Owner().Lock)
	unlock(t, l)
}

func revokeNonsense(t *testing.T, at harness.Endpoint) {
	see := raw(t, at)
	c := dial(t, at, zklock.ClientOptions{})
	m := c.Reentrant(newPath(), zklock.ReentrantOptions{})
	unlock(t, acquire(t, m.Owner().Lock))
	for _, path := range []string{"", "/", m.Path(), m.Path() + "/config"} {
		if err := c.Revoke(t.Context(), path); err == nil {
			t.Errorf("Revoke(%q) = nil", path)
		}
	}
	if data, _, err := see.Get(m.Path()); err != nil || len(data) != 0 {
		t.Errorf("the lock's own node has %q, %v", data, err)
	}
}

// revokeSealed: Revoke of a Mutex or a Multi is refused, and is not mistaken for its release,
// even from the holder's client. Waiters keep waiting.
func revokeSealed(t *testing.T, at harness.Endpoint) {
	see := raw(t, at)
	path := newPath()
	holder, other := dial(t, at, zklock.ClientOptions{}), dial(t, at, zklock.ClientOptions{})
	for name, open := range map[string]taker{
		"mutex": holder.Mutex(path, zklock.Options{}).Lock,
		"multi": holder.Multi([]string{path}, zklock.MultiOptions{}).Lock,
	} {
		held := acquire(t, open)
		line := awaitQueue(t, see, path, 1)
		next := waiting(t, t.Context(), other.Mutex(path, zklock.Options{}), see, 2)
		for by, c := range map[string]*zklock.Client{"another client": other, "the holder's client": holder} {
			for _, ticket := range append(line, awaitQueue(t, see, path, 2)[1]) {
				if err := c.Revoke(t.Context(), path+"/"+ticket); !errors.Is(err, zklock.ErrNotRevocable) {
					t.Errorf("%s: Revoke by %s = %v, want ErrNotRevocable", name, by, err)
				}
			}
		}
		expectWaiting(t, next)
		unlock(t, held)
		unlock(t, awaitLease(t, next))
	}
}

func revokeMixed(t *testing.T, at harness.Endpoint) {
	see := raw(t, at)
	path := newPath()
	c, other := dial(t, at, zklock.ClientOptions{}), dial(t, at, zklock.ClientOptions{})
	for _, take1 := range []taker{
		c.Reentrant(path, zklock.ReentrantOptions{}).Owner().Lock,
		c.Cohort(path, zklock.CohortOptions{}).Lock,
	} {
		held := acquire(t, take1)
		line := awaitQueue(t, see, path, 1)
		next := waiting(t, t.Context(), other.Mutex(path, zklock.Options{}), see, 2)
		for _, by := range []*zklock.Client{c, other} {
			if err := by.Revoke(t.Context(), path+"/"+line[0]); err != nil {
				t.Error(err)
			}
			expectWaiting(t, next)
		}
		unlock(t, held)
		unlock(t, awaitLease(t, next))
	}
}
