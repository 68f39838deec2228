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

// rwModel is the state that an RWMutex guards, and the expectations of its users.
type rwModel struct {
	l       mutex.RWMutex
	count   int // guarded by l
	writers atomic.Int32
	readers atomic.Int32
	wrote   atomic.Int64
}

func (m *rwModel) write() error {
	defer m.l.Unlock()
	if w, r := m.writers.Add(1), m.readers.Load(); w != 1 || r != 0 {
		return fmt.Errorf("a writer beside %d writers and %d readers", w-1, r)
	}
	before := m.count
	if rand.IntN(4) == 0 {
		runtime.Gosched()
	}
	m.count = before + 1
	m.wrote.Add(1)
	m.writers.Add(-1)
	return nil
}

// read releases the lock in another goroutine now and then.
func (m *rwModel) read() error {
	m.readers.Add(1)
	before := m.count
	if rand.IntN(4) == 0 {
		runtime.Gosched()
	}
	after, w := m.count, m.writers.Load()
	m.readers.Add(-1)
	if rand.IntN(8) == 0 {
		go m.l.RUnlock()
	} else {
		m.l.RUnlock()
	}
	if after != before || w != 0 {
		return fmt.Errorf("a reader beside %d writers read %d and then %d", w, before, after)
	}
	return nil
}

// use takes the lock in one of the ways, drawn with a share of readers in percent.
func (m *rwModel) use(reads int) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Duration(rand.IntN(200))*time.Microsecond)
	defer cancel()
	read, took, way := rand.IntN(100) < reads, true, rand.IntN(5)
	switch {
	case read && way == 0:
		took = m.l.TryRLock()
	case read && way == 1:
		took = m.l.RLockContext(ctx) == nil
	case read && way == 2:
		m.l.RLocker().Lock()
	case read:
		m.l.RLock()
	case way == 0:
		took = m.l.TryLock()
	case way == 1:
		took = m.l.LockContext(ctx) == nil
	default:
		m.l.Lock()
	}
	switch {
	case !took:
		return nil
	case read:
		return m.read()
	}
	return m.write()
}

// TestRWMutexMixed: workers take one lock in all ways, and no update is lost.
func TestRWMutexMixed(t *testing.T) {
	const workers, times = 16, 300
	for _, reads := range []int{10, 50, 90, 99} {
		var m rwModel
		var wg sync.WaitGroup
		for range workers {
			wg.Go(func() {
				for range times {
					if err := m.use(reads); err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
		wg.Wait()
		m.l.Lock() // some RUnlocks are on their way
		if int64(m.count) != m.wrote.Load() {
			t.Errorf("%d %% reads: %d writes counted %d", reads, m.wrote.Load(), m.count)
		}
		m.l.Unlock()
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
