package zklock_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"locklab/internal/faultproxy"
	"locklab/zklock"
)

// madeAgain: nodes of a lock that are recreated with equal versions keep their data.
func madeAgain(t *testing.T, s *stage) {
	c, a := s.contender(t, s.at, zklock.ClientOptions{})
	b := s.taker(t)
	for _, f := range []taker{b, a, a, a} { // any remembered state is up to date
		unlock(t, acquire(t, f))
	}
	now := s.nodes(t)
	if len(now) == 0 {
		t.Fatal("the test shows nothing: the lock has no nodes")
	}
	for _, n := range slices.Backward(now) {
		err := s.see.Delete(n.path, -1)
		if err != nil && !errors.Is(err, zk.ErrNotEmpty) { // a spare permit is taken below it
			t.Fatal(err)
		}
	}
	for _, n := range now {
		_, err := s.see.Create(n.path, []byte("config"), zk.FlagPersistent, zk.WorldACL(zk.PermAll))
		if err != nil && !errors.Is(err, zk.ErrNodeExists) {
			t.Fatal(err)
		}
		for stat := (&zk.Stat{Version: -1}); stat.Version < n.version; {
			if stat, err = s.see.Set(n.path, []byte("config"), -1); err != nil {
				t.Fatal(err)
			}
		}
	}
	before := s.nodes(t)
	spent := cost(func() {
		for _, f := range []taker{a, b, a} {
			unlock(t, acquire(t, f))
		}
	}, c)
	for i, n := range s.nodes(t) {
		expectEqual(t, "the node", n, before[i])
	}
	if spent.Requests == 0 {
		t.Error("the test shows nothing: no request was sent")
	}
}

type node struct {
	path, data string
	version    int32
}

func (s *stage) nodes(t *testing.T) []node {
	t.Helper()
	var all []node
	for _, dir := range dirs {
		data, stat, err := s.see.Get(s.path + dir)
		if errors.Is(err, zk.ErrNoNode) {
			continue
		} else if err != nil {
			t.Fatal(err)
		}
		all = append(all, node{s.path + dir, string(data), stat.Version})
	}
	return all
}

// sessionChanges: a goroutine that stops after it made its ticket, and continues in the next
// session, has no place in the queue.
func sessionChanges(t *testing.T, s *stage) {
	p := newProxy(t, s.at)
	c, f := s.contender(t, p.at, zklock.ClientOptions{SessionTimeout: 3 * time.Second})
	other := s.taker(t)
	for range 3 {
		unlock(t, acquire(t, f)) // it has met no other, and may infer that it would be first
	}
	changes := 0
	zklock.Stall(c, func() {
		if changes++; changes > 1 {
			return
		}
		old := zklock.SessionID(c)
		if s.owned(t, old) == 0 {
			t.Error("the test shows nothing: there is no ticket")
		}
		changeSession(t, p, c, func() bool { return s.owned(t, old) == 0 })
	})
	l := acquire(t, f)
	if changes == 0 {
		t.Fatal("the test shows nothing: no ticket was made")
	}
	if n := s.owned(t, zklock.SessionID(c)); n == 0 {
		t.Error("a lease without a ticket")
	}
	expectExcluded(t, "another", other)
	unlock(t, l)
	unlock(t, acquire(t, other))
}

func deletionsRefused(t *testing.T, s *stage) {
	a, b, c := s.taker(t), s.taker(t), s.taker(t)
	allow := func(perms int32) {
		for _, n := range s.nodes(t) {
			setACL(t, s.see, n.path, zk.WorldACL(perms))
		}
	}
	held := acquire(t, a)
	allow(zk.PermAll &^ zk.PermDelete)
	if err := held.Unlock(t.Context()); err == nil {
		t.Error("Unlock succeeds, though the servers refuse to delete the ticket")
	}
	allow(zk.PermAll)
	held = acquire(t, c)

	ctx, cancel := context.WithCancel(t.Context())
	waits := behind(ctx, b)
	allow(zk.PermAll &^ zk.PermDelete)
	cancel()
	<-waits
	time.Sleep(aWhile) // it gives up for now
	allow(zk.PermAll)
	unlock(t, held)
	unlock(t, acquire(t, c))
}

// shutDown: a client gives back its locks and leaves the queues, while its session is alive.
func shutDown(t *testing.T, s *stage) {
	p := newProxy(t, s.at)
	c, f := s.contender(t, p.at, zklock.ClientOptions{SessionTimeout: 20 * time.Second})
	other := s.taker(t)
	held := acquire(t, f)
	next, last := behind(t.Context(), s.open(c, s.path)), behind(t.Context(), other)
	end := p.Inject(faultproxy.Fault{Do: faultproxy.LoseRequest, Match: faultproxy.Op("closeSession")})
	session := zklock.SessionID(c)
	if err := c.Shutdown(t.Context()); err != nil {
		t.Errorf("Shutdown = %v", err)
	}
	eventually(t, "the request to end the session is lost", func() bool { return isDone(end.Done()) })
	if n := s.owned(t, session); n > 0 {
		t.Errorf("%d tickets are left", n)
	}
	expectError(t, (<-next).err, zklock.ErrClosed)
	requireShutDown(t, c, f, held)
	unlock(t, awaitLease(t, last))
}

func isDone(done <-chan struct{}) bool {
	select {
	case <-done:
		return true
	default:
		return false
	}
}

// requireShutDown checks that a client takes no lock and has lost its lease.
func requireShutDown(t *testing.T, c *zklock.Client, f taker, held *zklock.Lease) {
	t.Helper()
	expectError(t, lockError(t.Context(), f), zklock.ErrClosed)
	if !errors.Is(held.Err(), zklock.ErrClosed) {
		t.Errorf("Err = %v, want ErrClosed", held.Err())
	}
	expectLost(t, held)
	if err := c.Shutdown(t.Context()); err != nil {
		t.Errorf("second Shutdown = %v", err)
	}
}

func shutDownRefused(t *testing.T, s *stage) {
	c, f := s.contender(t, s.at, zklock.ClientOptions{})
	held := acquire(t, f)
	next := behind(t.Context(), s.open(c, s.path))
	for _, n := range s.nodes(t) {
		setACL(t, s.see, n.path, zk.WorldACL(zk.PermAll&^zk.PermDelete))
	}
	err := c.Shutdown(t.Context())
	if err == nil || !strings.Contains(err.Error(), s.path) || strings.Contains(err.Error(), "\n") {
		t.Errorf("Shutdown = %v, want %s in one line", err, s.path)
	}
	expectError(t, (<-next).err, zklock.ErrClosed)
	requireShutDown(t, c, f, held)
	for _, n := range s.nodes(t) {
		s.see.SetACL(n.path, zk.WorldACL(zk.PermAll), -1)
	}
}

// shutDownSilent: Shutdown ends with its context, and names the locks that were not given back.
func shutDownSilent(t *testing.T, s *stage) {
	p := newProxy(t, s.at)
	c, f := s.contender(t, p.at, zklock.ClientOptions{SessionTimeout: 2 * time.Second})
	held := acquire(t, f)
	p.Partition(true)
	ctx, cancel := context.WithTimeout(t.Context(), aWhile)
	defer cancel()
	err := c.Shutdown(ctx)
	if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), s.path) {
		t.Errorf("Shutdown = %v, want DeadlineExceeded and %s", err, s.path)
	}
	requireShutDown(t, c, f, held)
}
