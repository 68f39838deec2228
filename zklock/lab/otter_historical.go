package lab

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-zookeeper/zk"

	"locklab/harness"
)

// booleanMutexHistorical is [booleanMutex] as otter first had it. All goroutines of a client
// share one object, as they would in a service. Its faults, by their numbers in the lab's list:
//
//   - B6: when the reply to create is lost, Lock fails, and an unknown ticket blocks everybody
//     while the session is alive.
//   - B8: the timeout at the gate, 60,000, is in microseconds instead of milliseconds. After it
//     Lock calls itself. So a waiter repeats all requests 16 times a second, each time deeper in
//     its stack and with one more watch. All of them fire at the end; one that fires after
//     Unlock queues a ticket again, which nobody waits for.
//   - B9: the object keeps the owner, not the goroutine: a second goroutine gets in. And nothing
//     counts: the first Unlock frees the lock.
//   - B10: it still reports the lock as held when the session has expired.
//   - B11: a failed TryLock leaves its ticket in the queue. When the ticket is first, nobody has
//     the lock.
//   - B12: an error of the watcher is never cleared: every later Lock returns it.
//
// # References
//
// Alibaba, otter, shared.arbitrate, DistributedLock.java and BooleanMutex.java, in the version
// of source article 004.
var booleanMutexHistorical = &harness.Variant{
	Name:   "zk-boolean-mutex-historical",
	Doc:    "otter's lock as published: lets two goroutines of a client in, TryLock leaves its ticket",
	Paper:  "otter DistributedLock",
	Status: harness.Historical,
	Remote: remoteHistorical(func(r *historicalClient) func() harness.Session {
		object := &distributedLock{r: r}
		return func() harness.Session { return object }
	}),
}

// gateTimeout is 60*1000 of the wrong unit (B8).
const gateTimeout = 60 * 1000 * time.Microsecond

type distributedLock struct {
	r *historicalClient

	mu        sync.Mutex // protects Go's memory, not the lock
	id, owner string     // the own ticket and the first one, as last seen
	failure   error
}

func (d *distributedLock) Close() error { return nil }

func (d *distributedLock) Lock(ctx context.Context) (harness.Lease, error) {
	if err := d.lock(ctx); err != nil {
		return nil, err
	}
	return newHistoricalLease(d.unlock), nil
}

func (d *distributedLock) lock(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return errors.Join(err, d.unlock())
	}
	if err := d.failed(nil); err != nil {
		return err // B12
	}
	if d.isOwner() {
		return nil // B9, B10
	}
	gate, open := context.WithCancel(context.Background()) // shut until it is opened once
	if _, err := d.acquire(ctx, open); err != nil {
		return d.failed(err) // B6
	}
	select {
	case <-gate.Done():
		return d.failed(nil)
	case <-time.After(gateTimeout):
		return d.lock(ctx) // B8
	case <-ctx.Done():
		return errors.Join(ctx.Err(), d.unlock())
	}
}

func (d *distributedLock) TryLock(ctx context.Context) (harness.Lease, error) {
	if err := errors.Join(ctx.Err(), d.failed(nil)); err != nil {
		return nil, err
	}
	owner := d.isOwner()
	if !owner {
		var err error
		if owner, err = d.acquire(ctx, func() {}); err != nil {
			return nil, d.failed(err)
		}
	}
	if !owner {
		return nil, harness.ErrNotAcquired // B11
	}
	return newHistoricalLease(d.unlock), nil
}

func (d *distributedLock) failed(err error) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err != nil {
		d.failure = err
	}
	return d.failure
}

func (d *distributedLock) isOwner() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.id != "" && d.id == d.owner
}

// acquire queues if the object has no ticket, and opens the gate if the ticket is first.
// Otherwise a watcher repeats all this.
func (d *distributedLock) acquire(ctx context.Context, open func()) (owner bool, err error) {
	for {
		names, id, err := d.listTickets()
		if err != nil {
			return false, err
		}
		i := slices.Index(names, id)
		if i < 0 { // our ticket is gone: make another
			d.swap("")
			continue
		}
		d.mu.Lock()
		d.owner = names[0]
		d.mu.Unlock()
		if i == 0 {
			open()
			return true, nil
		}
		state := d.r.events()
		exists, _, wake, err := d.r.ExistsW(d.r.dir + "/" + names[i-1])
		if err != nil {
			return false, err
		}
		if exists {
			d.r.work.Go(func() { d.watch(ctx, open, wake, state) })
			return false, nil
		}
	}
}

func (d *distributedLock) listTickets() (names []string, id string, err error) {
	d.mu.Lock()
	id = d.id
	d.mu.Unlock()
	if id == "" {
		path, err := d.r.create(d.r.prefix())
		if err != nil {
			return nil, "", err
		}
		id = path[len(d.r.dir)+1:]
		d.swap(id)
	}
	names, err = d.r.tickets()
	return names, id, err
}

func (d *distributedLock) watch(ctx context.Context, open func(), wake <-chan zk.Event, state <-chan struct{}) {
	if await(ctx, d.r, wake, state) != nil {
		return
	}
	if _, err := d.acquire(ctx, open); err != nil {
		d.failed(err)
		open() // the waiter finds the error
	}
}

func (d *distributedLock) unlock() error {
	id := d.swap("")
	if id == "" {
		return nil
	}
	return d.r.remove(d.r.dir + "/" + id)
}

func (d *distributedLock) swap(id string) (before string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	before, d.id = d.id, id
	return before
}

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
	Remote: remoteHistorical(func(r *historicalClient) func() harness.Session {
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
		if err := await(ctx, s.r, l.free, nil); err != nil {
			return err
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
	return newHistoricalLease(s.unlock), nil
}

func (s *distributedReentrantLock) TryLock(ctx context.Context) (harness.Lease, error) {
	if err := s.local.lock(ctx, s, true); err != nil {
		return nil, errors.Join(ctx.Err(), err)
	}
	if _, err := s.distributedLock.TryLock(ctx); err != nil {
		return nil, err // B13
	}
	return newHistoricalLease(s.unlock), nil
}

func (s *distributedReentrantLock) unlock() error {
	if err := s.distributedLock.unlock(); err != nil { // B14
		return err // B15
	}
	s.local.unlock()
	return nil
}
