package redislock

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// A Reentrant is Redisson's current RLock with fewer requests: its owner may take it again,
// and Go and Java services can share it.
//
//  1. Acquire: the key of the lock is a hash with one field, the owner, and its count; it
//     lives as long as the lease. One script takes the lock, takes it again, or answers how
//     long it is taken.
//  2. Otherwise listen to the channel of the lock. Go to 1 when a message comes, when the
//     subscription begins, and when the time is over.
//  3. Release: one script counts down, and at zero deletes the key and publishes.
//
// An uncontended acquisition takes two requests; Redisson sends three. Redisson stores the
// outcome of each release in a separate key, so that a repeated one does not count twice. Here
// a request contains the new count instead of the change.
//
// A release wakes one waiter in each waiting process, and any client that asks at that moment
// may be faster: there is no order.
//
// # References
//
// Redisson 4.7.0, org.redisson.RedissonLock, RedissonBaseLock and pubsub.LockPubSub: the key,
// the field, the channel and the messages.

// A Reentrant is a lock whose owner may take it again, between all clients that use the same
// name on the same server, including Redisson's getLock and getFencedLock. It can be locked
// again after any error. It is not fair, and has no fencing tokens: [Mutex] has both.
//
// Redisson (4.7.0) must reach the same key, so without a NameMapper, and in a cluster with
// shardedSubscriptionMode OFF: the default, AUTO, publishes with SPUBLISH from Redis 7 on, and
// each side then waits for the rest of the other's lease. Locks of getSpinLock and getFairLock
// have a key of the same shape and exclude this one, without notices or the queue. A Go holder
// has no token of getFencedLock and does not raise the next one. Each side renews only its own
// leases.
type Reentrant struct {
	base
	id      string // a UUID, as in Redisson
	threads atomic.Int64
	channel string
}

var (
	reentrantAcquire = newScript("needs", "reentrant_acquire")
	reentrantRelease = newScript("reentrant_release")
	reentrantRenew   = newScript("reentrant_renew")
	reentrantNeeds   = needs(reentrantRelease, reentrantRenew)
)

// Reentrant returns the mutex with that name, its key in the server, such as "locks:reindex". It
// may be made for every call: all waiters of the client for that name share one subscription.
func (c *Client) Reentrant(name string, o Options) *Reentrant {
	return &Reentrant{base: c.base(name, o), id: newUUID(), channel: redissonName("redisson_lock__channel", name)}
}

func newUUID() string {
	var b [16]byte
	rand.Read(b[:])
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// redissonName returns Redisson's name for a companion of the object called name
// (RedissonObject.prefixName): the same for x and {x}, whose waiters wake each other in vain.
func redissonName(prefix, name string) string {
	if strings.Contains(name, "{") {
		return prefix + ":" + name
	}
	return prefix + ":{" + name + "}"
}

// Lock calls Lock of a new [Owner]: no other Lock takes the lock again.
func (m *Reentrant) Lock(ctx context.Context) (*Lease, error) { return m.Owner().Lock(ctx) }

// TryLock calls TryLock of a new [Owner].
func (m *Reentrant) TryLock(ctx context.Context) (*Lease, error) { return m.Owner().TryLock(ctx) }

// Owner returns a new owner without leases.
func (m *Reentrant) Owner() *Owner { return &Owner{m: m, locking: make(chan struct{}, 1)} }

// An Owner holds a [Reentrant] as often as it has leases, like a thread in Java. Any
// goroutines may lock and unlock as this owner, and do not exclude each other.
type Owner struct {
	m       *Reentrant
	locking chan struct{} // full while a Lock of this owner runs; TryLock does not use it

	mu   sync.Mutex // one request at a time, until the count is known
	hold *hold      // nil while it holds nothing
}

// A hold lasts from when an owner gets the lock until it has released it completely. Each
// has a separate name in the server, so that a delayed request cannot affect the next.
type hold struct {
	field  string          // the owner in Redisson's form, id:thread
	count  int             // in the server
	leases map[*Lease]bool // not yet unlocked
}

// lost reports whether h is over by our clock. Nothing would give its remains back, except for a
// lease whose release waits for its turn.
func (h *hold) lost() bool {
	for l := range h.leases {
		if l.Err() == nil || l.state.Load() != stateHeld { // in this order: Unlock changes the state first
			return false
		}
	}
	return true
}

// Lock waits for the lock until ctx ends; if this owner has it, it takes it once more.
//
// An uncontended Lock takes one request, and one more if the server does not have the script
// yet.
func (o *Owner) Lock(ctx context.Context) (*Lease, error) { return o.m.lock(ctx, false, o) }

// TryLock takes the lock if it is free or this owner's; else the error wraps ErrNotAcquired.
func (o *Owner) TryLock(ctx context.Context) (*Lease, error) { return o.m.lock(ctx, true, o) }

// acquire asks for the lock until ctx ends or the server fails. Only a lease leaves a count.
func (o *Owner) acquire(ctx context.Context, try bool) (*Lease, error) {
	m := o.m
	if !try { // TryLock must not wait behind another Lock
		select {
		case o.locking <- struct{}{}:
			defer func() { <-o.locking }()
		case <-ctx.Done():
			return nil, gaveUp(ctx, m.name, ctx.Err())
		case <-m.c.serving.Done():
			return nil, gaveUp(ctx, m.name, ErrClosed)
		}
	}
	fresh := &hold{field: m.id + ":" + strconv.FormatInt(m.threads.Add(1), 10), leases: make(map[*Lease]bool)}
	a := attempts{base: &m.base, try: try, undo: func(ctx context.Context) (bool, error) { return o.undo(ctx, fresh) }}
	wait, end := m.c.messages(topic{m.name, m.channel}, false, m.o.TTL)
	l, err := a.run(ctx, func() (*Lease, time.Duration, error) { return o.ask(ctx, fresh) }, wait)
	end(l != nil)
	return l, err
}

// ask sends one request and returns the lease, or how long the lock is taken. An owner
// without a hold adopts fresh.
func (o *Owner) ask(ctx context.Context, fresh *hold) (l *Lease, left time.Duration, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	m := o.m
	for {
		if o.hold != nil && o.hold.lost() {
			o.hold = nil
		}
		h := cmp.Or(o.hold, fresh)
		sent := m.c.clock.Now()
		reply, err := m.c.take(ctx, call{reentrantAcquire, []string{m.name}, []any{h.field, h.count + 1, m.o.TTL.Milliseconds()}}, reentrantNeeds).Int64Slice()
		if err == nil && len(reply) != 2 {
			err = fmt.Errorf("redislock: the server's reply has %d values, want 2", len(reply))
		}
		switch {
		case err != nil:
			return nil, 0, err
		case reply[0] < 0: // its leases notice later
			o.hold = nil
			continue
		case reply[0] == 0: // another's lock, perhaps without a lease
			return nil, millis(reply[1]), nil
		}
		if l, err = o.lease(h).granted(sent); err != nil {
			return nil, 0, err
		}
		h.count++
		h.leases[l] = true
		o.hold = h
		return l, 0, nil
	}
}

func (o *Owner) lease(h *hold) *Lease {
	var l *Lease
	l = o.m.newLease(call{reentrantRenew, []string{o.m.name}, []any{h.field, o.m.o.TTL.Milliseconds()}},
		func(ctx context.Context) (bool, error) { return o.release(ctx, h, l) })
	l.again = func(ctx context.Context) (bool, error) { return o.resettle(ctx, h) }
	return l
}

// release gives back one lease of h and reports whether it was held until then.
func (o *Owner) release(ctx context.Context, h *hold, l *Lease) (held bool, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.hold != h {
		return false, nil // a Lock found it lost
	}
	h.count--
	delete(h.leases, l)
	if h.count == 0 {
		o.hold = nil
	}
	return o.settle(ctx, h)
}

func (o *Owner) undo(ctx context.Context, fresh *hold) (held bool, err error) {
	o.mu.Lock()
	h := cmp.Or(o.hold, fresh)
	o.mu.Unlock()
	return o.m.insist(ctx, o.m.o.TTL, func(ctx context.Context) (bool, error) { return o.resettle(ctx, h) })
}

func (o *Owner) resettle(ctx context.Context, h *hold) (held bool, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.settle(ctx, h)
}

// settle lowers the count in the server to h.count, and reports whether the owner had the
// lock until then. The caller holds o.mu.
func (o *Owner) settle(ctx context.Context, h *hold) (held bool, err error) {
	m := o.m
	err = m.c.persist(ctx, func(ctx context.Context, _ bool) error {
		n, err := call{reentrantRelease, []string{m.name}, []any{h.field, h.count, m.channel, unlockMessage}}.run(ctx, m.c.rdb).Int()
		held = err == nil && n == 1
		return err
	})
	return held, err
}
