package zklock_test

import (
	"errors"
	"os"
	"testing"

	"github.com/go-zookeeper/zk"

	"locklab/harness"
	"locklab/harness/locktest"
	wirezk "locklab/internal/wire/zookeeper"
	"locklab/zklock"
)

var revoke = []byte("__REVOKE__") // what Curator writes

func foreignWriteSealed(t *testing.T, at harness.Endpoint) {
	see := raw(t, at)
	c := dial(t, at, zklock.ClientOptions{})
	m := c.Mutex(newPath(), zklock.Options{})
	head := lock(t, m)
	write := func() {
		t.Helper()
		if _, err := see.Set(zklock.Node(head), revoke, -1); !errors.Is(err, zk.ErrNoAuth) {
			t.Errorf("a stranger writes to the ticket: %v, want %v", err, zk.ErrNoAuth)
		}
		if _, err := see.SetACL(zklock.Node(head), zk.WorldACL(zk.PermAll), -1); !errors.Is(err, zk.ErrNoAuth) {
			t.Errorf("a stranger opens the ticket: %v, want %v", err, zk.ErrNoAuth)
		}
		if _, _, err := see.Get(zklock.Node(head)); err != nil {
			t.Errorf("a stranger cannot watch the ticket: %v", err)
		}
	}
	write()
	next := waiting(t, t.Context(), m, see, 2)
	write()
	expectWaiting(t, next)
	if err := see.Delete(zklock.Node(head), -1); err != nil { // to break the lock by hand
		t.Fatal(err)
	}
	unlock(t, awaitLease(t, next))
	expectLost(t, head)
}

// foreignWriteUnsealed: if all clients may write, a waiter looks after every event.
func foreignWriteUnsealed(t *testing.T, at harness.Endpoint) {
	see := raw(t, at)
	c := dial(t, at, zklock.ClientOptions{})
	zklock.Unseal(c)
	writesWhileHeld(t, see, c, string(revoke), 2, 0)
	writesWhileHeld(t, see, c, zklock.Marker, 2, 0)
}

// writesWhileHeld: no waiter enters by writes to a holder's ticket, before or after its watch.
func writesWhileHeld(t *testing.T, see *wirezk.Conn, c *zklock.Client, data string, after, before int) {
	m := c.Mutex(newPath(), zklock.Options{})
	head := lock(t, m)
	write := func() {
		t.Helper()
		setData(t, see, zklock.Node(head), []byte(data))
	}
	for range before {
		write()
	}
	next := waiting(t, t.Context(), m, see, 2)
	for range after {
		write()
		expectWaiting(t, next)
	}
	if err := head.Err(); err != nil {
		t.Errorf("the holder's Err = %v", err)
	}
	unlock(t, head)
	unlock(t, awaitLease(t, next))
	awaitQueue(t, see, m.Path(), 0)
}

// foreignWriteForged: without the ACL the marker protects only from a write before the watch.
func foreignWriteForged(t *testing.T, at harness.Endpoint) {
	see := raw(t, at)
	c := dial(t, at, zklock.ClientOptions{})
	zklock.Forge(c)
	writesWhileHeld(t, see, c, string(revoke), 2, 1)
	writesWhileHeld(t, see, c, zklock.Marker, 2, 1) // the version shows it
	m := c.Mutex(newPath(), zklock.Options{})
	head := lock(t, m)
	next := waiting(t, t.Context(), m, see, 2)
	setData(t, see, zklock.Node(head), revoke)
	second := awaitLease(t, next) // if the waiter did not get the lock, the ACL would be unnecessary
	if head.Err() != nil || second.Err() != nil {
		t.Errorf("want the hazard, two holders, not %v and %v", head.Err(), second.Err())
	}
	unlock(t, head)
	unlock(t, second)
}

// TestSealUnavailable runs against servers without ACLs or such identities, or other hashes.
func TestSealUnavailable(t *testing.T) {
	for _, option := range []string{
		"-Dzookeeper.skipACL=yes",
		"-Dzookeeper.DigestAuthenticationProvider.enabled=false",
		"-Dzookeeper.DigestAuthenticationProvider.digestAlg=SHA-256",
	} {
		t.Run(option, func(t *testing.T) {
			t.Setenv("JAVA_TOOL_OPTIONS", option)
			at := locktest.Endpoint(t, harness.KindZooKeeper) // a separate server
			if os.Getenv("LOCKLAB_ZOOKEEPER") != "" {
				t.Skip("the server at hand was not started here, with that option")
			}
			c := dial(t, at, zklock.ClientOptions{})
			m := c.Mutex(newPath(), zklock.Options{})
			see := raw(t, at)
			unlock(t, lock(t, m))
			if zklock.Sealed(c) {
				t.Fatal("the client trusts an ACL that does not protect its tickets")
			}
			writesWhileHeld(t, see, c, string(revoke), 2, 1)
			for _, name := range queue(t, see, m.Path()) {
				t.Errorf("the probe has left %s", name)
			}
		})
	}
}
