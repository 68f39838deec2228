package zklock_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

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
