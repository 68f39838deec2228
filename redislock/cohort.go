package redislock

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"time"

	"locklab/lock"
)

// A Cohort is two locks, one behind the other. The waiters of a process queue in it, first
// come, first served, and one place in the queue of a [Mutex] stands for all of them. A release
// hands the lock to the next waiter of the process without a request, up to a limit in a row.
// Then the lock goes back to the server and to the next process, and this one queues again.
//
//  1. Acquire: if the process neither has the lock nor waits for it, ask the server. Otherwise
//     join the process's own queue.
//  2. Release: hand over to the first waiter of the process if the limit is not reached and
//     enough of the lease is left. If the server has not confirmed for a grant timeout that
//     the lock is held, confirm it first, by a renewal. Otherwise release the lock in the
//     server, and queue there again if there are waiters.
//
// A process with enough waiters sends two or three requests for a row, and one more for each
// grant timeout. A handover takes some microseconds. The price is order: a waiting process
// lets each of the others finish its row first, however early its own waiters came.
//
// # Fencing
//
// The server gives one token T for a row of acquisitions. Acquisition n of the row has the
// token T<<12 + n, with 0 <= n < 1<<12. So tokens rise within the row, and to the next, whose
// T is greater.
//
// # References
//
// Dice, Marathe, Shavit, "Lock Cohorting: A General Technique for Designing NUMA Locks", PPoPP
// 2012, §2 (there the cohorts are sockets). doi:10.1145/2145816.2145848.

// CohortOptions configures a Cohort. The zero value is usable.
type CohortOptions struct {
	Options

	// Handovers is the maximum number of handovers within this client before the lock goes
	// back to the other clients: 1 + Handovers acquisitions are a row, at most 4096. A
	// handover costs no request, except one per HandoffTimeout. 0 is DefaultHandovers. A
	// negative number allows none: every holder queues at the server.
	Handovers int
}

const (
	// DefaultHandovers spreads the requests of one place in the server's queue over 17
	// acquisitions, the first and 16 handovers, so that their cost is small.
	DefaultHandovers = 16

	handoverBits = 12 // of a token; the server gives the other 52: microseconds until the year 2112
)

// A Cohort is a lock between all clients that use the same name on the same server, and within
// each client between all users of the same Cohort: make it once and keep it. It is not
// reentrant, and can be locked again after any error.
//
// It pays off if many goroutines of a process want the same lock, and the order between
// processes does not matter. A [Mutex] may share its key, but their tokens must not be
// compared. ForceUnlock ends the row of the process that holds the lock. That process may begin
// another acquisition, concurrent with the next holder, within [Options].HandoffTimeout.
type Cohort struct {
	*queue // of the server
	inARow int
	turns  lock.Turns[acquisition]
}

type acquisition struct {
	lease *Lease
	n     int
	err   error
}

// Cohort returns the lock with that name; see [Client.Mutex] on names.
func (c *Client) Cohort(name string, o CohortOptions) *Cohort {
	server := c.queue(name, o.Options)
	if server.err == nil && o.Handovers >= 1<<handoverBits {
		server.err = fmt.Errorf("%w: %d handovers in a row: want %d at most", ErrUsage, o.Handovers, 1<<handoverBits-1)
	}
	return &Cohort{queue: server, inARow: 1 + max(0, cmp.Or(o.Handovers, DefaultHandovers))}
}

// Lock waits for the lock until ctx ends, within the process in order of arrival. If the
// server fails for Options.Outage, all waiters of this process get the last error.
func (m *Cohort) Lock(ctx context.Context) (*Lease, error) { return m.traced(ctx, m.stand) }

// TryLock takes the lock if it is free without waiters; else the error wraps ErrNotAcquired.
func (m *Cohort) TryLock(ctx context.Context) (*Lease, error) { return m.traced(ctx, m.try) }

func (m *Cohort) traced(ctx context.Context, take func(context.Context) (*Lease, error)) (l *Lease, err error) {
	if m.err != nil {
		return nil, m.err
	}
	ctx = m.c.traced(ctx)
	if t := lock.TraceOf(ctx); t != nil {
		defer func(began time.Time) { notifyOutcome(t, m.name, began, l, err) }(time.Now())
	}
	return take(ctx)
}

func (m *Cohort) stand(ctx context.Context) (*Lease, error) {
	ctx, stop := bounded(ctx, m.o.Wait)
	defer stop()
	if ctx.Err() != nil {
		return nil, ended(ctx, m.name)
	}
	for {
		w, ahead := m.turns.Join(m.start)
		if ahead >= 0 {
			lock.TraceOf(ctx).NotifyQueued(m.name, ahead)
		}
		t, served := m.turns.Await(ctx, m.c.serving, w)
		switch {
		case !served && ctx.Err() != nil:
			return nil, ended(ctx, m.name)
		case !served:
			return nil, fmt.Errorf("redislock: lock %s: %w", m.name, ErrClosed)
		}
		l, err := m.begin(t)
		if err != nil || l.Err() == nil {
			return m.o.limited(l, err)
		}
		_ = l.discard(context.Background()) // it is over: the process was stopped for longer than the lease
	}
}

func (m *Cohort) try(ctx context.Context) (*Lease, error) {
	if !m.turns.Try() {
		return nil, busy(m.name)
	}
	ctx = lock.OnlyTrace(ctx, m.c.requests())
	l, err := m.c.await(ctx, m.name, 0, func(ctx context.Context) (*Lease, error) { return m.acquire(ctx, true) })
	if err != nil {
		m.handOn(acquisition{n: m.inARow})
		return nil, err
	}
	return m.o.limited(m.begin(acquisition{lease: l}))
}

// start starts a request to the server for the current waiters, unless the client is closed.
func (m *Cohort) start() bool {
	return m.c.admit(func() {
		var l *Lease
		if m.turns.Request(m.c.open, func(ctx context.Context) (err error) {
			requests := m.c.requests()
			l, err = m.acquire(lock.OnlyTrace(ctx, requests), false)
			if l != nil && requests != nil {
				l.traceAs(requests)
			}
			return err
		}, func(err error) acquisition { return acquisition{err: err} }) {
			m.handOn(acquisition{lease: l, n: -1})
		}
	})
}

// handOn hands the lock on after acquisition t, and returns the error of the server's release.
func (m *Cohort) handOn(t acquisition) error {
	next := acquisition{lease: t.lease, n: t.n + 1}
	if m.turns.Len() > 0 && m.may(next) && m.turns.Serve(func() (acquisition, bool) { return next, true }) {
		return nil
	}
	var err error
	if t.lease != nil {
		err = t.lease.discard(context.Background())
	}
	m.turns.Next(m.start)
	return err
}

// may reports whether acquisition t may begin. It asks the server, which may have been forced
// to unlock, once per grant timeout. A lease without renewal goes back to the server instead.
func (m *Cohort) may(t acquisition) bool {
	l := t.lease
	if l == nil || t.n >= m.inARow || l.Err() != nil || m.c.closedErr() != nil {
		return false
	}
	if t.n == 0 {
		return true
	}
	if !l.fresh(m.o.HandoffTimeout) && !l.fixed {
		m.c.confirm(l, m.o.HandoffTimeout)
	}
	return l.fresh(m.o.HandoffTimeout) && l.Err() == nil && m.lasts(l)
}

func (m *Cohort) lasts(l *Lease) bool {
	least := m.o.HandoffTimeout
	if l.fixed {
		least = l.span
	}
	return m.c.clock.Until(l.until()) > least/2
}

// begin returns the lease of an acquisition, which is over at the end of the server's lease.
func (m *Cohort) begin(t acquisition) (*Lease, error) {
	if t.err != nil {
		return nil, t.err
	}
	var once sync.Once
	var err error
	over := func() { once.Do(func() { err = m.handOn(t) }) }
	stop := context.AfterFunc(t.lease.alive, func() { m.c.task(over) })
	j := newJoint(m.c, m.name, 1)
	j.add(t.lease)
	j.all.prompt = t.lease.prompt
	j.all.token = t.lease.token<<handoverBits | uint64(t.n)
	j.all.free = func(context.Context) (bool, error) {
		stop()
		j.dissolve()
		over()
		return err == nil, err
	}
	return j.begin(), nil
}
