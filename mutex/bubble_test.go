//go:build !systematic

package mutex

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// TestBubbles: waiters of package sync may meet holders of any bubble of testing/synctest. A
// waiter with a context leaves no channel of its bubble to others.
func TestBubbles(t *testing.T) {
	var m Mutex
	var l RWMutex
	ctx := t.Context()
	ctx.Done() // makes the channel outside bubbles
	queued := func() bool { return m.state.Load() >= mutexWaiting }
	readerWaits := func() bool { return l.state.Load()%rwQueue >= rwWaiting }
	writerWaits := func() bool { return int32(l.pending.Load()) > 0 }
	direct := func(f func()) { f() }
	var years time.Duration // the clock of a bubble begins in the year 2000
	bubble := func(f func()) { synctest.Test(t, func(*testing.T) { time.Sleep(years); f() }) }
	for _, use := range []struct {
		hold, release func()
		waits         func() bool
		lock, unlock  func()
		context       bool
	}{
		{m.Lock, m.Unlock, queued, m.Lock, m.Unlock, false},
		{l.Lock, l.Unlock, readerWaits, l.RLock, l.RUnlock, false},
		{l.RLock, l.RUnlock, writerWaits, l.Lock, l.Unlock, false},
		{m.Lock, m.Unlock, queued, func() { _ = m.LockContext(ctx) }, m.Unlock, true},
		{l.Lock, l.Unlock, readerWaits, func() { _ = l.RLockContext(ctx) }, l.RUnlock, true},
		{l.RLock, l.RUnlock, writerWaits, func() { _ = l.LockContext(ctx) }, l.Unlock, true},
	} {
		meet := func(run func(f func())) {
			use.hold()
			var wg sync.WaitGroup
			wg.Go(func() { waitUntil(t, use.waits); use.release() })
			run(func() { use.lock(); use.unlock() })
			wg.Wait()
		}
		for i := range 20 {
			years = time.Duration((i+1)%2) * 100 * 365 * 24 * time.Hour
			bubble(func() { meet(direct) })
			meet(direct)
			if !use.context {
				meet(bubble)
			}
		}
	}
}

// TestBubbleClock: a context of a bubble ends while its goroutines wait for a lock. A woken
// waiter that finds the lock taken demands a handover, since the clock stands still.
func TestBubbleClock(t *testing.T) {
	contextWaiters.Put(contextWaiters.New())
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		var m Mutex
		m.Lock()
		if err := m.LockContext(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v, want the end of the context", err)
		}
		time.Sleep(100 * 365 * 24 * time.Hour)
		if got := new(mutexWaiter).demand(); got != mutexHandover {
			t.Errorf("a waiter woken in vain demands %#x, want a handover", got)
		}
	})
}
