package zklock

import (
	"cmp"
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"locklab/lock"
)

// CohortOptions configures a Cohort. The zero value is usable.
type CohortOptions struct {
	// Handovers is how often the lock may pass between goroutines of this client, without a
	// request, before it queues again behind the others. 0 is DefaultHandovers, 16: a ticket
	// serves up to 17 holders. The maximum is MaxHandovers. A negative number allows none.
	Handovers int

	// LocalFirst lets the next goroutine queue at the servers before the ticket of the last
	// holder has been removed. The two requests travel together, so the lock comes round sooner.
	LocalFirst bool

	// Container, Wait and MaxHold are as in Options; MaxHold applies to each goroutine.
	Container bool
	Wait      time.Duration
	MaxHold   time.Duration

	_ struct{}
}

const (
	// DefaultHandovers spreads the requests of a ticket, 0.5 ms in all, over 17 acquisitions,
	// 30 µs each. 50 goroutines of one process (two busy shared cores)
	// measured 2,000 acquisitions/s without handovers, 11,500 with 4, 31,000 with 16, 73,000
	// with 64, and 1,700 with a Mutex.
	DefaultHandovers = 16

	// MaxHandovers is the number of holders between two tokens of the servers.
	MaxHandovers = 1<<tokenBits - 1

	tokenBits = 8
)

// maxZxid bounds the transaction numbers in tokens: 2^23 leader elections.
const maxZxid = 1<<(63-tokenBits) - 1

// A Cohort is a [Mutex] for clients with many goroutines that want the same lock. They queue
// in memory, in order of arrival, with one ticket at the servers for all. The holder hands the
// ticket to the next of them, up to [CohortOptions].Handovers times. Then the client queues
// again behind the others. So a busy client cannot starve another.
//
// It is fair to clients, not to goroutines: five goroutines of one client and fifty of another
// each have half of the acquisitions.
//
// Otherwise it is like a Mutex, with which it can share a path, with two exceptions. Its
// tokens differ, see [Cohort.Lock], and a ticket that is removed by hand is noticed only when
// it is given back. Use one Cohort for all goroutines of a client: two of them count as two
// clients. It is not reentrant.
//
// # References
//
// Dice, Marathe, Shavit, "Lock Cohorting: A General Technique for Designing NUMA Locks", PPoPP
// 2012, DOI 10.1145/2145816.2145848: the global lock stays in a cluster for a bounded number
// of local handovers. Here a cluster is a client.
type Cohort struct {
	queue
	most       int
	localFirst bool

	turns lock.Turns[granted]
}

type granted struct {
	l   *Lease
	err error
}

// Cohort returns the lock at path, as Mutex does, for many goroutines.
func (c *Client) Cohort(path string, o CohortOptions) *Cohort {
	return &Cohort{
		queue:      newQueue(c, path, Options{Container: o.Container, Wait: o.Wait, MaxHold: o.MaxHold}),
		most:       max(0, min(cmp.Or(o.Handovers, DefaultHandovers), MaxHandovers)),
		localFirst: o.LocalFirst,
	}
}

// Lock waits for the lock until ctx ends, behind earlier goroutines of this client, like
// [Mutex.Lock] except for the tokens: zxids times 256 plus the number of the handover, which
// rise strictly among Cohorts and are not comparable with a Mutex's. They need zxids under
// 2^55; after 2^23 elections Lock fails. All waiters of this client get an error of the servers.
func (k *Cohort) Lock(ctx context.Context) (*Lease, error) {
	return k.acquire(ctx, k.stand)
}

func (k *Cohort) stand(ctx context.Context) (*Lease, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	w, ahead := k.turns.Join(k.start)
	if ahead >= 0 {
		lock.TraceOf(ctx).NotifyQueued(k.path, ahead)
	}
	switch t, served := k.turns.Await(ctx, k.c.open, w); {
	case served:
		return t.l, t.err
	case ctx.Err() != nil:
		return nil, ctx.Err()
	}
	return nil, ErrClosed
}

// TryLock takes the lock if it is free without waiters; else the error wraps ErrNotAcquired.
func (k *Cohort) TryLock(ctx context.Context) (*Lease, error) {
	return k.acquire(ctx, k.tryOnce)
}

func (k *Cohort) tryOnce(ctx context.Context) (*Lease, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if !k.turns.Try() {
		return nil, busy(k.path)
	}
	return lock.Await(ctx, k.c.spawn, ErrClosed,
		func() (*Lease, error) {
			l, err := k.fetch(ctx, true)
			if err != nil {
				k.next() // not before: the turn is taken until the servers have answered
			}
			return l, err
		},
		func(l *Lease) { l.release() })
}

func (k *Cohort) start() bool { return k.c.spawn(k.drive) }

// next starts drive if a goroutine waits. The last drive, or the holder of the lock, calls it.
func (k *Cohort) next() { k.turns.Next(k.start) }

// drive queues at the servers for the waiters.
func (k *Cohort) drive() {
	var l *Lease
	asked := k.turns.Request(k.c.open, func(ctx context.Context) (err error) {
		l, err = k.fetch(ctx, false)
		return err
	}, func(err error) granted { return granted{err: err} })
	switch {
	case !asked || k.c.open.Err() != nil && l == nil: // every waiter notices the end of the client
	case l == nil:
		k.next()
	case !k.turns.Serve(func() (granted, bool) { return granted{l: l}, true }):
		l.release() // the last waiter has left; k.next continues
	}
}

func (k *Cohort) fetch(ctx context.Context, try bool) (*Lease, error) {
	t := newTicket(&k.queue, fairQueue)
	t.begin = func(l *Lease) (err error) {
		if l.token, err = firstToken(l.token); err != nil {
			return fmt.Errorf("zklock: lock %s: %w", k.path, err)
		}
		k.own(l, t, 0)
		return nil
	}
	return t.lock(ctx, try)
}

// firstToken returns the token of the first holder of a ticket, which saw zxid; the next take
// the following numbers. The holder of the next ticket has seen at least zxid + 1.
func firstToken(zxid uint64) (uint64, error) {
	if zxid > maxZxid {
		return 0, fmt.Errorf("zxid %#x is too great for the tokens of a Cohort; use a Mutex", zxid)
	}
	return zxid << tokenBits, nil
}

func (k *Cohort) own(l *Lease, t *ticket, passes int) {
	h := &tenure{k: k, t: t, token: l.token, passes: passes}
	l.free = h.release
	if k.most > 0 {
		l.check = nil // the ticket may outlast the lease
	}
	h.still = context.AfterFunc(l.alive, h.lost)
}

type tenure struct {
	k      *Cohort
	t      *ticket
	token  uint64
	passes int // handovers of the ticket until now

	over  atomic.Bool // a drive queues for the lock, or will
	still func() bool // stops waiting for a loss
}

// lost lets the others queue again when the lease ends before Unlock: the ticket excludes all.
func (h *tenure) lost() {
	if !h.over.Swap(true) {
		h.k.next()
	}
}

func (h *tenure) release() (held bool, err error) {
	h.still()
	if h.over.Swap(true) {
		return h.t.release()
	}
	k := h.k
	if h.passes < k.most && k.turns.Serve(h.handOver) {
		return true, nil
	}
	if k.localFirst {
		k.next()
	} else {
		defer k.next()
	}
	return h.t.release()
}

func (h *tenure) handOver() (granted, bool) {
	k := h.k
	l := &Lease{q: &k.queue, token: h.token + 1}
	h.t.begin = func(l *Lease) error { k.own(l, h.t, h.passes+1); return nil }
	return granted{l: l}, k.c.grant(l, h.t) == nil // else the session may have ended
}
