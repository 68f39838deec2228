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

func newMemoryServer(f fault, claims harness.Traits) *memoryServer {
	claims.Needs = harness.KindRedis
	return &memoryServer{fault: f, claims: claims, locks: make(map[string]*memoryLock), quit: make(chan struct{})}
}

func (m *memoryServer) permits() int {
	n := max(1, m.claims.Permits)
	switch m.fault {
	case "one-permit-more":
		n++
	case "one-permit-less":
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
			case "client-leaks":
				go func() { <-m.quit }()
			case "timer-leaks":
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
	if f := c.server.fault; c.server.claims.ReadWrite && f != "readers-missing" || f == "readers-unclaimed" {
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
	s.client.closed = s.client.closed || m.fault == "close-ends-all"
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
	if m.claims.Reentrant && m.fault != "waits-for-itself" {
		if k := slices.IndexFunc(l.holders, func(h *memoryLease) bool {
			return h.session == s || m.fault == "owner-is-client" && h.session.client == s.client
		}); k >= 0 {
			r.root = l.holders[k]
			r.root.depth++
			close(r.granted)
			return r, nil
		}
	}
	if m.fault == "token-of-arrival" {
		l.drawn++
		r.token = l.drawn
	}
	l.calls++
	free := l.admits(r) && (len(l.queue) == 0 || m.fault == "writers-starve" && shared)
	if free || m.fault == "grants-all" || m.fault == "grants-late-in-life" && l.calls > 200 || m.fault == "grants-too-early" && l.calls%5 == 0 {
		l.grant(r)
	} else if m.fault != "eight-places" || len(l.queue) < 8 {
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
	case r.shared && m.fault == "readers-exclude":
		return false
	case r.shared:
		return !slices.ContainsFunc(l.holders, writes) || m.fault == "reader-walks-in" || m.fault == "reader-slips-in" && l.calls%5 == 0
	case slices.ContainsFunc(l.holders, reads):
		return m.fault == "writer-walks-in"
	}
	return len(l.holders) < m.permits()-l.leaked
}

func (l *memoryLock) grant(r *memoryLease) {
	f := r.server.fault
	if f != "counts-to-three" || len(l.holders) < 3 {
		l.holders = append(l.holders, r)
	}
	switch {
	case f == "token-of-arrival":
	case f == "token-stays":
		r.token = 1
	case r.shared && f == "readers-take-next":
		r.token = l.drawn + 1
	case r.shared && f == "reader-tokens-behind":
		r.token = l.drawn / 2
	default:
		l.drawn++
		r.token = l.drawn
	}
	if f == "token-of-eight-bits" {
		r.token %= 256
	}
	if f == "done-is-closed" || f == "lease-seldom-dead" && l.drawn%10 == 0 {
		close(r.done)
	}
	close(r.granted)
}

// next takes the lock from r, or its holder, and grants it to the next waiter.
func (l *memoryLock) next(r *memoryLease, f fault) {
	k := max(0, slices.Index(l.holders, r))
	if f == "counts-to-three" && !slices.Contains(l.holders, r) {
		return
	}
	l.holders = slices.Delete(l.holders, k, min(k+1, len(l.holders)))
	if r.shared && f == "first-reader-frees" {
		l.holders = nil
	}
	l.serve(f)
}

func (l *memoryLock) serve(f fault) {
	for len(l.queue) > 0 {
		k := 0
		switch {
		case f == "serves-last", f == "token-of-arrival", f == "last-beyond-eight" && len(l.queue) > 8:
			k = len(l.queue) - 1
		case f == "starves-one":
			k = max(0, slices.IndexFunc(l.queue, func(r *memoryLease) bool { return r.session.worker != 3 }))
		}
		next := l.queue[k]
		if !l.admits(next) {
			return
		}
		if l.handOvers++; f == "loses-wake-ups" && l.handOvers%5 == 0 || f == "loses-few-wake-ups" && l.handOvers%50 == 0 ||
			f == "forgets-sleepers" && time.Since(next.asked) > 500*time.Millisecond {
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
	if ctx.Err() != nil && m.fault != "takes-when-ended" {
		return nil, m.gaveUp(ctx)
	}
	r, err := s.request(shared)
	if err != nil {
		return nil, err
	}
	ended := ctx.Done()
	if m.fault == "ignores-context" {
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
		if m.fault != "leaves-ticket" && !(m.fault == "reader-leaves-ticket" && shared) {
			r.withdraw()
		}
		return nil, m.gaveUp(ctx)
	}
}

func (m *memoryServer) gaveUp(ctx context.Context) error {
	if m.fault == "hides-context-error" {
		return errors.New("memory: gave up")
	}
	return fmt.Errorf("memory: %w", ctx.Err())
}

func (r *memoryLease) withdraw() {
	r.server.mu.Lock()
	defer r.server.mu.Unlock()
	f := r.server.fault
	if r.lock.givenUp++; r.lock.givenUp%30 == 0 && f == "leaves-ticket-of-thirty" {
		return
	} else if r.lock.givenUp%30 == 0 && f == "leaks-of-thirty" {
		r.lock.leaked++
	}
	if k := slices.Index(r.lock.queue, r); k >= 0 {
		r.lock.queue = slices.Delete(r.lock.queue, k, k+1)
		if f != "gate-stays-shut" {
			r.lock.serve(none)
		}
	} else if slices.Contains(r.lock.holders, r) && f != "drops-grant" && !(f == "reader-drops-grant" && r.shared) {
		r.lock.next(r, none)
	}
}

func (s *memorySession) TryLock(ctx context.Context) (harness.Lease, error) {
	f := s.client.server.fault
	if f == "try-waits" {
		return s.Lock(ctx)
	}
	r, err := s.request(false)
	if err != nil {
		return nil, err
	}
	select {
	case <-r.granted:
		switch {
		case f == "try-token-stays":
			r.token = 1
		case f == "try-drops-grant" && ctx.Err() != nil:
			return nil, ctx.Err()
		}
		return r, nil
	default:
	}
	if f == "try-seldom-takes" && r.lock.calls%40 == 0 {
		return r, nil
	}
	if f != "try-stays" {
		r.withdraw()
	}
	if f == "try-hides-reason" {
		return nil, errors.New("memory: busy")
	}
	return nil, fmt.Errorf("memory: %w", harness.ErrNotAcquired)
}

func (r *memoryLease) Unlock(ctx context.Context) error {
	f := r.server.fault
	if f == "unlock-obeys-ctx" && ctx.Err() != nil {
		return ctx.Err()
	}
	r.server.mu.Lock()
	defer r.server.mu.Unlock()
	if r.released {
		switch {
		case f == "double-unlock-nil":
			return nil
		case f == "stale-unlock-frees", f == "stale-reader-frees" && r.shared:
			r.lock.next(r, f)
		}
		return fmt.Errorf("memory: %w", harness.ErrNotHeld)
	}
	r.released = true
	switch {
	case f == "done-stays-open", f == "done-is-closed", (f == "done-seldom-open" || f == "lease-seldom-dead") && r.token%10 == 0:
	default:
		close(r.done)
	}
	r.root.depth--
	if slices.Contains(r.lock.holders, r.root) && (r.root.depth == 0 || f == "frees-at-first" || f == "frees-for-waiter" && len(r.lock.queue) > 0) {
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
	if r.released && r.server.fault != "err-stays-nil" {
		return harness.ErrReleased
	}
	return nil
}
