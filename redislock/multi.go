package redislock

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"locklab/lock"
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
			return nil, lost, err
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

type joint struct {
	need int
	all  *Lease

	mu    sync.Mutex
	parts []*Lease
	begun bool
	over  bool
	told  time.Time // last end that the trace was notified of
}

// newJoint returns a joint without parts, whose lease is all. Call begin once it is complete.
func newJoint(c *Client, name string, need int) *joint {
	j := &joint{need: need}
	j.all = &Lease{c: c, name: name, joint: j}
	j.all.alive, j.all.cancel = context.WithCancelCause(context.Background())
	return j
}

func (j *joint) add(l *Lease) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.over {
		return false
	}
	j.parts = append(j.parts, l)
	l.whole.Store(j)
	if len(j.parts) > j.need { // begin watches the first need parts
		context.AfterFunc(l.alive, j.check)
	}
	return true
}

func (j *joint) lasts() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.begun && !j.over
}

func (j *joint) spread() bool {
	return slices.ContainsFunc(j.members(), func(l *Lease) bool { return l.c != j.all.c })
}

// begin returns the lease of the parts, at least need of them, or already lost.
func (j *joint) begin() *Lease {
	for _, l := range j.members() {
		context.AfterFunc(l.alive, j.check)
	}
	until := j.until()
	j.mu.Lock()
	defer j.mu.Unlock()
	j.told, j.begun = until, true
	return j.all
}

// renewed notifies the trace when parts extend the whole: once for simultaneous renewals.
func (j *joint) renewed(l *Lease) {
	t := j.all.tracer()
	if t == nil || t.Renewed == nil {
		return
	}
	until := j.until()
	j.mu.Lock()
	more := !j.over && until.Sub(j.told) > l.span/renewTries // smaller differences only reflect the other parts
	if more {
		j.told = until
	}
	j.mu.Unlock()
	if more {
		t.Renewed(lock.RenewedInfo{Name: j.all.name, Token: j.all.token, Until: j.all.c.clock.Local(until)})
	}
}

func (j *joint) check() {
	j.mu.Lock()
	defer j.mu.Unlock()
	var lost error
	left := 0
	for _, l := range j.parts {
		if err := l.Err(); err != nil {
			lost = err
		} else {
			left++
		}
	}
	if left < j.need {
		j.all.end(fmt.Errorf("%w: %d of %d parts are left, fewer than %d: %w", ErrLost, left, len(j.parts), j.need, lost))
	}
}

func (j *joint) members() []*Lease {
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.Clone(j.parts)
}

// dissolve returns the parts for the last time: their end no longer affects the lease.
func (j *joint) dissolve() []*Lease {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.over = true
	return j.parts
}

// until returns the time until which enough parts are certainly held; there must be enough.
func (j *joint) until() time.Time {
	var ends []time.Time
	for _, l := range j.members() {
		ends = append(ends, j.all.c.clock.From(l.c.clock, l.until()))
	}
	slices.SortFunc(ends, time.Time.Compare)
	return ends[len(ends)-j.need]
}

// task is Client.task of l's client or, if that is closed, of another part's client.
func (l *Lease) task(f func()) bool {
	return l.c.task(f) || l.joint != nil && slices.ContainsFunc(l.joint.members(), func(part *Lease) bool { return part.c.task(f) })
}

func (l *Lease) discard(ctx context.Context) error {
	l.state.Store(stateUnlocked)
	return l.release(ctx, l.finish(ErrReleased))
}

// unwind claims the parts before it dissolves j, so that Shutdown leaves them to it.
func (j *joint) unwind(ctx context.Context) (held bool, err error) {
	for _, l := range j.members() {
		l.state.Store(stateUnlocked)
	}
	for _, l := range slices.Backward(j.dissolve()) {
		err = lock.Join(err, l.discard(ctx))
	}
	return err == nil, err
}
