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
	wirezk "locklab/internal/wire/zookeeper"
	"locklab/zklock"
)

// disturbClients disturbs four clients, half of them behind a proxy, each with some takers of one lock.
func disturbClients(t *testing.T, s *stage, takers func(c *zklock.Client, i int) []taker) {
	p := newProxy(t, s.at)
	var r rush
	end := time.Now().Add(1500 * time.Millisecond)
	var wg sync.WaitGroup
	for i := range 4 {
		at := s.at
		if i%2 == 0 {
			at = p.at
		}
		for _, f := range takers(dialServer(t, at, zklock.ClientOptions{}), i) {
			wg.Go(func() {
				for time.Now().Before(end) {
					r.visit(t, contextWithin(t, rand.N(100*time.Millisecond)), f, i%2 == 0)
				}
				if !r.visit(t, contextWithin(t, patience), f, i%2 == 0) {
					t.Error("it does not get in after the faults")
				}
			})
		}
	}
	for time.Now().Before(end) {
		time.Sleep(rand.N(150 * time.Millisecond))
		if rand.IntN(2) == 0 {
			p.cut()
		} else {
			p.loseReply()
		}
	}
	wg.Wait()
}

// A rush checks that visits of several goroutines exclude each other, and that tokens rise.
type rush struct {
	acquisitions atomic.Int64
	mu           sync.Mutex
	inside       int
	greatest     uint64 // token
}

// visit takes the lock for a moment, and reports whether it got it before ctx ended. If replies
// may be lost, Unlock may fail.
func (r *rush) visit(t *testing.T, ctx context.Context, f taker, lossy bool) bool {
	l, err := f(ctx)
	if err != nil {
		if !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, zklock.ErrNotAcquired) {
			t.Errorf("Lock = %v", err)
		}
		return false
	}
	r.stay(t, l.Token(), func() bool { return l.Err() == nil })
	if err := l.Unlock(ctx); l.Err() == nil || err != nil && !lossy {
		t.Errorf("Unlock = %v, and then Err = %v", err, l.Err())
	}
	return true
}

// stay visits the resource with a token, 0 for none.
func (r *rush) stay(t *testing.T, token uint64, held func() bool) {
	r.acquisitions.Add(1)
	r.mu.Lock()
	if r.inside > 0 && held() {
		t.Errorf("%d are inside, and one more", r.inside)
	}
	if token > 0 && token <= r.greatest {
		t.Errorf("token %d after %d", token, r.greatest)
	}
	r.greatest = max(r.greatest, token)
	r.inside++
	r.mu.Unlock()
	time.Sleep(rand.N(2 * time.Millisecond))
	r.mu.Lock()
	defer r.mu.Unlock()
	r.inside--
}

// TestTokens lets clients, and zk.Lock, wait, give up, try and die on one path, whose node
// another client removes whenever it is empty. The tokens rise from holder to holder: each is
// the czxid of its ticket.
func TestTokens(t *testing.T) {
	t.Parallel()
	at := endpoint(t)
	p := &tokenPath{at: at, see: dialRaw(t, at), path: newPath()}
	unsealed := dialServer(t, at, zklock.ClientOptions{})
	zklock.Unseal(unsealed)
	var visits sync.RWMutex // held to keep visitors away
	end := time.Now().Add(4 * time.Second)
	var wg sync.WaitGroup
	for _, visit := range []func(*testing.T){
		p.visitor(newMutex(t, at, p.path)), p.visitor(unsealed.Mutex(p.path, zklock.Options{})), p.visitAndDie, p.visitAndDie, p.visitByOther,
	} {
		wg.Go(func() {
			for ; time.Now().Before(end); time.Sleep(rand.N(5 * time.Millisecond)) {
				func() {
					visits.RLock()
					defer visits.RUnlock()
					visit(t)
				}()
			}
		})
	}
	removals := 0
	for i := 0; time.Now().Before(end); i++ {
		if i%50 == 0 {
			visits.Lock()
		}
		if p.see.Delete(p.path, -1) == nil { // numbers restart
			removals++
		}
		if i%50 == 0 {
			visits.Unlock()
		}
		time.Sleep(rand.N(2 * time.Millisecond))
	}
	wg.Wait()
	if removals == 0 || p.foreign.Load() == 0 {
		t.Errorf("the test shows little: the node was removed %d times, and zk.Lock held %d times", removals, p.foreign.Load())
	}
}

type tokenPath struct {
	rush
	at      harness.Endpoint
	see     *wirezk.Conn
	path    string
	foreign atomic.Int64 // visits of zk.Lock
}

func (p *tokenPath) visitor(m *zklock.Mutex) func(*testing.T) {
	return func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), rand.N(20*time.Millisecond))
		defer cancel()
		f := []taker{m.Lock, m.Lock, m.Lock, m.TryLock}[rand.IntN(4)]
		p.visit(t, ctx, func(ctx context.Context) (*zklock.Lease, error) {
			l, err := f(ctx)
			if err == nil {
				there, stat, failed := p.see.Exists(zklock.Node(l))
				if failed != nil || !there || l.Token() != uint64(stat.Czxid) {
					t.Errorf("token %d; its ticket: %t, %+v, %v", l.Token(), there, stat, failed)
				}
			}
			return l, err
		}, false)
	}
}

func (p *tokenPath) visitAndDie(t *testing.T) {
	c := dialServer(t, p.at, zklock.ClientOptions{})
	defer c.Close()
	m := c.Mutex(p.path, zklock.Options{})
	p.visitor(m)(t)
	go func() { m.Lock(t.Context()) }() // Close ends it
	time.Sleep(rand.N(3 * time.Millisecond))
}

// visitByOther uses zk.Lock, which cannot give up, and fails without its parent.
func (p *tokenPath) visitByOther(t *testing.T) {
	c := dialRaw(t, p.at)
	defer c.Close()
	l := zk.NewLock(c.Conn.Conn, p.path, zk.WorldACL(zk.PermAll))
	for range 10 {
		if l.Lock() != nil {
			return
		}
		p.foreign.Add(1)
		p.stay(t, 0, func() bool { return true })
		requireNoError(t, l.Unlock())
	}
}
