package zklock_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"locklab/harness"
	wirezk "locklab/internal/wire/zookeeper"
	"locklab/zklock"
)

// TestReusedNames: while a client is cut off, its ticket and node are replaced by others of
// the same name. It gets a correct result, and the other keeps the lock.
func TestReusedNames(t *testing.T) {
	t.Parallel()
	var tests []serverTest
	for _, how := range []loss{
		{"session expires", time.Second, false, zklock.ErrSessionExpired},
		{"deleteall", 0, false, zklock.ErrLost},
		{"deleteall, on the same connection", 0, true, zklock.ErrLost},
	} {
		for name, do := range map[string]func(*testing.T, *reused) (connected, released func()){
			"Unlock": reusedUnlock, "guard": reusedGuard, "cancel": reusedCancel, "Lock again": reusedLock,
		} {
			tests = append(tests, serverTest{how.name + "/" + name, func(t *testing.T, at harness.Endpoint) { reuseName(t, at, how, name == "cancel", do) }})
		}
	}
	atOnce(t, endpoint(t), tests)
}

type loss struct {
	name    string
	session time.Duration // of the client whose ticket is lost; 0 is the default
	silent  bool          // it keeps its connection
	why     error         // the cause of its lease's end
}

// A reused is a lock whose numbers have restarted while its first client was cut off.
type reused struct {
	loss
	see  *wirezk.Conn
	path string
	m    *zklock.Mutex // of the first client, which holds the lock or waits for it

	first  *zklock.Lease
	waits  <-chan result
	cancel context.CancelFunc
}

// reuseName lets the first client do something in between. do returns the checks for the times
// when that is connected again, and when the others have released the lock.
func reuseName(t *testing.T, at harness.Endpoint, how loss, waits bool, do func(*testing.T, *reused) (connected, released func())) {
	s, p := &reused{loss: how, see: raw(t, at), path: newPath()}, newProxy(t, at)
	c := dial(t, p.at, zklock.ClientOptions{SessionTimeout: how.session})
	zklock.SetMargin(c, -time.Hour) // its clock does not end leases
	s.m = c.Mutex(s.path, zklock.Options{})
	var ctx context.Context
	ctx, s.cancel = context.WithCancel(t.Context())
	if waits {
		lock(t, newMutex(t, at, s.path))
		s.waits = waiting(t, ctx, s.m, s.see, 2)
	} else {
		s.first = lock(t, s.m)
	}
	was := queue(t, s.see, s.path)
	mine := len(was) - 1
	if how.silent {
		p.Partition(true)
	} else {
		p.disconnect()
	}
	if how.session > 0 {
		awaitQueue(t, s.see, s.path, mine)
	}
	recreateNode(t, s.see, s.path, 0)

	others := []<-chan result{begins(t.Context(), newMutex(t, at, s.path).Lock)}
	other := awaitLease(t, others[0])
	if waits {
		others = append(others, waiting(t, t.Context(), newMutex(t, at, s.path), s.see, 2))
	}
	before := stateOf(t, s.see, s.path+"/"+was[mine]) // a ticket of another now
	connected, released := do(t, s)
	time.Sleep(aWhile / 4) // its requests wait for a connection
	p.Partition(false)
	p.Refuse(false)
	connected()
	haveIdentity(t, c) // all pending requests have been sent

	expectEqual(t, "the other's ticket", stateOf(t, s.see, s.path+"/"+was[mine]), before)
	if err := other.Err(); err != nil || !zklock.Sealed(c) {
		t.Errorf("the other's Err = %v; the client takes the other's ticket for its own that is closed to it: %t", err, !zklock.Sealed(c))
	}
	handOver(t, other, others[1:]...)
	released()
	awaitQueue(t, s.see, s.path, 0)
}

func stateOf(t *testing.T, see *wirezk.Conn, node string) string {
	t.Helper()
	data, stat, err := see.Get(node)
	requireNoError(t, err)
	return fmt.Sprintf("%s, czxid %d, version %d", data, stat.Czxid, stat.Version)
}

func reusedUnlock(t *testing.T, s *reused) (connected, released func()) {
	done := make(chan error, 1)
	go func() { done <- s.first.Unlock(t.Context()) }()
	return func() {
		// On a busy machine the connection may come late.
		if err := <-done; !errors.Is(err, zklock.ErrNotHeld) && !errors.Is(err, zklock.ErrUnanswered) {
			t.Errorf("Unlock = %v, want ErrNotHeld", err)
		}
		eventually(t, "the lease is lost", func() bool { return errors.Is(s.first.Err(), s.why) })
	}, func() {}
}

func reusedGuard(t *testing.T, s *reused) (connected, released func()) {
	return func() {
		expectError(t, awaitEnd(t, s.first), s.why, zklock.ErrLost)
		expectLost(t, s.first)
	}, func() {}
}

func reusedCancel(t *testing.T, s *reused) (connected, released func()) {
	s.cancel()
	expectError(t, (<-s.waits).err, context.Canceled)
	return func() {}, func() {}
}

func reusedLock(t *testing.T, s *reused) (connected, released func()) {
	again := behind(t.Context(), s.m.Lock)
	return func() {
			awaitQueue(t, s.see, s.path, 2)
			expectWaiting(t, again)
			expectError(t, lockError(t.Context(), s.m.TryLock), zklock.ErrNotAcquired)
			expectError(t, s.first.Unlock(t.Context()), zklock.ErrNotHeld)
			expectError(t, awaitEnd(t, s.first), s.why, zklock.ErrLost)
			expectWaiting(t, again)
		}, func() {
			l := awaitLease(t, again)
			expectRisingTokens(t, s.first, l)
			unlock(t, l)
		}
}
