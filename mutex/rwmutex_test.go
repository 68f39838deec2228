package mutex_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"locklab/mutex"
)

func TestRWMutexTry(t *testing.T) {
	var l mutex.RWMutex
	for range 2 {
		if first := l.TryRLock(); !first || !l.TryRLock() {
			t.Fatal("two readers do not get in")
		}
		if l.TryLock() {
			t.Fatal("a writer beside two readers")
		}
		if !l.TryRLock() {
			t.Fatal("the TryLock that failed keeps readers out")
		}
		l.RUnlock()
		l.RUnlock()
		if l.TryLock() {
			t.Fatal("a writer beside a reader")
		}
		if l.RUnlock(); !l.TryLock() {
			t.Fatal("no writer in a free lock")
		}
		if l.TryLock() || l.TryRLock() {
			t.Fatal("another one beside a writer")
		}
		l.Unlock()
	}
}

// TestRWMutexContexts lets waiters of either kind give up while the lock is held by either.
func TestRWMutexContexts(t *testing.T) {
	cause := errors.New("no longer wanted")
	var l mutex.RWMutex
	locks := map[string]func(context.Context) error{"LockContext": l.LockContext, "RLockContext": l.RLockContext}
	giveUp := func(name string) {
		t.Helper()
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Millisecond, func() { cancel(cause) })
		if err := locks[name](ctx); !errors.Is(err, cause) {
			t.Fatalf("%s of a held lock, cancelled while waiting: got %v, want %v", name, err, cause)
		}
	}
	if err := l.LockContext(t.Context()); err != nil {
		t.Fatalf("free lock: %v", err)
	}
	giveUp("LockContext")
	giveUp("RLockContext")
	l.Unlock()
	if err := l.RLockContext(t.Context()); err != nil {
		t.Fatalf("free lock: %v", err)
	}
	giveUp("LockContext")
	if !l.TryRLock() {
		t.Fatal("the writer that gave up keeps readers out")
	}
	l.RUnlock()
	l.RUnlock()
	over, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	for name, lock := range locks {
		if err := lock(over); !errors.Is(err, cause) {
			t.Errorf("%s of a free lock, context ended: got %v, want %v", name, err, cause)
		}
	}
	if !l.TryLock() {
		t.Error("a waiter that gave up left the lock held")
	}
}

// rwWays are the ways to take a lock, for a reader and for a writer. They report whether they did.
var rwWays = map[bool][]func(*mutex.RWMutex, context.Context) bool{
	true: {
		func(l *mutex.RWMutex, _ context.Context) bool { return l.TryRLock() },
		func(l *mutex.RWMutex, ctx context.Context) bool { return l.RLockContext(ctx) == nil },
		func(l *mutex.RWMutex, _ context.Context) bool { l.RLocker().Lock(); return true },
		func(l *mutex.RWMutex, _ context.Context) bool { l.RLock(); return true },
	},
	false: {
		func(l *mutex.RWMutex, _ context.Context) bool { return l.TryLock() },
		func(l *mutex.RWMutex, ctx context.Context) bool { return l.LockContext(ctx) == nil },
		func(l *mutex.RWMutex, _ context.Context) bool { l.Lock(); return true },
	},
}

// TestRWMutexMixed: workers take one lock in all ways. No write comes to a reader, none is lost.
func TestRWMutexMixed(t *testing.T) {
	const workers, times = 16, 300
	for _, reads := range []int{10, 50, 90, 99} {
		var l mutex.RWMutex
		var wrote atomic.Int64
		count := 0 // guarded by l
		use := func() {
			ctx, cancel := context.WithTimeout(context.Background(), time.Duration(rand.IntN(200))*time.Microsecond)
			defer cancel()
			read := rand.IntN(100) < reads
			if way := rand.IntN(len(rwWays[read])); !rwWays[read][way](&l, ctx) {
				return
			}
			before := count
			if rand.IntN(4) == 0 {
				runtime.Gosched()
			}
			if count != before {
				t.Errorf("%d %% reads: a holder, read=%t, found %d and then %d", reads, read, before, count)
			}
			switch {
			case !read:
				count = before + 1
				wrote.Add(1)
				l.Unlock()
			case rand.IntN(8) == 0:
				go l.RUnlock()
			default:
				l.RUnlock()
			}
		}
		var wg sync.WaitGroup
		for range workers {
			wg.Go(func() {
				for range times {
					use()
				}
			})
		}
		wg.Wait()
		l.Lock() // some RUnlocks are on their way
		if int64(count) != wrote.Load() {
			t.Errorf("%d %% reads: %d writes counted %d", reads, wrote.Load(), count)
		}
		l.Unlock()
	}
}

func ExampleRWMutex() {
	var (
		mu    mutex.RWMutex // ready to use
		names = map[int]string{1: "one"}
		wg    sync.WaitGroup
	)
	wg.Go(func() {
		mu.Lock()
		names[2] = "two"
		mu.Unlock()
	})
	for range 4 {
		wg.Go(func() {
			mu.RLock()
			_ = names[1]
			mu.RUnlock()
		})
	}
	wg.Wait()
	fmt.Println(len(names))
	// Output: 2
}
