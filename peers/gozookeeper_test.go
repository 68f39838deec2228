package peers_test

import (
	"context"
	"crypto/rand"
	"errors"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"locklab/harness"
	"locklab/harness/locktest"
	"locklab/internal/leaktest"
	wirezk "locklab/internal/wire/zookeeper"
	"locklab/peers"
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
		"requests":                      requests,
		"cancel ends the session":       cancelEndsSession,
		"node removed under the holder": nodeRemoved,
		"last one removes the node":     lastOneOut,
	} {
		t.Run(name, func(t *testing.T) {
			leaktest.All(t)
			s := newStage(t, at)
			run(t, s)
			s.close(t)
		})
	}
}

func newStage(t *testing.T, at harness.Endpoint) *stage {
	t.Helper()
	key := "peers-test-" + rand.Text()
	s := &stage{path: "/locklab/" + key}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	var err error
	if s.remote, err = peers.Suite[0].Remote(ctx, at, key); err != nil {
		t.Fatal(err)
	}
	if s.session, err = s.remote.Join(ctx, 0); err != nil {
		t.Fatal(err)
	}
	if s.see, err = wirezk.Connect(ctx, at, wirezk.Options{}); err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *stage) close(t *testing.T) {
	t.Helper()
	if err := errors.Join(s.session.Close(), s.remote.Close()); err != nil {
		t.Error(err)
	}
	names, _, _ := s.see.Children(s.path) // mostly there is no such node any more
	for _, name := range names {
		_ = s.see.Delete(s.path+"/"+name, -1)
	}
	_ = s.see.Delete(s.path, -1)
	s.see.Close()
}

func (s *stage) lock(t *testing.T) harness.Lease {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	l, err := s.session.Lock(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func (s *stage) unlock(t *testing.T, l harness.Lease) {
	t.Helper()
	if err := l.Unlock(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func (s *stage) children(t *testing.T) []string {
	t.Helper()
	names, _, err := s.see.Children(s.path)
	if err != nil {
		t.Fatal(err)
	}
	return names
}

func requests(t *testing.T, s *stage) {
	s.unlock(t, s.lock(t)) // makes the parents
	before := s.remote.(harness.Counter).Counts()
	for range 10 {
		s.unlock(t, s.lock(t))
	}
	if got := s.remote.(harness.Counter).Counts().Sub(before); got != (harness.Counts{Requests: 30}) {
		t.Errorf("10 acquisitions cost %+v, want 3 requests each", got)
	}
}

func cancelEndsSession(t *testing.T, s *stage) {
	s.unlock(t, s.lock(t))
	holder := zk.NewLock(s.see.Conn.Conn, s.path, zk.WorldACL(zk.PermAll))
	if err := holder.Lock(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := s.session.Lock(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Lock = %v, want %v", err, context.DeadlineExceeded)
	}
	if names := s.children(t); len(names) != 1 {
		t.Errorf("the queue is %q, want the holder alone", names)
	}
	if err := holder.Unlock(); err != nil {
		t.Fatal(err)
	}
	s.unlock(t, s.lock(t)) // in a new session
}

func nodeRemoved(t *testing.T, s *stage) {
	l := s.lock(t)
	for _, name := range s.children(t) {
		if err := s.see.Delete(s.path+"/"+name, -1); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.Unlock(t.Context()); !errors.Is(err, harness.ErrNotHeld) {
		t.Errorf("Unlock = %v, want ErrNotHeld", err)
	}
	if err := l.Err(); !errors.Is(err, harness.ErrLost) {
		t.Errorf("Err = %v, want ErrLost", err)
	}
	s.unlock(t, s.lock(t))
}

func lastOneOut(t *testing.T, s *stage) {
	s.unlock(t, s.lock(t))
	if err := s.session.Close(); err != nil {
		t.Fatal(err)
	}
	if ok, _, err := s.see.Exists(s.path); ok || err != nil {
		t.Errorf("after Close the lock's node exists: %t, %v", ok, err)
	}
}
