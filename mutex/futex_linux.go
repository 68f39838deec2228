package mutex

import "locklab/atomics"

// Futex is Drepper's mutex on the futex of Linux: one word with three states: free, held, or
// held while others sleep. Only a waiter enters the kernel, or a holder that must wake a
// sleeper. Service is in no order, and a waiter may starve. The zero value is free. Linux only.
//
// # Trade-offs
//
// Without contention it costs a compare-and-swap and a swap, as in C. Under contention a
// waiter blocks its thread, which the scheduler notices late: the processor place (P) of the
// waiter stays idle until the monitor thread takes it away, 20 µs to 10 ms later. A wake-up
// takes tens of microseconds, a parked goroutine's a quarter of one. It suits goroutines that
// are locked to threads, for which [sync.Mutex] must switch threads too. Use [sync.Mutex].
//
// # Memory ordering
//
// The CompareAndSwap or Swap that finds the word 0 pairs with the Swap of the Unlock that put
// the 0 there. That Unlock must not be a release store: it reads in the same instruction
// whether a waiter sleeps. With a store that is not yet visible, a waiter could fall asleep
// unnoticed. The kernel compares the word again, under its own lock, before the waiter sleeps.
//
// # References
//
// Ulrich Drepper, "Futexes Are Tricky", Red Hat, version 1.6, November 5, 2011,
// https://www.akkadia.org/drepper/futex.pdf: the class mutex2, which is this protocol, with
// the loop of mutex3, which marks the word by an exchange instead of a compare-and-exchange.
// Unlock is an exchange too, one instruction instead of a decrement and a store.
//
// Hubertus Franke, Rusty Russell and Matthew Kirkwood, "Fuss, Futexes and Furwocks: Fast
// Userlevel Locking in Linux", Ottawa Linux Symposium, 2002.
type Futex struct {
	_     atomics.CacheLinePad
	state atomics.Uint32 // futexFree, futexHeld or futexSlept
	queue futexQueue     // the sleepers on state; in the kernel
	_     atomics.CacheLinePad
}

const (
	futexFree  = 0
	futexHeld  = 1 // and no waiter sleeps
	futexSlept = 2 // held, and a waiter may sleep
)

// Lock takes the lock and waits for it if need be.
func (l *Futex) Lock() {
	if !l.state.CompareAndSwap(futexFree, futexHeld) {
		l.lockSlow()
	}
}

func (l *Futex) lockSlow() {
	for l.state.Swap(futexSlept) != futexFree {
		l.queue.wait(&l.state, futexSlept)
	}
}

// TryLock takes the lock if it is free and reports whether it did.
func (l *Futex) TryLock() bool { return l.state.CompareAndSwap(futexFree, futexHeld) }

// Unlock releases the lock, which the caller must hold.
func (l *Futex) Unlock() {
	if l.state.Swap(futexFree) == futexSlept {
		l.queue.wake(&l.state)
	}
}
