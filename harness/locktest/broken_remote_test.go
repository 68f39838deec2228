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

// memoryServer simulates a server of FIFO locks with fencing tokens, with one fault.
type memoryServer struct {
	fault  fault
	claims harness.Traits
	mu     sync.Mutex
	locks  map[string]*memoryLock
	quit   chan struct{} // ends the deliberate leaks
}

type memoryLock struct {
	holders   []*memoryLease // as many as there are permits
	queue     []*memoryLease
	calls     int // requests
	handOvers int
	givenUp   int
	leaked    int    // permits
	drawn     uint64 // tokens
}

func newMemoryServer(f fault) *memoryServer {
	var claims harness.Traits
	switch f {
	case onePermitMore, onePermitLess, leaksOfThirty:
		claims.Permits = 2
	case waitsForItself, freesAtFirst, ownerIsClient:
		claims.Reentrant = true
	case readersMissing, readerWalksIn, readerSlipsIn, writerWalksIn, firstReaderFrees, readersExclude, writersStarve,
		readerLeavesTicket, readerDropsGrant, gateStaysShut, staleReaderFrees, readerTokensBehind, readersTakeNext, countsToThree:
		claims.ReadWrite = true
	}
	return newMemoryServerWith(f, claims)
}

func newMemoryServerWith(f fault, claims harness.Traits) *memoryServer {
	claims.Needs = harness.KindRedis
	if claims.Permits == 0 { // the holders of a semaphore leave in any order
		claims.FIFO, claims.Fenced = true, true
	}
	return &memoryServer{fault: f, claims: claims, locks: make(map[string]*memoryLock), quit: make(chan struct{})}
}

func (m *memoryServer) permits() int {
	n := max(1, m.claims.Permits)
	switch m.fault {
	case onePermitMore:
		n++
	case onePermitLess:
		n--
	}
	return n
}

func (m *memoryServer) variant() *harness.Variant {
	return &harness.Variant{
		Name: "memory", Doc: "keeps locks in memory", Paper: "none",
		Family: harness.Redis,
		Traits: m.claims,
		Remote: func(_ context.Context, _ harness.Endpoint, key string) (harness.Remote, error) {
			switch m.fault {
			case clientLeaks:
				go func() { <-m.quit }()
			case timerLeaks:
				time.AfterFunc(0, func() { <-m.quit })
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

func (c *memoryClient) Join(_ context.Context, i int) (harness.Session, error) {
	s := &memorySession{c, i}
	if f := c.server.fault; c.server.claims.ReadWrite && f != readersMissing || f == readersUnclaimed {
		return &memoryRWSession{s}, nil
	}
	return s, nil
}

func (c *memoryClient) Close() error { return nil }

type memorySession struct {
	client *memoryClient
	worker int
}

func (s *memorySession) Close() error {
	m := s.client.server
	m.mu.Lock()
	defer m.mu.Unlock()
	s.client.closed = s.client.closed || m.fault == closeEndsAll
	return nil
}

type memoryLease struct {
	server   *memoryServer
	session  *memorySession
	lock     *memoryLock
	root     *memoryLease // the first of the nested leases of its owner
	granted  chan struct{}
	done     chan struct{}
	token    uint64
	asked    time.Time
	shared   bool // a reader's
	released bool // guarded by server.mu
	depth    int  // of the root, guarded too: leases that are not released
}

func (s *memorySession) request(shared bool) (*memoryLease, error) {
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
	r := &memoryLease{server: m, session: s, lock: l, shared: shared, asked: time.Now(), granted: make(chan struct{}), done: make(chan struct{}), depth: 1}
	r.root = r
	if m.claims.Reentrant && m.fault != waitsForItself {
		if k := slices.IndexFunc(l.holders, func(h *memoryLease) bool {
			return h.session == s || m.fault == ownerIsClient && h.session.client == s.client
		}); k >= 0 {
			r.root = l.holders[k]
			r.root.depth++
			close(r.granted)
			return r, nil
		}
	}
	if m.fault == tokenOfArrival {
		l.drawn++
		r.token = l.drawn
	}
	l.calls++
	free := l.admits(r) && (len(l.queue) == 0 || m.fault == writersStarve && shared)
	if free || m.fault == grantsAll || m.fault == grantsLateInLife && l.calls > 200 || m.fault == grantsAtRandom && l.calls%5 == 0 {
		l.grant(r)
	} else if m.fault != eightPlaces || len(l.queue) < 8 {
		l.queue = append(l.queue, r)
	}
	return r, nil
}

func (l *memoryLock) admits(r *memoryLease) bool {
	m := r.server
	reads := func(h *memoryLease) bool { return h.shared }
	writes := func(h *memoryLease) bool { return !h.shared }
	switch {
	case len(l.holders) == 0:
		return true
	case r.shared && m.fault == readersExclude:
		return false
	case r.shared:
		return !slices.ContainsFunc(l.holders, writes) || m.fault == readerWalksIn || m.fault == readerSlipsIn && l.calls%5 == 0
	case slices.ContainsFunc(l.holders, reads):
		return m.fault == writerWalksIn
	}
	return len(l.holders) < m.permits()-l.leaked
}

func (l *memoryLock) grant(r *memoryLease) {
	f := r.server.fault
	if f != countsToThree || len(l.holders) < 3 {
		l.holders = append(l.holders, r)
	}
	switch {
	case f == tokenOfArrival:
	case f == tokenStays:
		r.token = 1
	case r.shared && f == readersTakeNext:
		r.token = l.drawn + 1
	case r.shared && f == readerTokensBehind:
		r.token = l.drawn / 2
	default:
		l.drawn++
		r.token = l.drawn
	}
	if f == tokenOfEightBits {
		r.token %= 256
	}
	if f == doneIsClosed || f == leaseSeldomDead && l.drawn%10 == 0 {
		close(r.done)
	}
	close(r.granted)
}

// next takes the lock from r, or its holder, and grants it to the next waiter.
func (l *memoryLock) next(r *memoryLease, f fault) {
	k := max(0, slices.Index(l.holders, r))
	if f == countsToThree && !slices.Contains(l.holders, r) {
		return
	}
	l.holders = slices.Delete(l.holders, k, min(k+1, len(l.holders)))
	if r.shared && f == firstReaderFrees {
		l.holders = nil
	}
	l.serve(f)
}

func (l *memoryLock) serve(f fault) {
	for len(l.queue) > 0 {
		k := 0
		switch {
		case f == servesLast, f == tokenOfArrival, f == lastBeyondEight && len(l.queue) > 8:
			k = len(l.queue) - 1
		case f == starvesOne:
			k = max(0, slices.IndexFunc(l.queue, func(r *memoryLease) bool { return r.session.worker != 3 }))
		}
		next := l.queue[k]
		if !l.admits(next) {
			return
		}
		if l.handOvers++; f == losesWakeUps && l.handOvers%5 == 0 || f == losesFewWakeUps && l.handOvers%50 == 0 ||
			f == forgetsSleepers && time.Since(next.asked) > 500*time.Millisecond {
			return
		}
		l.queue = slices.Delete(l.queue, k, k+1)
		l.grant(next)
	}
}

func (s *memorySession) Lock(ctx context.Context) (harness.Lease, error) { return s.lock(ctx, false) }

type memoryRWSession struct{ *memorySession }

func (s *memoryRWSession) RLock(ctx context.Context) (harness.Lease, error) { return s.lock(ctx, true) }

func (s *memorySession) lock(ctx context.Context, shared bool) (harness.Lease, error) {
	m := s.client.server
	if ctx.Err() != nil && m.fault != takesWhenEnded {
		return nil, m.gaveUp(ctx)
	}
	r, err := s.request(shared)
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
		if m.fault != leavesTicket && !(m.fault == readerLeavesTicket && shared) {
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

func (r *memoryLease) withdraw() {
	r.server.mu.Lock()
	defer r.server.mu.Unlock()
	f := r.server.fault
	if r.lock.givenUp++; r.lock.givenUp%30 == 0 && f == leavesTicketOfThirty {
		return
	} else if r.lock.givenUp%30 == 0 && f == leaksOfThirty {
		r.lock.leaked++
	}
	if k := slices.Index(r.lock.queue, r); k >= 0 {
		r.lock.queue = slices.Delete(r.lock.queue, k, k+1)
		if f != gateStaysShut {
			r.lock.serve(none)
		}
	} else if slices.Contains(r.lock.holders, r) && f != dropsGrant && !(f == readerDropsGrant && r.shared) {
		r.lock.next(r, none)
	}
}

func (s *memorySession) TryLock(ctx context.Context) (harness.Lease, error) {
	f := s.client.server.fault
	if f == tryWaits {
		return s.Lock(ctx)
	}
	r, err := s.request(false)
	if err != nil {
		return nil, err
	}
	select {
	case <-r.granted:
		return r, nil
	default:
	}
	if f == trySeldomTakes && r.lock.calls%40 == 0 {
		return r, nil
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
		switch {
		case f == doubleUnlockNil:
			return nil
		case f == staleUnlockFrees, f == staleReaderFrees && r.shared:
			r.lock.next(r, f)
		}
		return fmt.Errorf("memory: %w", harness.ErrNotHeld)
	}
	r.released = true
	switch {
	case f == doneStaysOpen, f == doneIsClosed, (f == doneSeldomOpen || f == leaseSeldomDead) && r.token%10 == 0:
	default:
		close(r.done)
	}
	r.root.depth--
	if slices.Contains(r.lock.holders, r.root) && (r.root.depth == 0 || f == freesAtFirst) {
		r.lock.next(r.root, f)
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
