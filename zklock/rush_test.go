package zklock_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"locklab/zklock"
)

// storm disturbs four clients, half of them behind a proxy, each with some takers of one lock.
func storm(t *testing.T, s *stage, takers func(c *zklock.Client, i int) []taker) {
	p := newProxy(t, s.at)
	var r rush
	end := time.Now().Add(1500 * time.Millisecond)
	var wg sync.WaitGroup
	for i := range 4 {
		at := s.at
		if i%2 == 0 {
			at = p.at
		}
		for _, f := range takers(dial(t, at, zklock.ClientOptions{}), i) {
			wg.Go(func() {
				for time.Now().Before(end) {
					ctx, cancel := context.WithTimeout(t.Context(), rand.N(100*time.Millisecond))
					r.visit(t, ctx, f, i%2 == 0)
					cancel()
				}
				ctx, cancel := context.WithTimeout(t.Context(), patience)
				defer cancel()
				if !r.visit(t, ctx, f, i%2 == 0) {
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
	t.Logf("%d acquisitions, %d waits given up", r.acquisitions.Load(), r.refusals.Load())
}

// A rush checks that the visits of several goroutines exclude each other, and that tokens rise.
type rush struct {
	inside, acquisitions, refusals atomic.Int64
	mu                             sync.Mutex
	last                           uint64 // token
}

// visit takes the lock for a moment, and reports whether it got it before ctx ended. If replies
// may be lost, Unlock may fail.
func (r *rush) visit(t *testing.T, ctx context.Context, f taker, lossy bool) bool {
	l, err := f(ctx)
	if err != nil {
		if r.refusals.Add(1); !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, zklock.ErrNotAcquired) {
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

// stay is what a holder does, with its token, 0 for none.
func (r *rush) stay(t *testing.T, token uint64, held func() bool) {
	r.acquisitions.Add(1)
	if n := r.inside.Add(1); n > 1 && held() {
		t.Errorf("%d are inside", n)
	}
	r.mu.Lock()
	if token > 0 && token <= r.last {
		t.Errorf("token %d after %d", token, r.last)
	}
	r.last = max(r.last, token)
	r.mu.Unlock()
	time.Sleep(rand.N(2 * time.Millisecond))
	r.inside.Add(-1)
}
