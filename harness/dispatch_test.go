package harness_test

import (
	"context"
	"sync"
	"testing"
)

type contextual interface {
	Lock(ctx context.Context) error
	Unlock(ctx context.Context) error
}

type adapted struct{ sync.Locker }

func (a adapted) Lock(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	a.Locker.Lock()
	return nil
}

func (a adapted) Unlock(context.Context) error { a.Locker.Unlock(); return nil }

// Their concrete types must stay hidden from the compiler, which would otherwise call the
// methods directly.

//go:noinline
func newLocker() sync.Locker { return new(sync.Mutex) }

//go:noinline
func newContextual() contextual { return adapted{newLocker()} }

// BenchmarkDispatch times a free sync.Mutex: called directly, through sync.Locker, and as a
// Remote.
func BenchmarkDispatch(b *testing.B) {
	b.Run("via=direct", func(b *testing.B) {
		var mu sync.Mutex
		for b.Loop() {
			mu.Lock()
			//lint:ignore SA2001 the benchmark measures the acquisition
			mu.Unlock()
		}
	})
	b.Run("via=locker", func(b *testing.B) {
		l := newLocker()
		for b.Loop() {
			l.Lock()
			//lint:ignore SA2001 the benchmark measures the acquisition
			l.Unlock()
		}
	})
	b.Run("via=context", func(b *testing.B) {
		l := newContextual()
		for b.Loop() {
			if err := l.Lock(b.Context()); err != nil {
				b.Fatal(err)
			}
			if err := l.Unlock(b.Context()); err != nil {
				b.Fatal(err)
			}
		}
	})
}
