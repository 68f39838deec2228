package redislock

import (
	"cmp"
	"context"
	"fmt"
	"slices"
)

// A Multi takes several mutexes in an order that all clients share, and releases them in
// reverse. Otherwise two clients could each wait for the other's mutex, for ever, as both
// renew. It costs the sum of its mutexes: two requests for each that is free.
//
// Redisson's MultiLock takes its locks in the given order, each with a bounded wait, and then
// restarts: no deadlock, but no guaranteed end.
//
// # References
//
// Coffman, Elphick, Shoshani, "System Deadlocks", Computing Surveys 3(2), 1971, §2.2, on the
// ordering of resources. doi:10.1145/356586.356588. Redisson, org.redisson.RedissonMultiLock.

// A Multi takes the mutexes of several names together, each a [Client.Mutex]. It can be locked
// again after any error. It is not reentrant.
//
// Its lease ends when any of the mutexes is lost; the others are held until it is unlocked.
// Its token is the token of the first name: see [Lease.TokenOf].
type Multi struct {
	base  base     // of the first mutex
	queue []*queue // in the order in which they are taken
}

// Multi returns the mutexes with these names, in the order of names, without duplicates.
func (c *Client) Multi(names []string, o Options) *Multi {
	m := new(Multi)
	if len(names) == 0 {
		m.base.err = fmt.Errorf("%w: no name to lock", ErrUsage)
		return m
	}
	var err error
	for _, name := range slices.Compact(slices.Sorted(slices.Values(names))) {
		part := c.queue(name, o)
		m.queue, err = append(m.queue, part), cmp.Or(err, part.err)
	}
	m.base = m.queue[0].base
	m.base.err = err
	return m
}

// Names returns the names in the order in which they are taken.
func (m *Multi) Names() []string {
	var names []string
	for _, part := range m.queue {
		names = append(names, part.name)
	}
	return names
}

// Lock takes the mutexes one after another, see [Mutex.Lock], and holds them while it waits
// for the next. If ctx ends it releases them, and if one is lost it restarts.
func (m *Multi) Lock(ctx context.Context) (*Lease, error) { return m.base.lock(ctx, false, m) }

// TryLock takes the mutexes if all are free without waiters; else the error wraps
// ErrNotAcquired.
func (m *Multi) TryLock(ctx context.Context) (*Lease, error) { return m.base.lock(ctx, true, m) }

func (m *Multi) acquire(ctx context.Context, try bool) (*Lease, error) {
	for {
		l, again, err := m.takeAll(ctx, try)
		if !again {
			return l, err
		}
		if m.base.c.rest(ctx, retryPause) != nil {
			return nil, gaveUp(ctx, m.base.name, ErrClosed)
		}
	}
}

// takeAll takes all or none. again is true if one was lost while it waited for the next.
func (m *Multi) takeAll(ctx context.Context, try bool) (l *Lease, again bool, err error) {
	waiting, giveUp := context.WithCancel(ctx)
	defer giveUp()
	j := newJoint(m.base.c, m.base.name, len(m.queue))
	for _, part := range m.queue {
		l, err := part.acquire(waiting, try)
		if err != nil {
			lost := slices.ContainsFunc(j.members(), func(l *Lease) bool { return l.Err() != nil })
			_, _ = j.unwind(ctx) // a failed release ends with its lease
			return nil, lost && ctx.Err() == nil && m.base.c.closedErr() == nil, err
		}
		defer context.AfterFunc(l.alive, giveUp)()
		j.add(l)
	}
	j.all.token = j.parts[0].token
	j.all.free = j.unwind
	return j.begin(), false, nil
}

// TokenOf returns the fencing token of one name of a [Multi], or of another lock, and 0 for
// other names. A resource that belongs to one name should check its token.
func (l *Lease) TokenOf(name string) uint64 {
	if l.name == name {
		return l.token
	}
	if l.joint == nil {
		return 0
	}
	for _, part := range l.joint.members() {
		if part.name == name {
			return part.token
		}
	}
	return 0
}
