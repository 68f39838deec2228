package zklock_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"locklab/harness"
	"locklab/internal/leaktest"
	wirezk "locklab/internal/wire/zookeeper"
	"locklab/zklock"
)

// TestTokens lets clients of every kind, and zk.Lock, wait, give up, try and die on one path,
// whose node another client removes whenever it is empty. The tokens rise from holder to
// holder: each is the czxid of its ticket.
func TestTokens(t *testing.T) {
	t.Parallel()
	at := endpoint(t)
	leaktest.Own(t)
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	w := &tokenWatch{t: t, at: at, see: raw(t, at), path: newPath(), enough: 400, until: time.Now().Add(patience)}
	var wg sync.WaitGroup
	for i, visitor := range []func(*rand.Rand){
		w.mutex(false), w.mutex(false), w.mutex(true), w.mortal, w.mortal, w.zkLock,
	} {
		r := rand.New(rand.NewPCG(seed, uint64(i)))
		wg.Go(func() {
			for !w.over() {
				w.visits.RLock()
				visitor(r)
				w.visits.RUnlock()
			}
		})
	}
	wg.Go(func() {
		for r := rand.New(rand.NewPCG(seed, 6)); !w.over(); {
			w.remover(r)
		}
	})
	wg.Wait()
	t.Logf("%d holders with a token and %d without; the node of the lock was removed %d times", w.count, w.without, w.removals.Load())
	if w.removals.Load() == 0 || w.without == 0 {
		t.Error("the test shows little")
	}
}

type tokenWatch struct {
	t    *testing.T
	at   harness.Endpoint
	see  *wirezk.Conn
	path string

	enough   int       // holders with a token, if everything else has occurred too
	until    time.Time // end of the test in any case
	done     atomic.Bool
	removals atomic.Int64
	visits   sync.RWMutex // held to keep visitors away

	// Guarded by the tested lock:
	inside, count, without int
	last                   uint64
}

func (w *tokenWatch) over() bool {
	return w.done.Load() || w.t.Failed() || time.Now().After(w.until)
}

// enter is a holder's first step. l is nil for a holder without a token.
func (w *tokenWatch) enter(l *zklock.Lease) {
	if w.inside++; w.inside != 1 {
		w.t.Errorf("%d are inside", w.inside)
	}
	if l == nil {
		w.without++
		return
	}
	w.count++
	there, stat, err := w.see.Exists(zklock.Node(l))
	if err != nil || !there {
		w.t.Errorf("the holder's ticket: %t, %v", there, err)
		return
	}
	if token := l.Token(); token <= w.last || token != uint64(stat.Czxid) {
		w.t.Errorf("token %d after %d, with czxid %d", token, w.last, stat.Czxid)
	}
	w.last = l.Token()
	if w.count >= w.enough && w.without > 0 && w.removals.Load() > 0 {
		w.done.Store(true)
	}
}

func (w *tokenWatch) leave() { w.inside-- }

func (w *tokenWatch) visit(r *rand.Rand, m *zklock.Mutex) *zklock.Lease {
	ctx, cancel := context.WithTimeout(w.t.Context(), patience)
	defer cancel()
	take := m.Lock
	switch r.IntN(4) {
	case 0:
		take = m.TryLock
	case 1:
		short, cancel := context.WithTimeout(ctx, time.Duration(r.IntN(5000))*time.Microsecond)
		defer cancel()
		ctx = short
	}
	l, err := take(ctx)
	if err != nil {
		if !errors.Is(err, zklock.ErrNotAcquired) && !errors.Is(err, context.DeadlineExceeded) {
			w.t.Error(err)
		}
		return nil
	}
	w.enter(l)
	time.Sleep(time.Duration(r.IntN(1000)) * time.Microsecond)
	w.leave()
	return l
}

func rest(r *rand.Rand) {
	if r.IntN(4) == 0 {
		time.Sleep(time.Duration(r.IntN(20)) * time.Millisecond)
	}
}

func (w *tokenWatch) mutex(unsealed bool) func(*rand.Rand) {
	c := dial(w.t, w.at, zklock.ClientOptions{})
	if unsealed {
		zklock.Unseal(c)
	}
	m := c.Mutex(w.path, zklock.Options{})
	return func(r *rand.Rand) {
		if l := w.visit(r, m); l != nil {
			if err := l.Unlock(w.t.Context()); err != nil {
				w.t.Error(err)
			}
		}
		rest(r)
	}
}

// mortal is a client whose session ends with a ticket that holds or waits.
func (w *tokenWatch) mortal(r *rand.Rand) {
	c := dial(w.t, w.at, zklock.ClientOptions{})
	defer c.Close()
	m := c.Mutex(w.path, zklock.Options{})
	for range r.IntN(4) {
		if l := w.visit(r, m); l != nil {
			if err := l.Unlock(w.t.Context()); err != nil {
				w.t.Error(err)
			}
		}
	}
	if r.IntN(2) == 0 {
		go func() { m.Lock(w.t.Context()) }() // Close ends it
		time.Sleep(time.Duration(r.IntN(3000)) * time.Microsecond)
		return
	}
	w.visit(r, m)
}

// zkLock is a holder of another library, which cannot give up and fails without its parent.
func (w *tokenWatch) zkLock(r *rand.Rand) {
	ctx, cancel := context.WithTimeout(w.t.Context(), patience)
	defer cancel()
	c, err := wirezk.Connect(ctx, w.at, wirezk.Options{})
	if err != nil {
		w.t.Error(err)
		return
	}
	defer c.Close()
	for range 10 {
		l := zk.NewLock(c.Conn.Conn, w.path, zk.WorldACL(zk.PermAll))
		if w.over() || l.Lock() != nil {
			return
		}
		w.enter(nil)
		w.leave()
		if err := l.Unlock(); err != nil {
			w.t.Error(err)
			return
		}
		rest(r)
	}
}

// remover makes the sequence restart. It sometimes keeps the visitors away for that.
func (w *tokenWatch) remover(r *rand.Rand) {
	if r.IntN(100) == 0 {
		w.visits.Lock()
		defer w.visits.Unlock()
	}
	if err := w.see.Delete(w.path, -1); err == nil {
		w.removals.Add(1)
	}
	time.Sleep(time.Duration(r.IntN(2000)) * time.Microsecond)
}
