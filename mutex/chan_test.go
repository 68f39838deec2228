package mutex_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"locklab/mutex"
)

func TestChanLockContext(t *testing.T) {
	cause := errors.New("no longer wanted")
	l := mutex.NewChan()
	if err := l.LockContext(t.Context()); err != nil {
		t.Fatalf("free lock: %v", err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	time.AfterFunc(time.Millisecond, func() { cancel(cause) })
	if err := l.LockContext(ctx); !errors.Is(err, cause) {
		t.Fatalf("held lock, context cancelled while waiting: got %v, want %v", err, cause)
	}
	l.Unlock()
	for range 100 { // a select would choose at random
		if err := l.LockContext(ctx); !errors.Is(err, cause) {
			t.Fatalf("free lock, context ended: got %v, want %v", err, cause)
		}
	}
	if !l.TryLock() {
		t.Fatal("the waiter that gave up left the lock held")
	}
}

func TestChanUnlockOfFreeLock(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("Unlock of a free lock did not panic")
		}
	}()
	mutex.NewChan().Unlock()
}

func ExampleChan_LockContext() {
	l := mutex.NewChan()
	l.Lock()

	ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
	defer cancel()
	if err := l.LockContext(ctx); err != nil {
		fmt.Println("gave up:", err)
	}
	// Output: gave up: context deadline exceeded
}
