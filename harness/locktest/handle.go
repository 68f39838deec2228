package locktest

import (
	"errors"
	"sync"

	"locklab/harness"
)

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
			hs[i] = struct {
				*remoteHandle
				remoteTry
				remoteRead
			}{h, remoteTry{h}, remoteRead{h}}
		case tries:
			hs[i] = struct {
				*remoteHandle
				remoteTry
			}{h, remoteTry{h}}
		case reads:
			hs[i] = struct {
				*remoteHandle
				remoteRead
			}{h, remoteRead{h}}
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

type remoteRead struct{ of *remoteHandle }

func (h remoteRead) RLock()   { h.of.enter(reading) }
func (h remoteRead) RUnlock() { h.of.Unlock() }

type remoteTry struct{ of *remoteHandle }

func (h remoteTry) TryLock() bool {
	r := h.of.r
	lease, err := r.sessions[h.of.i].(harness.TrySession).TryLock(r.ctx)
	switch {
	case r.ctx.Err() == nil && errors.Is(err, harness.ErrNotAcquired):
		return false
	case err != nil:
		fail("worker %d: TryLock returned %w, which does not wrap ErrNotAcquired", h.of.i, err)
	}
	h.of.leases = append(h.of.leases, lease)
	return true
}
