package zklock_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"locklab/internal/faultproxy"
	"locklab/zklock"
)

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
