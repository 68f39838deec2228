package lab

import (
	"sync"

	"locklab/atomics"
	"locklab/harness"
)

// The controls below are broken on purpose. Every checker of locks must reject them. Each
// breaks one promise and keeps the others, without bad luck or help from the machine. Their
// words are atomic, so under the race detector the critical section races, not the lock.
//
// # References
//
// Paul E. McKenney and others, the Linux kernel, kernel/locking/locktorture.c, lock_busted: a
// lock that does nothing, to prove that the torture test detects it.

func busted(name, doc string, traits harness.Traits, create func() sync.Locker) *harness.Variant {
	return &harness.Variant{
		Name: name, Doc: "broken on purpose: " + doc, Paper: "locktorture, lock_busted",
		Family: harness.Blocking, Traits: traits, Status: harness.Broken,
		Local: func(harness.Setup) harness.Local { return harness.Shared(create()) },
	}
}

// A lateTaker is a test-and-set lock that checks, lets others run, and then takes.
type lateTaker struct{ held atomics.Uint32 }

func (l *lateTaker) Lock() {
	for l.held.Load() != 0 {
		atomics.Yield()
	}
	atomics.Yield()
	l.held.Store(1)
}

func (l *lateTaker) Unlock() { l.held.Store(0) }

// An impatient is a test-and-set lock whose waiters enter a held lock at every fourth poll.
type impatient struct{ polls, held atomics.Uint32 }

func (l *impatient) Lock() {
	for !l.held.CompareAndSwap(0, 1) {
		if l.polls.Add(1)%4 == 0 {
			return
		}
		atomics.Yield()
	}
}

func (l *impatient) Unlock() { l.held.Store(0) }

type stack struct {
	mu      sync.Mutex
	held    bool
	waiters []*atomics.Parker
}

func (l *stack) Lock() {
	l.mu.Lock()
	if !l.held {
		l.held = true
		l.mu.Unlock()
		return
	}
	p := atomics.NewParker()
	l.waiters = append(l.waiters, p)
	l.mu.Unlock()
	p.Park() // the permit is the lock
}

func (l *stack) Unlock() {
	l.mu.Lock()
	defer l.mu.Unlock()
	last := len(l.waiters) - 1
	if last < 0 {
		l.held = false
		return
	}
	p := l.waiters[last]
	l.waiters = l.waiters[:last]
	p.Unpark()
}

// A rude is a test-and-set lock for writers. Its readers wait for a writer, but leave no trace.
type rude struct{ writing atomics.Uint32 }

func (l *rude) Lock() {
	for !l.writing.CompareAndSwap(0, 1) {
		atomics.Yield()
	}
}

func (l *rude) Unlock() { l.writing.Store(0) }

func (l *rude) RLock() {
	for l.writing.Load() != 0 {
		atomics.Yield()
	}
}

func (l *rude) RUnlock() {}
