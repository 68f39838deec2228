package peers_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"locklab/harness"
	"locklab/harness/locktest"
	"locklab/internal/leaktest"
	wirezk "locklab/internal/wire/zookeeper"
)

type stage struct {
	path    string
	remote  harness.Remote
	session harness.Session
	see     *wirezk.Conn
}

// TestGoZooKeeper checks the additions of the adapter, and the documented behaviour of the peer.
func TestGoZooKeeper(t *testing.T) {
	at := locktest.Endpoint(t, harness.KindZooKeeper)
	for name, run := range map[string]func(*testing.T, *stage){
		"requests":                      checkRequests,
		"cancel ends the session":       cancelEndsSession,
		"node removed under the holder": nodeRemoved,
		"last one removes the node":     lastOneOut,
	} {
		t.Run(name, func(t *testing.T) {
			leaktest.All(t)
			key := newKey()
			look := newObserver(t, at, "/locklab/"+key)
			s := &stage{path: look.path, see: look.conn}
			s.remote, s.session = joinAt(t, variant("go-zookeeper-lock"), at, key)
			run(t, s)
		})
	}
}

func (s *stage) children(t *testing.T) []string {
	t.Helper()
	names, _, err := s.see.Children(s.path)
	requireNoError(t, err)
	return names
}

func checkRequests(t *testing.T, s *stage) {
	takeTurn(t, s.session) // makes the parents
	before := s.remote.(interface{ Counts() harness.Counts }).Counts()
	for range 10 {
		takeTurn(t, s.session)
	}
	if got := s.remote.(interface{ Counts() harness.Counts }).Counts().Sub(before); got != (harness.Counts{Requests: 30}) {
		t.Errorf("10 acquisitions cost %+v, want 3 requests each", got)
	}
}

func cancelEndsSession(t *testing.T, s *stage) {
	takeTurn(t, s.session)
	holder := zk.NewLock(s.see.Conn.Conn, s.path, zk.WorldACL(zk.PermAll))
	requireNoError(t, holder.Lock())
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := s.session.Lock(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Lock = %v, want %v", err, context.DeadlineExceeded)
	}
	if names := s.children(t); len(names) != 1 {
		t.Errorf("the queue is %q, want the holder alone", names)
	}
	requireNoError(t, holder.Unlock())
	takeTurn(t, s.session) // in a new session
}

func nodeRemoved(t *testing.T, s *stage) {
	l := mustLock(t, s.session)
	for _, name := range s.children(t) {
		requireNoError(t, s.see.Delete(s.path+"/"+name, -1))
	}
	expectError(t, l.Unlock(t.Context()), harness.ErrNotHeld)
	expectError(t, l.Err(), harness.ErrLost)
	takeTurn(t, s.session)
}

func lastOneOut(t *testing.T, s *stage) {
	takeTurn(t, s.session)
	requireNoError(t, s.session.Close())
	if ok, _, err := s.see.Exists(s.path); ok || err != nil {
		t.Errorf("after Close the lock's node exists: %t, %v", ok, err)
	}
}
