package lab

import (
	"context"
	"errors"
	"sync/atomic"

	"locklab/harness"
)

// twoLevelHistorical is [twoLevel] as otter has it: a reentrant lock in memory around
// [booleanMutexHistorical], with all its faults except B9, and three more.
//
//   - B13: a TryLock that gets the local lock and not the distributed one returns false and
//     keeps the local one: no other goroutine of the client gets in again. So does a failed
//     Lock.
//   - B14: the distributed lock counts nothing: the first Unlock of a goroutine that has
//     locked twice deletes the ticket, and another client gets in.
//   - B15: a failed Unlock of the distributed lock leaves the local one locked, and its ticket
//     in the queue while the session is alive.
//
// # References
//
// Alibaba, otter, shared.arbitrate, DistributedReentrantLock.java, in the version of source
// article 004.
var twoLevelHistorical = &harness.Variant{
	Name:   "zk-two-level-historical",
	Doc:    "otter's two-level lock as published: TryLock keeps the local lock, the first of two Unlocks frees all",
	Paper:  "otter DistributedReentrantLock",
	Status: harness.Historical,
	Traits: harness.Traits{Reentrant: true},
	Remote: remoteRelic(func(r *relic) func() harness.Session {
		object, local := &distributedLock{r: r}, &localLock{free: make(chan struct{}, 1)}
		local.free <- struct{}{}
		return func() harness.Session { return &distributedReentrantLock{object, local} }
	}),
}

type localLock struct {
	free  chan struct{} // has a value while there is no owner
	owner atomic.Pointer[distributedReentrantLock]
	count int // of the owner
}

func (l *localLock) lock(ctx context.Context, s *distributedReentrantLock, try bool) error {
	if l.owner.Load() == s {
		l.count++
		return nil
	}
	select {
	case <-l.free:
	default:
		if try {
			return harness.ErrNotAcquired
		}
		select {
		case <-l.free:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	l.owner.Store(s)
	l.count = 1
	return nil
}

func (l *localLock) unlock() {
	if l.count--; l.count == 0 {
		l.owner.Store(nil)
		l.free <- struct{}{}
	}
}

type distributedReentrantLock struct {
	*distributedLock
	local *localLock
}

var _ harness.TrySession = (*distributedReentrantLock)(nil)

func (s *distributedReentrantLock) Lock(ctx context.Context) (harness.Lease, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := s.local.lock(ctx, s, false); err != nil {
		return nil, err
	}
	if err := s.distributedLock.lock(ctx); err != nil {
		if ctx.Err() != nil {
			s.local.unlock()
		}
		return nil, err // B13
	}
	return newRelicLease(s.unlock), nil
}

func (s *distributedReentrantLock) TryLock(ctx context.Context) (harness.Lease, error) {
	if err := s.local.lock(ctx, s, true); err != nil {
		return nil, errors.Join(ctx.Err(), err)
	}
	if _, err := s.distributedLock.TryLock(ctx); err != nil {
		return nil, err // B13
	}
	return newRelicLease(s.unlock), nil
}

func (s *distributedReentrantLock) unlock() error {
	if err := s.distributedLock.unlock(); err != nil { // B14
		return err // B15
	}
	s.local.unlock()
	return nil
}
