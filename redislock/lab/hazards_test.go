package lab

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"locklab/harness"
	"locklab/harness/locktest"
	"locklab/internal/faultproxy"
)

// TestCareless: redis-unsafe deletes the lock of the next holder, and reports no error.
func TestCareless(t *testing.T) {
	at := locktest.Endpoint(t, harness.KindRedis)
	s := newScene(t, at)
	p, through := newProxy(t, at)
	m, other := newCareless(newPlain(t, newLink(t, through)), s.key, 0), newCareless(newPlain(t, newLink(t, at)), s.key, 0)
	unlockLease(t, acquireLock(t, m)) // the server has the scripts from now on
	l := acquireLock(t, m)
	taken := make(chan harness.Lease, 1)
	p.Inject(faultproxy.Fault{Do: faultproxy.LoseReply, Match: func(m faultproxy.Message) bool {
		if m.Op == "del" && len(taken) == 0 {
			s.watch.client.Del(t.Context(), s.key) // as if the lease were over
			if next, err := other.TryLock(t.Context()); err == nil {
				taken <- next
			}
		}
		return false
	}})
	err := l.Unlock(t.Context())
	if len(taken) == 0 {
		t.Fatal("the test shows nothing: no client took the lock in between")
	}
	if err != nil || s.exists() {
		t.Errorf("Unlock = %v and the next holder still has the lock: %t; want nil and false, which is the published bug", err, s.exists())
	}
	_ = (<-taken).Unlock(t.Context())
}

// TestRenewalRound: slots after one without an answer are not renewed.
func TestRenewalRound(t *testing.T) {
	var all []*renewed
	for _, slot := range []int{9000, 17, 3, 16, 8001} { // 8, 1, 3, 0 and 1 in the table
		all = append(all, &renewed{slot: slot})
	}
	var asked []int
	round(all, func(r *renewed) error {
		if asked = append(asked, r.slot); r.slot == 8001 {
			return errors.New("no answer")
		}
		return nil
	})
	if !slices.Equal(asked, []int{16, 17, 8001}) {
		t.Errorf("asked slots %v", asked)
	}
}

func joinToken(t *testing.T, at harness.Endpoint, key string) harness.Session {
	r, err := token.Remote(t.Context(), at, key)
	requireNoError(t, err)
	t.Cleanup(func() { r.Close() })
	s, err := r.Join(t.Context(), 0)
	requireNoError(t, err)
	return s
}

// TestTokenOrder: a waiter of redis-token keeps its place for some seconds.
func TestTokenOrder(t *testing.T) {
	t.Parallel()
	at, key := locktest.Endpoint(t, harness.KindRedis), rand.Text()
	watch, held, served := newLink(t, at), acquireLock(t, joinToken(t, at, key)), make(chan int, 2)
	var work errgroup.Group
	for i := range 2 {
		m := joinToken(t, at, key)
		work.Go(func() error {
			l, err := m.Lock(t.Context())
			if err != nil {
				return err
			}
			served <- i
			return l.Unlock(t.Context())
		})
		waitUntil(t, "it waits", func() bool {
			return strings.Contains(watch.client.Info(t.Context(), "clients").Val(), fmt.Sprint("blocked_clients:", i+1))
		})
		time.Sleep(tokenWait / 8)
	}
	unlockLease(t, held)
	requireNoError(t, work.Wait())
	if first := <-served; first != 0 {
		t.Error("the second waiter was served first")
	}
}

// TestTokenSteps loses the connection at each request of redis-token. Lock or Unlock fails.
// After a pop without a reply, or a push that never arrives, no client ever gets the lock again.
func TestTokenSteps(t *testing.T) {
	t.Parallel()
	at := locktest.Endpoint(t, harness.KindRedis)
	for _, c := range []struct {
		op     string
		do     faultproxy.Action
		locks  bool // Lock succeeds
		usable bool // the lock can be had afterwards
	}{
		{"evalsha", faultproxy.LoseRequest, false, true},
		{"evalsha", faultproxy.LoseReply, false, true},
		{"blpop", faultproxy.LoseRequest, false, true},
		{"blpop", faultproxy.LoseReply, false, false},
		{"rpush", faultproxy.LoseRequest, true, false},
		{"rpush", faultproxy.LoseReply, true, true},
	} {
		t.Run(c.op+"/"+string(c.do), func(t *testing.T) {
			p, through := newProxy(t, at)
			key := "token-" + rand.Text()
			hurt, other := joinToken(t, through, key), joinToken(t, at, key)
			if c.op != "evalsha" { // the list exists, and no element is lost
				unlockLease(t, acquireLock(t, other))
			}
			hit := p.Inject(faultproxy.Fault{Do: c.do, Match: faultproxy.Op(c.op)})
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			l, err := hurt.Lock(ctx)
			if (err == nil) != c.locks {
				t.Fatalf("Lock = %v, want a lease: %t", err, c.locks)
			}
			if c.locks {
				if err := l.Unlock(ctx); err == nil {
					t.Error("Unlock = nil, without an answer")
				}
			}
			select {
			case <-hit.Done():
			case <-time.After(time.Second):
				t.Fatalf("the test shows nothing: no %s was lost", c.op)
			}
			short, cancel := context.WithTimeout(t.Context(), 1500*time.Millisecond)
			defer cancel()
			l, err = other.Lock(short)
			if (err == nil) != c.usable {
				t.Errorf("Lock of the other = %v, want a lease: %t", err, c.usable)
			}
			if err == nil {
				unlockLease(t, l)
			}
			rdb := newLink(t, at).client
			name := "locklab:{" + key + "}"
			if n := rdb.LLen(t.Context(), name).Val(); n > 1 {
				t.Errorf("the list has %d elements", n)
			}
			rdb.Del(t.Context(), name, name+":~made")
		})
	}
}
