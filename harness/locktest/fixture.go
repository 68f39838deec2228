package locktest

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"locklab/harness"
)

// soon is how long a check waits to see that something does not happen.
const soon = 300 * time.Millisecond

// A fixture is the clients and sessions that contend for one lock, of a unique key.
type fixture struct {
	ctx      context.Context
	s        Subject
	key      string
	clients  []harness.Remote
	sessions []harness.Session
	joined   int // number of joined workers

	// The holders of the permits that are withheld from the check.
	away   []harness.Session
	leases []harness.Lease
}

// inFixture runs check in a new fixture and then closes it, sessions first. All permits but
// one are taken before, so that the lock behaves like others.
func inFixture(ctx context.Context, s Subject, check func(r *fixture)) {
	inFixtureWithout(ctx, s, spare(s.Variant), check)
}

func newFixture(ctx context.Context, s Subject) *fixture {
	return &fixture{ctx: ctx, s: s, key: "locktest-" + rand.Text()}
}

func inFixtureWithout(ctx context.Context, s Subject, permits int, check func(r *fixture)) {
	r := newFixture(ctx, s)
	err := recovered(func() {
		r.fill(permits, max(1, permits))
		for i := range permits {
			r.leases = append(r.leases, r.lock(i))
		}
		r.away, r.sessions = r.sessions, nil
		check(r)
	})
	must(errors.Join(err, r.close()))
}

// inCompany runs check in a fixture of workers 0 and 1 behind one client, 2 behind another.
func inCompany(ctx context.Context, s Subject, check func(r *fixture)) {
	if n := atMost(s.Variant, 3); n < 3 {
		must(NotApplicable(fmt.Sprintf("needs three workers: the lock serves at most %d", n)))
	}
	inFixture(ctx, s, func(r *fixture) {
		r.fill(3, 2)
		check(r)
	})
}

func (r *fixture) close() error {
	r.ctx = context.WithoutCancel(r.ctx)
	var errs []error
	for _, l := range r.leases {
		errs = append(errs, r.release(l))
	}
	for _, s := range slices.Concat(r.sessions, r.away) {
		errs = append(errs, s.Close())
	}
	for _, c := range r.clients {
		errs = append(errs, c.Close())
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("close: %w", err)
	}
	return nil
}

func (r *fixture) patient() (context.Context, context.CancelFunc) {
	return context.WithTimeout(r.ctx, r.s.patience())
}

// fill adds sessions until there are n, with `per` of each client.
func (r *fixture) fill(n, per int) {
	ctx, cancel := r.patient()
	defer cancel()
	for len(r.sessions) < n {
		if len(r.sessions)%per == 0 {
			c, err := r.s.Variant.Remote(ctx, r.s.At, r.key)
			if err != nil {
				fail("connect: %w", err)
			}
			r.clients = append(r.clients, c)
		}
		s, err := r.clients[len(r.clients)-1].Join(ctx, r.joined)
		if err != nil {
			fail("join: %w", err)
		}
		r.joined++
		r.sessions = append(r.sessions, s)
	}
}

type mode bool

const (
	writing mode = false
	reading mode = true
)

func (m mode) String() string {
	if m == reading {
		return "RLock"
	}
	return "Lock"
}

func (r *fixture) enter(ctx context.Context, i int, m mode) (harness.Lease, error) {
	if m == reading {
		return r.sessions[i].(harness.RWSession).RLock(ctx)
	}
	return r.sessions[i].Lock(ctx)
}

var errNoGrant = errors.New("does not get the lock")

func (r *fixture) lock(i int) harness.Lease { return r.get(i, writing) }

// get takes a lock that nothing keeps worker i out of.
func (r *fixture) get(i int, m mode) harness.Lease {
	ctx, cancel := r.patient()
	defer cancel()
	lease, err := r.enter(ctx, i, m)
	switch {
	case err == nil && lease == nil:
		fail("worker %d: %v returned neither a lease nor an error", i, m)
	case errors.Is(err, context.DeadlineExceeded) && r.ctx.Err() == nil:
		fail("worker %d: %v: %w within %v although nothing keeps it out", i, m, errNoGrant, r.s.patience())
	case err != nil:
		fail("worker %d: %v: %w", i, m, err)
	}
	return lease
}

func (r *fixture) unlock(l harness.Lease) { must(r.release(l)) }

func (r *fixture) release(l harness.Lease) error {
	ctx, cancel := r.patient()
	defer cancel()
	if err := l.Unlock(ctx); err != nil {
		return fmt.Errorf("the holder's Unlock: %w", err)
	}
	return nil
}

func (r *fixture) acquireRelease(i int) { r.unlock(r.lock(i)) }

// keptOut fails unless the lock keeps worker i out for a short time.
func (r *fixture) keptOut(i int, m mode) {
	ctx, cancel := context.WithTimeout(r.ctx, soon)
	defer cancel()
	lease, err := r.enter(ctx, i, m)
	switch {
	case err == nil:
		must(errors.Join(fmt.Errorf("worker %d got the lock by %v while it was held", i, m), r.release(lease)))
	case !errors.Is(err, context.DeadlineExceeded):
		fail("worker %d: %v for %v of a held lock: %w, which is not the context's error", i, m, soon, err)
	}
}

func (r *fixture) free() {
	for i := range r.sessions {
		for _, m := range []mode{reading, writing, reading} {
			r.unlock(r.get(i, m))
		}
	}
}

type grant struct {
	lease harness.Lease
	err   error
}

// ask starts Lock or RLock; the caller must end ctx or release the lock.
func (r *fixture) ask(ctx context.Context, i int, m mode) <-chan grant {
	got := make(chan grant, 1)
	go func() {
		lease, err := r.enter(ctx, i, m)
		got <- grant{lease, err}
	}()
	return got
}

func atOnce(workers []int, check func(worker int)) {
	var all errgroup.Group
	for _, i := range workers {
		all.Go(func() error { return recovered(func() { check(i) }) })
	}
	must(all.Wait())
}

// A remoteHandle is a worker of a distributed lock as a sync.Locker, for the rules of both kinds
// of locks. Its methods wait until the check is interrupted, and end the check if they fail.
type remoteHandle struct {
	r      *fixture
	i      int
	leases []harness.Lease // several if the lock is reentrant
}

// handles returns one for each session, with TryLock and RLock if the session has them.
func (r *fixture) handles() []sync.Locker {
	hs := make([]sync.Locker, len(r.sessions))
	for i, s := range r.sessions {
		h := &remoteHandle{r: r, i: i}
		_, tries := s.(harness.TrySession)
		_, reads := s.(harness.RWSession)
		switch {
		case tries && reads:
			hs[i] = remoteTryRead{remoteRead{h}, remoteTry{h}}
		case tries:
			hs[i] = remoteTry{h}
		case reads:
			hs[i] = remoteRead{h}
		default:
			hs[i] = h
		}
	}
	return hs
}

func (h *remoteHandle) Lock() { h.enter(writing) }

func (h *remoteHandle) enter(m mode) {
	lease, err := h.r.enter(h.r.ctx, h.i, m)
	if err != nil {
		fail("worker %d: %v: %w", h.i, m, err)
	}
	h.leases = append(h.leases, lease)
}

// Unlock releases the last lease, which must hold the lock until then.
func (h *remoteHandle) Unlock() {
	last := len(h.leases) - 1
	lease := h.leases[last]
	h.leases = h.leases[:last]
	if last > 0 {
		h.r.unlock(lease) // the owner still holds the lock
		return
	}
	h.r.leave(lease)
}

type remoteRead struct{ *remoteHandle }

func (h remoteRead) RLock()   { h.enter(reading) }
func (h remoteRead) RUnlock() { h.Unlock() }

type remoteTry struct{ *remoteHandle }

func (h remoteTry) TryLock() bool {
	lease, err := h.r.sessions[h.i].(harness.TrySession).TryLock(h.r.ctx)
	switch {
	case h.r.ctx.Err() == nil && errors.Is(err, harness.ErrNotAcquired):
		return false
	case err != nil:
		fail("worker %d: TryLock returned %w, which does not wrap ErrNotAcquired", h.i, err)
	}
	h.leases = append(h.leases, lease)
	return true
}

type remoteTryRead struct {
	remoteRead
	harness.TryLocker
}
