package mutex_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"
	"time"
	"unsafe"

	"locklab/mutex"
)

func TestMutexIsSmall(t *testing.T) {
	if size := unsafe.Sizeof(mutex.Mutex{}); size > 16 {
		t.Errorf("a Mutex has %d bytes, want 16 at most", size)
	}
}

func TestMutexUnlockOfFreeLock(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("Unlock of a free lock did not panic")
		}
	}()
	new(mutex.Mutex).Unlock()
}

func TestMutexLockContext(t *testing.T) {
	cause := errors.New("no longer wanted")
	var l mutex.Mutex
	if err := l.LockContext(t.Context()); err != nil {
		t.Fatalf("free lock: %v", err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	time.AfterFunc(time.Millisecond, func() { cancel(cause) })
	if err := l.LockContext(ctx); !errors.Is(err, cause) {
		t.Fatalf("held lock, context cancelled while waiting: got %v, want %v", err, cause)
	}
	l.Unlock()
	if err := l.LockContext(ctx); !errors.Is(err, cause) {
		t.Fatalf("free lock, context ended: got %v, want %v", err, cause)
	}
	if !l.TryLock() {
		t.Fatal("the waiter that gave up left the lock held")
	}
}

// TestMutexLockContextUnderLoad: workers wait or give up at random, and no update is lost.
func TestMutexLockContextUnderLoad(t *testing.T) {
	const workers, times = 16, 300
	var (
		l        mutex.Mutex
		got, had int // guarded by l
		took     [workers]int
		wg       sync.WaitGroup
	)
	for i := range workers {
		wg.Go(func() {
			for range times {
				if i%2 == 0 {
					l.Lock()
				} else {
					ctx, cancel := context.WithTimeout(context.Background(), time.Duration(rand.IntN(200))*time.Microsecond)
					err := l.LockContext(ctx)
					cancel()
					if err != nil {
						continue
					}
				}
				took[i]++
				got++
				if rand.IntN(4) == 0 {
					runtime.Gosched()
				}
				had++
				l.Unlock()
			}
		})
	}
	wg.Wait()
	want := 0
	for _, n := range took {
		want += n
	}
	if got != want || had != want {
		t.Errorf("%d acquisitions counted %d and %d", want, got, had)
	}
	if !l.TryLock() {
		t.Error("the lock is not free in the end")
	}
}

func ExampleMutex() {
	var (
		mu    mutex.Mutex // ready to use
		count int         // guarded by mu
		wg    sync.WaitGroup
	)
	for range 4 {
		wg.Go(func() {
			for range 1000 {
				mu.Lock()
				count++
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	fmt.Println(count)
	// Output: 4000
}

func ExampleMutex_LockContext() {
	var mu mutex.Mutex
	mu.Lock()

	ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
	defer cancel()
	if err := mu.LockContext(ctx); err != nil {
		fmt.Println("gave up:", err)
	}
	// Output: gave up: context deadline exceeded
}
