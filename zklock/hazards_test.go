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

// madeAgain: nodes of a lock that are recreated keep their data, and nothing remembered of the
// nodes before matters.
func madeAgain(t *testing.T, s *stage) {
	a, b := s.taker(t), s.taker(t)
	for _, f := range []taker{b, a, a, a} { // any remembered state is up to date
		unlockLease(t, acquireLock(t, f))
	}
	was := s.nodes(t)
	for _, n := range slices.Backward(was) {
		s.see.Delete(n.path, -1) // fails if a spare permit is taken below it
	}
	for _, n := range was {
		s.see.Create(n.path, nil, zk.FlagPersistent, zk.WorldACL(zk.PermAll))
		setData(t, s.see, n.path, []byte("config"))
	}
	before := s.nodes(t)
	for _, f := range []taker{a, b, a} {
		unlockLease(t, acquireLock(t, f))
	}
	if after := s.nodes(t); len(before) == 0 || !slices.Equal(after, before) {
		t.Errorf("the nodes have become %v, were %v", after, before)
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
		}
		requireNoError(t, err)
		all = append(all, node{s.path + dir, string(data), stat.Version})
	}
	return all
}

// sessionChanges: a goroutine that stops after it made its ticket, and continues in the next
// session, has no place in the queue.
func sessionChanges(t *testing.T, s *stage) {
	p := newProxy(t, s.at)
	c, f := s.contender(t, p.at, zklock.ClientOptions{SessionTimeout: 3 * time.Second})
	zklock.SetMargin(c, -time.Hour) // only the servers end its sessions, also on a busy machine
	other := s.taker(t)
	for range 3 {
		unlockLease(t, acquireLock(t, f)) // it has met no other, and may infer that it would be first
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
	l := acquireLock(t, f)
	if changes == 0 {
		t.Fatal("the test shows nothing: no ticket was made")
	}
	if n := s.owned(t, zklock.SessionID(c)); n == 0 {
		t.Error("a lease without a ticket")
	}
	expectExcluded(t, "another", other)
	unlockLease(t, l)
	unlockLease(t, acquireLock(t, other))
}

// sessionChangesLate: the session ends between a waiter's look and its watch on the ticket ahead.
// It queues again at once, not when that ticket is gone.
func sessionChangesLate(t *testing.T, s *stage) {
	p := newProxy(t, s.at)
	c, f := s.contender(t, p.at, zklock.ClientOptions{SessionTimeout: 3 * time.Second})
	held, first, changed := acquireLock(t, s.taker(t)), lockBehind(t.Context(), s.taker(t)), make(chan bool)
	zklock.StallOnce(c, zklock.BeforeWatch, func() {
		defer close(changed)
		old := zklock.SessionID(c)
		changeSession(t, p, c, func() bool { return s.owned(t, old) == 0 })
	})
	second := lockBehind(t.Context(), f)
	<-changed
	waitUntil(t, "it has a ticket", func() bool { return s.owned(t, zklock.SessionID(c)) > 0 })
	handOver(t, held, first, second)
}

func (s *stage) forbid(t *testing.T, forbidden int32) {
	for _, n := range s.nodes(t) {
		setACL(t, s.see, n.path, zk.WorldACL(zk.PermAll&^forbidden))
	}
}

func deletionsRefused(t *testing.T, s *stage) {
	a, b, c := s.taker(t), s.taker(t), s.taker(t)
	held := acquireLock(t, a)
	s.forbid(t, zk.PermDelete)
	if err := held.Unlock(t.Context()); err == nil {
		t.Error("Unlock succeeds, though the servers refuse to delete the ticket")
	}
	s.forbid(t, 0)
	held = acquireLock(t, c)

	ctx, cancel := context.WithCancel(t.Context())
	waits := lockBehind(ctx, b)
	s.forbid(t, zk.PermDelete)
	cancel()
	<-waits
	time.Sleep(aWhile) // it gives up for now
	s.forbid(t, 0)
	unlockLease(t, held)
	unlockLease(t, acquireLock(t, c))
}

// shutDown: a client gives back its locks and leaves the queues, while its session is alive.
func shutDown(t *testing.T, s *stage) {
	d := shutDownDuring(t, s, time.Minute, func(p *proxy) {
		p.Inject(faultproxy.Fault{Do: faultproxy.LoseRequest, Match: faultproxy.Op("closeSession")})
	})
	requireNoError(t, d.err)
	waitUntil(t, "the request to end the session is lost", func() bool { return d.p.Seen("closeSession") > 0 })
	expectEqual(t, "tickets that are left", s.owned(t, d.session), 0)
	unlockLease(t, awaitLease(t, d.last))
}

func shutDownRefused(t *testing.T, s *stage) {
	d := shutDownDuring(t, s, time.Minute, func(*proxy) { s.forbid(t, zk.PermDelete) })
	if d.err == nil || !strings.Contains(d.err.Error(), s.path) || strings.Contains(d.err.Error(), "\n") {
		t.Errorf("Shutdown = %v, want %s in one line", d.err, s.path)
	}
	s.forbid(t, 0)
	unlockLease(t, awaitLease(t, d.last))
}

// shutDownSilent: Shutdown with an expired context names the locks that were not given back.
func shutDownSilent(t *testing.T, s *stage) {
	d := shutDownDuring(t, s, 0, func(p *proxy) { p.Partition(true) })
	if !errors.Is(d.err, context.DeadlineExceeded) || !strings.Contains(d.err.Error(), s.path) || !strings.Contains(d.err.Error(), d.overdue) || !strings.Contains(d.err.Error(), d.unlocking) {
		t.Errorf("Shutdown = %v, want DeadlineExceeded, %s, %s and %s", d.err, s.path, d.overdue, d.unlocking)
	}
	unlockLease(t, awaitLease(t, d.last)) // when the session has timed out
}

func isDone(done <-chan struct{}) bool {
	select {
	case <-done:
		return true
	default:
		return false
	}
}

type shutdown struct {
	p         *proxy
	session   int64
	overdue   string        // the path of another lock of the client, whose MaxHold is over
	unlocking string        // the path of another lock of the client, which Unlock is releasing
	last      <-chan result // a waiter of another client
	err       error         // of Shutdown
}

// shutDownDuring shuts a client down that holds the lock and waits for it, within a time and
// during a fault. It requires that the client takes no lock then and has lost its lease.
func shutDownDuring(t *testing.T, s *stage, limit time.Duration, fault func(*proxy)) (d shutdown) {
	t.Helper()
	d.p = newProxy(t, s.at)
	c, f := s.contender(t, d.p.at, zklock.ClientOptions{SessionTimeout: 4 * time.Second})
	d.session, d.overdue, d.unlocking = zklock.SessionID(c), newPath(), newPath()
	late, other := lockNow(t, c.Mutex(d.overdue, zklock.Options{MaxHold: time.Hour})), s.taker(t)
	held, ending := acquireLock(t, f), acquireLock(t, s.open(c, d.unlocking))
	next := lockBehind(t.Context(), s.open(c, s.path))
	d.last = lockBehind(t.Context(), other)
	fault(d.p)
	zklock.Overdue(late)
	go ending.Unlock(t.Context())
	<-ending.Done()
	d.err = c.Shutdown(contextWithin(t, limit))
	expectError(t, (<-next).err, zklock.ErrClosed)
	expectError(t, lockError(t.Context(), f), zklock.ErrClosed)
	expectError(t, held.Err(), zklock.ErrClosed)
	expectLost(t, held)
	expectEqual(t, "Shutdown of the closed client fails", c.Shutdown(t.Context()) != nil, d.err != nil)
	return d
}
