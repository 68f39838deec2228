package peers_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"locklab/harness"
	"locklab/harness/locktest"
	"locklab/internal/faultproxy"
)

// TestCuratorInterrupted shows why curator-semaphore-mutex may get stuck: a waiter that is
// interrupted while it removes the ticket of the inner mutex leaves its lease node. If Curator
// fixes this, change MayStick and the documentation.
func TestCuratorInterrupted(t *testing.T) {
	if raceEnabled {
		t.Skip("it is about Java and the server, of which the race detector sees nothing; it runs without -race")
	}
	t.Parallel()
	needJava(t)
	at := locktest.Endpoint(t, harness.KindZooKeeper)
	for name, test := range map[string]struct{ last, stuck bool }{
		"while it waits":   {last: false, stuck: false},
		"in its last step": {last: true, stuck: true},
	} {
		t.Run(name, func(t *testing.T) {
			s := newInterruptStage(t, at)
			s.interrupt(t, test.last)
			if got := s.stuck(t); got != test.stuck {
				t.Errorf("nothing holds the lock and it is stuck: %t, want %t", got, test.stuck)
			}
			if err := s.late.Close(); err != nil { // its session ends
				t.Error(err)
			}
			expectNoError(t, mustLock(t, s.holds).Unlock(t.Context()))
		})
	}
}

type interruptStage struct {
	look         *onlooker
	proxy        *faultproxy.Proxy
	late         harness.Remote
	holds, waits harness.Session
}

func newInterruptStage(t *testing.T, at harness.Endpoint) *interruptStage {
	t.Helper()
	key, v := newKey(), variant("curator-semaphore-mutex")
	p, err := faultproxy.New(at.Addrs[0][0], faultproxy.ZooKeeper, faultproxy.Options{})
	requireNoError(t, err)
	t.Cleanup(func() { p.Close() })
	s := &interruptStage{look: newOnlooker(t, at, "/locklab/"+key), proxy: p}
	_, s.holds = joinAt(t, v, at, key)
	at.Addrs = [][]string{{p.Addr()}}
	s.late, s.waits = joinAt(t, v, at, key)
	return s
}

func (s *interruptStage) nodes(t *testing.T, child string, n int) {
	t.Helper()
	var names []string
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		var err error
		if names, _, err = s.look.conn.Children(s.look.path + child); err == nil && len(names) == n {
			return
		}
	}
	t.Fatalf("below %s are %q, want %d", child, names, n)
}

// interrupt makes the waiter give up while the lock is held; if last is set, after the server
// removed the waiter's ticket, before it is notified.
func (s *interruptStage) interrupt(t *testing.T, last bool) {
	t.Helper()
	lease := mustLock(t, s.holds)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	gaveUp := make(chan error, 1)
	go func() {
		_, err := s.waits.Lock(ctx)
		gaveUp <- err
	}()
	s.nodes(t, "/leases", 2)
	if !last {
		cancel()
	}
	s.proxy.Delay(faultproxy.Reply, 500*time.Millisecond)
	defer s.proxy.Delay(faultproxy.Reply, 0)
	if last {
		requireNoError(t, lease.Unlock(t.Context()))
		s.nodes(t, "/locks", 0)
		cancel()
	}
	expectError(t, <-gaveUp, context.Canceled)
	if !last {
		requireNoError(t, lease.Unlock(t.Context()))
	}
}

// stuck reports whether the last holder cannot get the lock again within some seconds.
func (s *interruptStage) stuck(t *testing.T) bool {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Second)
	defer cancel()
	lease, err := s.holds.Lock(ctx)
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return true
	case err != nil:
		t.Fatal(err)
	}
	expectNoError(t, lease.Unlock(t.Context()))
	return false
}
