package redislock

import (
	"cmp"
	"container/list"
	"context"
	"fmt"
	"sync"
	"time"
)

// A Cohort is two locks, one behind the other: the waiters of a process queue up in
// it, first come, first served, and one place in the queue of a [Mutex] stands for
// all of them. A release hands the lock to the next waiter of the same process without a
// request, so many times in a row; then it goes back to the server and to the next
// process, and this one queues up again.
//
//  1. Acquire: if the process neither has the lock nor waits for it, ask the
//     server. Otherwise join the process's own queue.
//  2. Release: hand over to the first of that queue, if there is one, the limit
//     is not reached, and enough of the lease is left. If the server has not said for a
//     grant timeout that the lock is held, ask it before, by a renewal. Otherwise release
//     the lock in the server, and queue up there again if there are waiters.
//
// A process with enough waiters sends two or three requests for all acquisitions of
// a row, and one more for each grant timeout that they take. A hand-over within it takes
// some microseconds. The price is order: a process that waits lets each of the others
// have its row first, however early its own waiters came.
//
// # Fencing
//
// The server gives one token for a row of acquisitions, T. That of acquisition n is
// T<<12 + n, with n from 0 and below 1<<12. So tokens rise within the row, and from those
// of one process to those of the next, whose T is greater by 1 at least.
//
// # References
//
// Dice, Marathe, Shavit, "Lock Cohorting: A General Technique for Designing NUMA
// Locks", PPoPP 2012, §2, where the processes are sockets.
// doi:10.1145/2145816.2145848.

// CohortOptions is how a Cohort behaves. The zero value is usable.
type CohortOptions struct {
	Options

	// Handovers is how often at most the holder hands the lock on within this client
	// before it is given back to the other clients: 1 + Handovers acquisitions are a row,
	// 4096 at most. A hand-over costs no request, but for one in each
	// HandoffTimeout. 0 is DefaultHandovers, and a negative number is none: every holder
	// queues at the server.
	Handovers int
}

const (
	// DefaultHandovers spreads the requests of one place in the queue of the server over
	// 17 acquisitions, the first and 16 by hand-over, so that they hardly show.
	DefaultHandovers = 16

	handoverBits = 12 // of a token, of which the server gives 52: microseconds until the year 2112
)

// A Cohort is a lock between all clients that use the same name on the same
// server, and within each of them between all users of the same Cohort: make it
// once and keep it. It can be locked again after any error. It is not reentrant.
//
// It pays where many goroutines of a process want the same lock at the same time,
// and the order between processes does not matter: a [Mutex] keeps that, and sends
// two requests for each acquisition in such a process. Its key is one of [Client.Mutex],
// which other processes may use as well; but then they must not compare its tokens
// with those of a Cohort.
type Cohort struct {
	c      *Client
	server *Mutex
	inARow int
	err    error

	mu      sync.Mutex
	waiting list.List // of *cohortWaiter, in order of arrival
	busy    bool      // this process has the lock, or asks the server for it
	asking  context.CancelFunc
}

// A cohortWaiter is one Lock that waits for its process to have the lock.
type cohortWaiter struct {
	place *list.Element    // nil once it has been served
	got   chan acquisition // has room for one
}

// An acquisition is what a waiter gets: the nth of a lease of the server, from 0, or an
// error.
type acquisition struct {
	lease *Lease
	n     int
	err   error
}

// Cohort returns the lock with that name; see [Client.Mutex] on names.
func (c *Client) Cohort(name string, o CohortOptions) *Cohort {
	m := &Cohort{c: c, server: c.Mutex(name, o.Options), inARow: 1 + max(0, cmp.Or(o.Handovers, DefaultHandovers))}
	m.err = m.server.err
	if m.err == nil && o.Handovers >= 1<<handoverBits {
		m.err = fmt.Errorf("%w: %d hand-overs in a row: want %d at most", ErrUsage, o.Handovers, 1<<handoverBits-1)
	}
	return m
}

// Name returns the key of the lock.
func (m *Cohort) Name() string { return m.server.name }

// Lock waits for the lock until ctx ends, within the process in order of arrival.
// If the server cannot be reached, or refuses for now, for Options.Outage, all waiters of
// this process get the last error.
func (m *Cohort) Lock(ctx context.Context) (*Lease, error) {
	if m.err != nil {
		return nil, m.err
	}
	return m.traced(m.c.traced(ctx), func(ctx context.Context) (*Lease, error) {
		ctx, stop := bounded(ctx, m.server.o.Wait)
		defer stop()
		return m.wait(ctx)
	})
}

// traced runs lock and tells the trace of ctx what comes of it.
func (m *Cohort) traced(ctx context.Context, lock func(context.Context) (*Lease, error)) (l *Lease, err error) {
	if t := traceOf(ctx); t != nil {
		defer func(began time.Time) { t.outcome(m.server.name, began, l, err) }(time.Now())
	}
	return lock(ctx)
}

// wait waits until w is served.
func (m *Cohort) wait(ctx context.Context) (*Lease, error) {
	if ctx.Err() != nil {
		return nil, ended(ctx, m.server.name)
	}
	w, ahead := m.join()
	if ahead >= 0 {
		traceOf(ctx).queued(m.server.name, ahead)
	}
	for {
		t, served := m.receive(ctx, w)
		switch {
		case !served && ctx.Err() != nil:
			return nil, ended(ctx, m.server.name)
		case !served:
			return nil, fmt.Errorf("redislock: lock %s: %w", m.server.name, ErrClosed)
		}
		if l, err := m.begin(t); err != nil || l.Err() == nil {
			return m.server.o.limited(l, err)
		} else {
			m.retake(w, l) // the process was stopped for longer than the lease
		}
	}
}

// receive waits for what w gets, or takes it out and returns false.
func (m *Cohort) receive(ctx context.Context, w *cohortWaiter) (t acquisition, served bool) {
	select {
	case t := <-w.got:
		return t, true
	case <-ctx.Done():
	case <-m.c.serving.Done():
	}
	if m.withdraw(w) {
		return acquisition{}, false
	}
	return <-w.got, true // it was served meanwhile
}

// retake lets w wait again, as the first, in place of an acquisition that was over before it
// began.
func (m *Cohort) retake(w *cohortWaiter, l *Lease) {
	m.mu.Lock()
	w.place = m.waiting.PushFront(w)
	if !m.busy {
		m.ask()
	}
	m.mu.Unlock()
	_ = l.discard(context.Background()) // it is over anyway
}

// TryLock takes the lock if it is free and has no waiters, here or elsewhere. The
// error wraps ErrNotAcquired otherwise.
func (m *Cohort) TryLock(ctx context.Context) (*Lease, error) {
	if m.err != nil {
		return nil, m.err
	}
	return m.traced(m.c.traced(ctx), m.try)
}

func (m *Cohort) try(ctx context.Context) (*Lease, error) {
	m.mu.Lock()
	if m.busy {
		m.mu.Unlock()
		return nil, busy(m.server.name)
	}
	m.busy = true
	m.mu.Unlock()
	ctx = context.WithValue(ctx, traceKey{}, m.c.requests())
	l, err := m.c.awaitIn(ctx, m.server.name, 0, func(ctx context.Context) (*Lease, error) { return m.server.acquire(ctx, true) })
	if err != nil {
		m.pass(acquisition{n: m.inARow})
		return nil, err
	}
	return m.server.o.limited(m.begin(acquisition{lease: l}))
}

// join enters a waiter, and asks the server if the process does not yet. It returns also how
// many of the process are before it, or -1 if it is the one to ask.
func (m *Cohort) join() (w *cohortWaiter, ahead int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	w, ahead = &cohortWaiter{got: make(chan acquisition, 1)}, m.waiting.Len()
	w.place = m.waiting.PushBack(w)
	if !m.busy {
		m.ask()
		ahead = -1
	}
	return w, ahead
}

// withdraw takes a waiter out and reports whether it was still there. The last one
// takes the process's place in the queue of the server with it.
func (m *Cohort) withdraw(w *cohortWaiter) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if w.place == nil {
		return false
	}
	m.waiting.Remove(w.place)
	w.place = nil
	if m.waiting.Len() == 0 && m.asking != nil {
		m.asking()
	}
	return true
}

// ask gets the lock from the server for the waiters of that time. The caller holds
// m.mu.
func (m *Cohort) ask() {
	ctx, cancel := context.WithCancel(m.c.open)
	m.busy, m.asking = true, cancel
	if !m.c.admit(func() {
		defer cancel()
		requests := m.c.requests()
		if requests != nil {
			ctx = context.WithValue(ctx, traceKey{}, requests)
		}
		l, err := m.server.acquire(ctx, false)
		if l != nil && requests != nil {
			l.traceAs(requests)
		}
		m.asked(l, err, ctx.Err() != nil)
	}) {
		cancel()
		m.busy, m.asking = false, nil // Lock sees that the client is closed
	}
}

// asked hands out what the server has answered. withdrawn says that the last
// waiter had left meanwhile: those that came after that ask again.
func (m *Cohort) asked(l *Lease, err error, withdrawn bool) {
	m.mu.Lock()
	m.asking = nil
	if err != nil && !withdrawn {
		for m.waiting.Len() > 0 {
			m.first().got <- acquisition{err: err}
		}
	}
	m.mu.Unlock()
	m.pass(acquisition{lease: l, n: -1})
}

// first takes the first waiter out. The caller holds m.mu.
func (m *Cohort) first() *cohortWaiter {
	w := m.waiting.Remove(m.waiting.Front()).(*cohortWaiter)
	w.place = nil
	return w
}

// pass hands the lock on after acquisition t of a lease, within the process or to the
// server, and returns the error of the latter.
func (m *Cohort) pass(t acquisition) error {
	next := acquisition{lease: t.lease, n: t.n + 1}
	if m.wanted() && m.may(next) && m.give(next) {
		return nil
	}
	var err error
	if t.lease != nil {
		err = t.lease.discard(context.Background())
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.busy = false
	if m.waiting.Len() > 0 {
		m.ask()
	}
	return err
}

// wanted reports whether there is a waiter here.
func (m *Cohort) wanted() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.waiting.Len() > 0
}

// give gives acquisition t to the first waiter, if there is still one.
func (m *Cohort) give(t acquisition) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.waiting.Len() == 0 {
		return false
	}
	m.first().got <- t
	return true
}

// may reports whether acquisition t may begin. One that does not come with the server's grant
// asks it, if it has not said for a grant timeout that the lock is held: it may have been
// unlocked by force. A lease that is not to be renewed goes back to it instead.
func (m *Cohort) may(t acquisition) bool {
	l := t.lease
	if l == nil || t.n >= m.inARow || l.Err() != nil || m.c.closedErr() != nil {
		return false
	}
	if t.n == 0 {
		return true
	}
	if !l.fresh(m.server.o.HandoffTimeout) && !l.fixed {
		m.c.confirm(l, m.server.o.HandoffTimeout)
	}
	return l.fresh(m.server.o.HandoffTimeout) && l.Err() == nil && m.lasts(l)
}

// lasts reports whether enough of l is left for another acquisition: half of what a new
// holder has, which is a grant that will be renewed, or else the lease.
func (m *Cohort) lasts(l *Lease) bool {
	least := m.server.o.HandoffTimeout
	if l.fixed {
		least = l.span
	}
	return m.c.clock.Until(l.until()) > least/2
}

// begin returns the lease of an acquisition. It ends with the server's: then the
// acquisition is over too, even if its holder never comes to Unlock.
func (m *Cohort) begin(t acquisition) (*Lease, error) {
	if t.err != nil {
		return nil, t.err
	}
	var once sync.Once
	var err error
	over := func() { once.Do(func() { err = m.pass(t) }) }
	stop := context.AfterFunc(t.lease.alive, func() { m.c.task(over) })
	j := newJoint(m.c, m.server.name, 1)
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
