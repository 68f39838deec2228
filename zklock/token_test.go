package zklock_test

import (
	"context"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"locklab/internal/leaktest"
	wirezk "locklab/internal/wire/zookeeper"
	"locklab/zklock"
)

// TestTokens lets clients, and zk.Lock, wait, give up, try and die on one path, whose node
// another client removes whenever it is empty. The tokens rise from holder to holder: each is
// the czxid of its ticket.
func TestTokens(t *testing.T) {
	t.Parallel()
	at := endpoint(t)
	leaktest.Own(t)
	see, path := raw(t, at), newPath()
	var r rush
	var foreign, removals atomic.Int64
	var visits sync.RWMutex // held to keep visitors away
	end := time.Now().Add(4 * time.Second)
	visit := func(m *zklock.Mutex) {
		ctx, cancel := context.WithTimeout(t.Context(), rand.N(20*time.Millisecond))
		defer cancel()
		take := m.Lock
		if rand.IntN(4) == 0 {
			take = m.TryLock
		}
		r.visit(t, ctx, func(ctx context.Context) (*zklock.Lease, error) {
			l, err := take(ctx)
			if err == nil {
				there, stat, failed := see.Exists(zklock.Node(l))
				if failed != nil || !there || l.Token() != uint64(stat.Czxid) {
					t.Errorf("token %d; its ticket: %t, %+v, %v", l.Token(), there, stat, failed)
				}
			}
			return l, err
		}, false)
	}
	living := func(unsealed bool) func() {
		c := dial(t, at, zklock.ClientOptions{})
		if unsealed {
			zklock.Unseal(c)
		}
		m := c.Mutex(path, zklock.Options{})
		return func() { visit(m) }
	}
	mortal := func() { // its session ends with a ticket that holds or waits
		c := dial(t, at, zklock.ClientOptions{})
		defer c.Close()
		m := c.Mutex(path, zklock.Options{})
		visit(m)
		go func() { m.Lock(t.Context()) }() // Close ends it
		time.Sleep(rand.N(3 * time.Millisecond))
	}
	other := func() { // cannot give up, and fails without its parent
		c, err := wirezk.Connect(t.Context(), at, wirezk.Options{})
		if err != nil {
			t.Error(err)
			return
		}
		defer c.Close()
		l := zk.NewLock(c.Conn.Conn, path, zk.WorldACL(zk.PermAll))
		for range 10 {
			if l.Lock() != nil {
				return
			}
			foreign.Add(1)
			r.stay(t, 0, func() bool { return true })
			if err := l.Unlock(); err != nil {
				t.Error(err)
			}
		}
	}
	var wg sync.WaitGroup
	for _, visitor := range []func(){living(false), living(false), living(true), mortal, mortal, other} {
		wg.Go(func() {
			for time.Now().Before(end) {
				visits.RLock()
				visitor()
				visits.RUnlock()
				time.Sleep(rand.N(5 * time.Millisecond))
			}
		})
	}
	for time.Now().Before(end) {
		visits.Lock()
		if see.Delete(path, -1) == nil { // numbers restart
			removals.Add(1)
		}
		visits.Unlock()
		for range 50 {
			if see.Delete(path, -1) == nil {
				removals.Add(1)
			}
			time.Sleep(rand.N(2 * time.Millisecond))
		}
	}
	wg.Wait()
	t.Logf("%d holders, %d of them without a token; the node of the lock was removed %d times", r.acquisitions.Load(), foreign.Load(), removals.Load())
	if removals.Load() == 0 || foreign.Load() == 0 {
		t.Error("the test shows little")
	}
}
