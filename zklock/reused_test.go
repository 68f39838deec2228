package zklock_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"locklab/harness"
	"locklab/internal/backend"
	wirezk "locklab/internal/wire/zookeeper"
	"locklab/zklock"
)

// TestReusedNames: while a client is cut off, its ticket and node are replaced by others of
// the same name. It gets a correct result, and the other keeps the lock.
func TestReusedNames(t *testing.T) {
	t.Setenv("JAVA_TOOL_OPTIONS", "-Dznode.container.checkIntervalMs=100")
	at := startServer(t, backend.EnsembleOptions{})
	var tests []serverTest
	for _, how := range losses {
		for _, what := range reusers {
			tests = append(tests, serverTest{how.name + "/" + what.name, func(t *testing.T, at harness.Endpoint) {
				reuse(t, at, how, what)
			}})
		}
	}
	atOnce(t, at, tests)
}

type loss struct {
	name    string
	session time.Duration // of the client whose ticket is lost; 0 is the default
	silent  bool          // it keeps its connection
	lose    func(t *testing.T, s *reused)
	data    string // of the recreated node
	why     error  // the cause of its lease's end
}

var losses = []loss{
	{"session expires, container reaped", time.Second, false, loseSession, "", zklock.ErrSessionExpired},
	{"deleteall", 0, false, deleteAll, "", zklock.ErrLost},
	{"deleteall, on the same connection", 0, true, deleteAll, "", zklock.ErrLost},
	{"deleteall, made with other data", 0, false, func(t *testing.T, s *reused) {
		deleteAll(t, s)
		createNode(t, s.see, s.path, []byte("config"), zk.FlagPersistent)
	}, "config", zklock.ErrLost},
}

// A reuser is an action of the first client. do begins it, and returns checks to run when the
// client is connected again, and when the others have released the lock; nil for none.
type reuser struct {
	name  string
	waits bool // else it holds the lock
	do    func(t *testing.T, s *reused, why error) (connected, released func())
}

var reusers = []reuser{
	{"Unlock", false, reusedUnlock},
	{"guard", false, reusedGuard},
	{"cancel", true, reusedCancel},
	{"Lock again", false, reusedLock},
}

// A reused is a lock whose numbers have restarted.
type reused struct {
	see    *wirezk.Conn
	path   string
	p      *proxy // of the first client
	c      *zklock.Client
	m      *zklock.Mutex
	ticket string // path of the first client's, and of the other's

	first  *zklock.Lease // or
	waits  <-chan result
	cancel context.CancelFunc

	ahead *zklock.Lease // of the waiter, before
}

func reuse(t *testing.T, at harness.Endpoint, how loss, what reuser) {
	o := zklock.Options{Container: how.session != 0}
	s := &reused{see: raw(t, at), path: newPath(), p: newProxy(t, at)}
	mutex := func() *zklock.Mutex { return dial(t, at, zklock.ClientOptions{}).Mutex(s.path, o) }
	s.c = dial(t, s.p.at, zklock.ClientOptions{SessionTimeout: how.session})
	zklock.SetMargin(s.c, -time.Hour) // its clock does not end leases
	s.m = s.c.Mutex(s.path, o)
	ctx, cancel := context.WithCancel(t.Context())
	s.cancel = cancel
	if what.waits {
		s.ahead = lock(t, mutex())
		s.waits = waiting(t, ctx, s.m, s.see, 2)
	} else {
		s.first = lock(t, s.m)
	}
	names := queue(t, s.see, s.path)
	s.ticket = s.path + "/" + names[len(names)-1]
	if how.silent {
		s.p.Partition(true)
	} else {
		s.p.disconnect()
	}
	how.lose(t, s)

	other := lock(t, mutex())
	var next <-chan result
	if what.waits {
		next = waiting(t, t.Context(), mutex(), s.see, 2)
	}
	data, stat, err := s.see.Get(s.ticket)
	if err != nil || !strings.Contains(s.ticket, "/lock-") {
		t.Fatalf("the test shows nothing: no other has %s: %v", s.ticket, err)
	}
	connected, released := what.do(t, s, how.why)
	time.Sleep(aWhile / 4) // its requests wait for a connection
	s.p.Partition(false)
	s.p.Refuse(false)
	if connected != nil {
		connected()
	}
	unlock(t, lock(t, s.c.Mutex(newPath(), o))) // all pending requests have been sent

	now, is, err := s.see.Get(s.ticket)
	if err != nil || string(now) != string(data) || is.Czxid != stat.Czxid || is.Version != 0 {
		t.Errorf("the other's ticket was %q, %+v, and is %q, %+v, %v", data, stat, now, is, err)
	}
	if !zklock.Sealed(s.c) {
		t.Error("the client takes the ticket of another for its own that is closed to it")
	}
	if err := other.Err(); err != nil {
		t.Errorf("the other has lost the lock: %v", err)
	}
	if is, stat, err := s.see.Get(s.path); err != nil || string(is) != how.data || stat.Version != 0 {
		t.Errorf("the node of the lock has %q, version %d, %v, want %q", is, stat.Version, err, how.data)
	}
	unlock(t, other)
	if next != nil {
		unlock(t, awaitLease(t, next))
	}
	if released != nil {
		released()
	}
	awaitQueue(t, s.see, s.path, 0)
}

// loseSession lets the first client's session end, and the server remove the empty container.
func loseSession(t *testing.T, s *reused) {
	if s.ahead != nil {
		unlock(t, s.ahead)
	}
	eventually(t, "the container is reaped", func() bool {
		there, _, err := s.see.Exists(s.path)
		return err == nil && !there
	})
}

func deleteAll(t *testing.T, s *reused) {
	for _, name := range queue(t, s.see, s.path) {
		deleteNode(t, s.see, s.path+"/"+name)
	}
	deleteNode(t, s.see, s.path)
}

func (s *reused) over(t *testing.T, why error) {
	t.Helper()
	expectError(t, awaitEnd(t, s.first), why, zklock.ErrLost)
}

func reusedUnlock(t *testing.T, s *reused, why error) (connected, released func()) {
	done := make(chan error, 1)
	go func() { done <- s.first.Unlock(t.Context()) }()
	return func() {
		// On a busy machine the connection may come late.
		if err := <-done; !errors.Is(err, zklock.ErrNotHeld) && !errors.Is(err, zklock.ErrUnanswered) {
			t.Errorf("Unlock = %v, want ErrNotHeld", err)
		}
		eventually(t, "the lease is lost", func() bool { return errors.Is(s.first.Err(), why) })
	}, nil
}

func reusedGuard(t *testing.T, s *reused, why error) (connected, released func()) {
	return func() {
		s.over(t, why)
		expectLost(t, s.first)
	}, nil
}

func reusedCancel(t *testing.T, s *reused, _ error) (connected, released func()) {
	s.cancel()
	expectError(t, (<-s.waits).err, context.Canceled)
	return nil, nil
}

func reusedLock(t *testing.T, s *reused, why error) (connected, released func()) {
	again := behind(t.Context(), s.m.Lock)
	return func() {
			awaitQueue(t, s.see, s.path, 2)
			expectWaiting(t, again)
			expectError(t, lockError(t.Context(), s.m.TryLock), zklock.ErrNotAcquired)
			expectError(t, s.first.Unlock(t.Context()), zklock.ErrNotHeld)
			s.over(t, why)
			expectWaiting(t, again)
		}, func() {
			l := awaitLease(t, again)
			expectRisingTokens(t, s.first, l)
			unlock(t, l)
		}
}
