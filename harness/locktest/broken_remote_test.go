package locktest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"locklab/harness"
)

// A fault is one mistake of the lock that memoryServer keeps; none is a correct
// lock. Each is a mistake that published locks over servers have made.
type fault string

const (
	none              fault = "none"
	grantsAll         fault = "grants-all"          // Lock does not wait
	grantsAtRandom    fault = "grants-too-early"    // now and then the lock is granted while it is held
	losesWakeUps      fault = "loses-wake-ups"      // now and then a release tells nobody
	servesLast        fault = "serves-last"         // the queue is a stack
	leavesGhost       fault = "leaves-ghost"        // a waiter that gives up stays in the queue
	dropsGrant        fault = "drops-grant"         // a waiter that gives up at the moment of the grant keeps it
	ignoresContext    fault = "ignores-context"     // Lock waits on when its context ends
	hidesContextError fault = "hides-context-error" // Lock returns an error of its own
	takesWhenEnded    fault = "takes-when-ended"    // Lock takes a free lock under a context that has ended
	staleUnlockFrees  fault = "stale-unlock-frees"  // any Unlock frees the lock, though it says ErrNotHeld
	doubleUnlockNil   fault = "double-unlock-nil"   // the second Unlock reports success
	unlockObeysCtx    fault = "unlock-obeys-ctx"    // Unlock does nothing under a context that has ended
	doneStaysOpen     fault = "done-stays-open"     // Done is never closed
	doneIsClosed      fault = "done-is-closed"      // Done is closed from the beginning
	errStaysNil       fault = "err-stays-nil"       // Err is nil after Unlock
	tokenStays        fault = "token-stays"         // all tokens are equal
	tokenOfArrival    fault = "token-of-arrival"    // the token is drawn at the request, and waiters are served in another order
	tryWaits          fault = "try-waits"           // TryLock waits like Lock
	tryHidesReason    fault = "try-hides-reason"    // TryLock does not wrap ErrNotAcquired
	tryStays          fault = "try-stays"           // TryLock joins the queue and leaves
	clientLeaks       fault = "client-leaks"        // a client leaves a goroutine behind
	closeEndsAll      fault = "close-ends-all"      // closing a session ends its client
)

// memoryServer keeps first-come first-served locks with fencing tokens, as a
// server would, with one fault.
type memoryServer struct {
	fault fault
	mu    sync.Mutex
	locks map[string]*memoryLock
	quit  chan struct{} // ends what leaks on purpose
}

type memoryLock struct {
	holder    *memoryLease
	queue     []*memoryLease
	turns     int // requests
	handOvers int
	drawn     uint64 // tokens
}

func newMemoryServer(f fault) *memoryServer {
	return &memoryServer{fault: f, locks: make(map[string]*memoryLock), quit: make(chan struct{})}
}

func (m *memoryServer) variant() *harness.Variant {
	return &harness.Variant{
		Name: "memory", Doc: "keeps locks in memory", Paper: "none",
		Family: harness.Redis, Status: harness.Reference,
		Traits: harness.Traits{FIFO: true, Fenced: true, Needs: harness.KindRedis},
		Remote: func(_ context.Context, _ harness.Endpoint, key string) (harness.Remote, error) {
			if m.fault == clientLeaks {
				go func() { <-m.quit }()
			}
			return &memoryClient{server: m, key: key}, nil
		},
	}
}

type memoryClient struct {
	server *memoryServer
	key    string
	closed bool // guarded by server.mu
}

func (c *memoryClient) Join(context.Context, int) (harness.Session, error) {
	return &memorySession{c}, nil
}

func (c *memoryClient) Close() error { return nil }

type memorySession struct{ client *memoryClient }

func (s *memorySession) Close() error {
	m := s.client.server
	m.mu.Lock()
	defer m.mu.Unlock()
	s.client.closed = s.client.closed || m.fault == closeEndsAll
	return nil
}

// memoryLease is a request and, once granted is closed, a lease.
type memoryLease struct {
	server   *memoryServer
	lock     *memoryLock
	granted  chan struct{}
	done     chan struct{}
	token    uint64
	released bool // guarded by server.mu
}

// request queues up, or takes the lock if it is free.
func (s *memorySession) request() (*memoryLease, error) {
	m := s.client.server
	m.mu.Lock()
	defer m.mu.Unlock()
	if s.client.closed {
		return nil, errors.New("memory: client closed")
	}
	l := m.locks[s.client.key]
	if l == nil {
		l = new(memoryLock)
		m.locks[s.client.key] = l
	}
	r := &memoryLease{server: m, lock: l, granted: make(chan struct{}), done: make(chan struct{})}
	if m.fault == tokenOfArrival {
		l.drawn++
		r.token = l.drawn
	}
	l.turns++
	free := l.holder == nil && len(l.queue) == 0
	if free || m.fault == grantsAll || m.fault == grantsAtRandom && l.turns%5 == 0 {
		l.grant(r)
	} else {
		l.queue = append(l.queue, r)
	}
	return r, nil
}

// grant makes r the holder.
func (l *memoryLock) grant(r *memoryLease) {
	l.holder = r
	switch r.server.fault {
	case tokenOfArrival:
	case tokenStays:
		r.token = 1
	default:
		l.drawn++
		r.token = l.drawn
	}
	if r.server.fault == doneIsClosed {
		close(r.done)
	}
	close(r.granted)
}

// next frees the lock and grants it to whoever is next.
func (l *memoryLock) next(f fault) {
	l.holder = nil
	if len(l.queue) == 0 {
		return
	}
	if l.handOvers++; f == losesWakeUps && l.handOvers%5 == 0 {
		return
	}
	k := 0
	if f == servesLast || f == tokenOfArrival {
		k = len(l.queue) - 1
	}
	r := l.queue[k]
	l.queue = slices.Delete(l.queue, k, k+1)
	l.grant(r)
}

func (s *memorySession) Lock(ctx context.Context) (harness.Lease, error) {
	m := s.client.server
	if ctx.Err() != nil && m.fault != takesWhenEnded {
		return nil, m.gaveUp(ctx)
	}
	r, err := s.request()
	if err != nil {
		return nil, err
	}
	ended := ctx.Done()
	if m.fault == ignoresContext {
		ended = m.quit
	}
	select {
	case <-r.granted:
		return r, nil
	default:
	}
	select {
	case <-r.granted:
		return r, nil
	case <-ended:
		if m.fault != leavesGhost {
			r.withdraw()
		}
		return nil, m.gaveUp(ctx)
	}
}

func (m *memoryServer) gaveUp(ctx context.Context) error {
	if m.fault == hidesContextError {
		return errors.New("memory: gave up")
	}
	return fmt.Errorf("memory: %w", ctx.Err())
}

// withdraw leaves the queue, or passes on a lock that was granted meanwhile.
func (r *memoryLease) withdraw() {
	r.server.mu.Lock()
	defer r.server.mu.Unlock()
	if k := slices.Index(r.lock.queue, r); k >= 0 {
		r.lock.queue = slices.Delete(r.lock.queue, k, k+1)
	} else if r.lock.holder == r && r.server.fault != dropsGrant {
		r.lock.next(none)
	}
}

func (s *memorySession) TryLock(ctx context.Context) (harness.Lease, error) {
	f := s.client.server.fault
	if f == tryWaits {
		return s.Lock(ctx)
	}
	r, err := s.request()
	if err != nil {
		return nil, err
	}
	select {
	case <-r.granted:
		return r, nil
	default:
	}
	if f != tryStays {
		r.withdraw()
	}
	if f == tryHidesReason {
		return nil, errors.New("memory: busy")
	}
	return nil, fmt.Errorf("memory: %w", harness.ErrNotAcquired)
}

func (r *memoryLease) Unlock(ctx context.Context) error {
	f := r.server.fault
	if f == unlockObeysCtx && ctx.Err() != nil {
		return ctx.Err()
	}
	r.server.mu.Lock()
	defer r.server.mu.Unlock()
	if r.released {
		switch f {
		case doubleUnlockNil:
			return nil
		case staleUnlockFrees:
			r.lock.next(f)
		}
		return fmt.Errorf("memory: %w", harness.ErrNotHeld)
	}
	r.released = true
	if f != doneStaysOpen && f != doneIsClosed {
		close(r.done)
	}
	if r.lock.holder == r {
		r.lock.next(f)
	}
	return nil
}

func (r *memoryLease) Token() uint64               { return r.token }
func (r *memoryLease) Done() <-chan struct{}       { return r.done }
func (r *memoryLease) Deadline() (time.Time, bool) { return time.Time{}, false }

func (r *memoryLease) Err() error {
	r.server.mu.Lock()
	defer r.server.mu.Unlock()
	if r.released && r.server.fault != errStaysNil {
		return harness.ErrReleased
	}
	return nil
}
