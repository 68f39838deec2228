package zklock

import (
	"container/list"
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"locklab/internal/lease"
)

// CohortOptions is how a Cohort shares the lock among its goroutines. The zero
// value is usable.
type CohortOptions struct {
	// Handovers is how often the lock may pass from goroutine to goroutine of
	// this client before the client queues again behind the others. Each pass
	// costs no request. 0 is DefaultHandovers, 16: one ticket serves up to 17
	// holders, one after the other. At most MaxHandovers count, and a negative
	// number is none: every holder queues at the servers.
	Handovers int

	// LocalFirst lets the next goroutine queue at the servers while the ticket
	// of the last holder is still being removed, not after. The two requests
	// travel together, and the lock comes round sooner.
	LocalFirst bool

	// Container, Wait and MaxHold are as in Options. Each goroutine that holds the
	// lock has a MaxHold of its own.
	Container bool
	Wait      time.Duration
	MaxHold   time.Duration

	_ struct{}
}

const (
	// DefaultHandovers lets one ticket serve the goroutine that made it and 16 more.
	// That spreads the requests of the ticket, half a millisecond in all, over 17
	// acquisitions, 30 µs for each: little beside the time for which a lock
	// between processes is mostly held. More make only locks faster that are held
	// for less, and let the other clients wait longer. BenchmarkCohort has the
	// sweep: 50 goroutines of one process took the lock 2,000 times a second with
	// no hand-overs, 11,500 with 4, 31,000 with 16, 73,000 with 64 (and a Mutex
	// 1,700 times; two busy shared cores).
	DefaultHandovers = 16

	// MaxHandovers is how many holders fit between two tokens of the servers.
	MaxHandovers = 1<<tokenBits - 1

	tokenBits = 8
)

// maxZxid bounds the transaction numbers that make tokens: an ensemble of
// 2^23 leader elections comes there.
const maxZxid = 1<<(63-tokenBits) - 1

// A Cohort is a [Mutex] for clients with many goroutines that want the same
// lock. They queue in memory, in order of arrival; the client has one ticket
// at the servers for all of them, and the holder hands it to the
// next of them, up to [CohortOptions].Handovers times, before the ticket is
// given back and the client queues again behind the others. So a busy client
// cannot starve another one: each ticket serves at most 1 + Handovers
// holders. A goroutine that gives up costs its client no place at the servers
// while others of the client wait.
//
// Fair is this to clients, not to goroutines: five goroutines of one client that
// come back at once and fifty of another have half of the lock each. A client
// with no waiter behind it holds the lock once for each tenure of the others.
//
// Everything else is as with a Mutex, with which it can contend for the same
// path, but for the tokens, see [Cohort.Lock], and that a ticket which is
// removed by hand is missed only when it is given back. Use one Cohort for all
// goroutines of a client: two of them are two clients. It is not reentrant.
//
// # References
//
// Dice, Marathe, Shavit, "Lock Cohorting: A General Technique for Designing
// NUMA Locks", PPoPP 2012, DOI 10.1145/2145816.2145848: the global lock stays
// in a cluster for a bounded number of local hand-overs. Here a cluster is a
// client.
type Cohort struct {
	queue
	most       int
	localFirst bool

	mu     sync.Mutex
	busy   bool               // a goroutine of this client holds the lock, or drive queues for it
	line   list.List          // of *waiter, in order of arrival; busy if there are any
	recall context.CancelFunc // not nil while a ticket of this client waits at the servers
}

// A waiter waits in memory for the lock.
type waiter struct {
	grant chan grant // has room for one, and gets at most one
	place *list.Element
}

// A grant is what a waiter gets: a lease, or why there is none.
type grant struct {
	l   *Lease
	err error
}

// Cohort returns the lock at path, as Mutex does, for many goroutines.
func (c *Client) Cohort(path string, o CohortOptions) *Cohort {
	most := o.Handovers
	if most == 0 {
		most = DefaultHandovers
	}
	return &Cohort{
		queue:      queue{c: c, path: path, o: Options{Container: o.Container, Wait: o.Wait, MaxHold: o.MaxHold}},
		most:       max(0, min(most, MaxHandovers)),
		localFirst: o.LocalFirst,
	}
}

// Path returns where the lock is.
func (k *Cohort) Path() string { return k.path }

// Lock waits for the lock until ctx ends, behind the goroutines of this client
// that came before. It is like [Mutex.Lock], but for the tokens: they rise
// strictly from holder to holder among Cohorts, and are zxids times 256, of
// which the hand-overs use the room between. Let a resource not compare them
// with those of a Mutex. The scheme needs zxids under 2^55; behind an ensemble
// that has had 2^23 elections, Lock fails.
func (k *Cohort) Lock(ctx context.Context) (*Lease, error) {
	ctx, a := k.begin(ctx)
	return a.end(k.wait(ctx))
}

func (k *Cohort) wait(ctx context.Context) (*Lease, error) {
	ctx, stop, err := k.bounded(ctx)
	if err != nil {
		return nil, err
	}
	defer stop()
	return k.living(func() (*Lease, error) { return k.stand(ctx) })
}

// stand waits in line until ctx ends.
func (k *Cohort) stand(ctx context.Context) (*Lease, error) {
	if err := ctx.Err(); err != nil {
		return nil, k.named(ctx, err)
	}
	w, ahead := k.join()
	if ahead >= 0 {
		traceOf(ctx).queued(k.path, ahead)
	}
	select {
	case t := <-w.grant:
		return t.l, t.err
	case <-ctx.Done():
		k.abandon(w)
		return nil, k.named(ctx, ctx.Err())
	case <-k.c.open.Done():
		k.abandon(w)
		return nil, ErrClosed
	}
}

// TryLock takes the lock if it is free and has no waiters, here or in
// another client. The error wraps ErrNotAcquired if it is not.
func (k *Cohort) TryLock(ctx context.Context) (*Lease, error) {
	ctx, a := k.begin(ctx)
	return a.end(k.try(ctx))
}

func (k *Cohort) try(ctx context.Context) (*Lease, error) {
	ctx, stop, err := k.bounded(ctx)
	if err != nil {
		return nil, err
	}
	defer stop()
	return k.living(func() (*Lease, error) { return k.tryOnce(ctx) })
}

func (k *Cohort) tryOnce(ctx context.Context) (*Lease, error) {
	switch {
	case ctx.Err() != nil:
		return nil, k.named(ctx, ctx.Err())
	case k.c.open.Err() != nil:
		return nil, ErrClosed
	}
	k.mu.Lock()
	others := k.busy
	k.busy = true
	k.mu.Unlock()
	if others {
		return nil, busy(k.path)
	}
	started := false
	spawn := func(f func()) bool { started = k.c.spawn(f); return started }
	l, err := lease.Await(ctx, spawn, ErrClosed,
		func() (*Lease, error) {
			l, err := k.fetch(ctx, true)
			if err != nil {
				k.next()
			}
			return l, err
		},
		func(l *Lease) { l.release() })
	if !started {
		k.next()
	}
	return l, k.named(ctx, err)
}

func (k *Cohort) failed(err error) error { return fmt.Errorf("zklock: lock %s: %w", k.path, err) }

// join puts a waiter at the end of the line, behind so many, or -1 if it is the first
// and none of the client has the lock.
func (k *Cohort) join() (w *waiter, ahead int) {
	w = &waiter{grant: make(chan grant, 1)}
	k.mu.Lock()
	defer k.mu.Unlock()
	ahead = k.line.Len()
	w.place = k.line.PushBack(w)
	if !k.busy {
		k.busy = k.c.spawn(k.drive) // else the client is closed, as w will see
		ahead = -1
	}
	return w, ahead
}

// abandon ends the wait of w. If the lock has been granted to it meanwhile, the
// lock goes on to the next waiter.
func (k *Cohort) abandon(w *waiter) {
	if t, served := k.quit(w); served && t.l != nil {
		t.l.drop()
	}
}

// quit takes w out of the line, or returns its grant if it has one.
func (k *Cohort) quit(w *waiter) (t grant, served bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	select {
	case t := <-w.grant:
		return t, true
	default:
	}
	k.line.Remove(w.place)
	if k.line.Len() == 0 && k.recall != nil {
		k.recall()
	}
	return grant{}, false
}

// serve gives the first in line what offer grants, if it grants anything, and
// reports whether it did.
func (k *Cohort) serve(offer func() (grant, bool)) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	first := k.line.Front()
	if first == nil {
		return false
	}
	t, ok := offer()
	if ok {
		k.line.Remove(first).(*waiter).grant <- t
	}
	return ok
}

// next starts drive if a goroutine waits. It is called by the last drive, or by the
// holder of the lock.
func (k *Cohort) next() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.busy = k.line.Len() > 0 && k.c.spawn(k.drive)
}

// drive queues at the servers until one of those in line has the lock or none
// waits for it.
func (k *Cohort) drive() {
	for {
		ctx, recall := context.WithCancel(k.c.open)
		k.mu.Lock()
		if k.line.Len() == 0 {
			k.busy = false
			k.mu.Unlock()
			recall()
			return
		}
		k.recall = recall
		k.mu.Unlock()
		l, err := k.fetch(ctx, false)
		k.mu.Lock()
		k.recall = nil
		k.mu.Unlock()
		recalled := ctx.Err() != nil
		recall()
		switch {
		case err == nil:
			if !k.serve(func() (grant, bool) { return grant{l: l}, true }) {
				l.release() // the last one has left; goes on by k.next
			}
			return
		case k.c.open.Err() != nil:
			return // all see it
		case !recalled: // an error; the next may fare better
			k.serve(func() (grant, bool) { return grant{err: err}, true })
		}
	}
}

// fetch takes the lock from the servers.
func (k *Cohort) fetch(ctx context.Context, try bool) (*Lease, error) {
	t := newTicket(&k.queue, fairQueue)
	l, err := t.lock(ctx, try)
	if err != nil {
		return nil, err
	}
	token, err := firstToken(l.token)
	if err != nil {
		l.release()
		return nil, k.failed(err)
	}
	k.own(l, t, token, 0)
	return l, nil
}

// firstToken returns the token of the first holder of a ticket, which saw zxid.
// Those it hands over to take the numbers after it. The holder of the next ticket
// has seen this one go, and so at least zxid + 1.
func firstToken(zxid uint64) (uint64, error) {
	if zxid > maxZxid {
		return 0, fmt.Errorf("zxid %#x is too great for the tokens of a Cohort; use a Mutex", zxid)
	}
	return zxid << tokenBits, nil
}

// own makes l, which has been granted, the tenure of a holder that has t.
func (k *Cohort) own(l *Lease, t *ticket, token uint64, passes int) {
	h := &tenure{k: k, t: t, token: token, passes: passes}
	l.token, l.free = token, h.release
	if k.most > 0 {
		l.check = nil // the ticket may outlast the lease
	}
	h.still = context.AfterFunc(l.alive, h.lost)
}

// A tenure is what a holder leaves to the next.
type tenure struct {
	k      *Cohort
	t      *ticket
	token  uint64
	passes int // of the ticket from hand to hand so far

	over  atomic.Bool // a drive is queueing for the lock, or will be
	still func() bool // ends the wait for a loss
}

// lost lets the others go on when the lease ends before its holder does. They
// queue anew: the ticket keeps all others out, if it still exists, until Unlock.
func (h *tenure) lost() {
	if !h.over.Swap(true) {
		h.k.next()
	}
}

// release is Lease.free: it hands the ticket over or gives it back.
func (h *tenure) release() (held bool, err error) {
	h.still()
	if h.over.Swap(true) {
		return h.t.release()
	}
	k := h.k
	if h.passes < k.most && k.serve(h.handOver) {
		return true, nil
	}
	if k.localFirst {
		k.next()
		return h.t.release()
	}
	held, err = h.t.release()
	k.next()
	return held, err
}

// handOver returns a lease on the same ticket, for the next.
func (h *tenure) handOver() (grant, bool) {
	k := h.k
	l := &Lease{c: k.c, path: k.path}
	if !k.c.grant(l, h.t) {
		return grant{}, false // the session may be over
	}
	k.own(l, h.t, h.token+1, h.passes+1)
	return grant{l: l}, true
}
