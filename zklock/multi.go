package zklock

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"locklab/lock"
)

// MultiOptions configures a Multi. The zero value is usable.
type MultiOptions struct {
	Options

	// Ordered keeps the given order of the paths, which all users of two of them must then
	// use, or they may deadlock. Otherwise the paths are sorted.
	Ordered bool

	_ struct{}
}

// A Multi takes the mutexes at several paths together. Each is a [Client.Mutex] of that path, so
// a client that needs one path takes only that. They are taken one after another in a common
// order and released in reverse. Without a common order two clients could each hold one and wait
// for the other's forever. Its cost is the sum of theirs.
//
// # References
//
// Coffman, Elphick, Shoshani, "System Deadlocks", Computing Surveys 3(2), 1971, §2.2, on the
// ordering of resources. doi:10.1145/356586.356588. Apache Curator 5.4.0,
// org.apache.curator.framework.recipes.locks, InterProcessMultiLock, which takes them in the
// given order.
type Multi struct {
	mutexes []*Mutex // in the order in which they are taken
}

// Multi returns the mutexes at these paths, without duplicates. See [Client.Mutex] on paths.
func (c *Client) Multi(paths []string, o MultiOptions) *Multi {
	paths = slices.Clone(paths)
	if !o.Ordered {
		slices.Sort(paths)
	}
	m := new(Multi)
	for _, path := range paths {
		if !slices.ContainsFunc(m.mutexes, func(one *Mutex) bool { return one.path == path }) {
			m.mutexes = append(m.mutexes, c.Mutex(path, o.Options))
		}
	}
	return m
}

// Paths returns the paths in the order in which they are taken.
func (m *Multi) Paths() []string {
	var paths []string
	for _, one := range m.mutexes {
		paths = append(paths, one.path)
	}
	return paths
}

// ErrNoPath is ErrUsage, returned by Lock and TryLock of a Multi without paths.
var ErrNoPath = fmt.Errorf("%w: no path to lock", ErrUsage)

// Lock takes the mutexes one after another, see [Mutex.Lock], and holds them while it waits for
// the next. If ctx ends it releases them, and if one is lost it restarts. The lease ends when
// any of its mutexes is lost; the others are held until it is unlocked.
//
// Its Token is the token of the first path, see [Multi.Paths], and rises from holder to holder
// of that path. A resource that belongs to one path should check the token of that path, see
// [Lease.TokenOf]: others may hold it without the first.
func (m *Multi) Lock(ctx context.Context) (*Lease, error) { return m.lock(ctx, false) }

// TryLock takes the mutexes if all are free without waiters; else the error wraps
// ErrNotAcquired.
func (m *Multi) TryLock(ctx context.Context) (*Lease, error) { return m.lock(ctx, true) }

// Holders returns the holders at any of the paths, in their order, see [Mutex.Holders].
func (m *Multi) Holders(ctx context.Context) ([]Contender, error) {
	return lock.ListAll(ctx, m.mutexes, (*Mutex).Holders)
}

// Waiters returns the waiters at any of the paths, in their order, see [Mutex.Waiters]. A Multi
// waits at one path at a time.
func (m *Multi) Waiters(ctx context.Context) ([]Contender, error) {
	return lock.ListAll(ctx, m.mutexes, (*Mutex).Waiters)
}

func (m *Multi) lock(ctx context.Context, try bool) (*Lease, error) {
	if len(m.mutexes) == 0 {
		return nil, ErrNoPath
	}
	return m.mutexes[0].acquire(ctx, func(ctx context.Context) (*Lease, error) {
		var line []*ticket
		for _, one := range m.mutexes {
			if err := checkPath(one.path); err != nil { // before any is taken
				return nil, err
			}
			line = append(line, newTicket(&one.queue, one.p))
		}
		return m.mutexes[0].await(ctx, func() (*Lease, error) {
			parts, err := takeAll(ctx, try, line)
			if err != nil {
				return nil, err
			}
			return join(parts), nil
		})
	})
}

// takeAll takes a lease by each ticket in turn, all or none, and restarts if one is lost.
func takeAll(ctx context.Context, try bool, line []*ticket) ([]*Lease, error) {
	var again pause
	for {
		ls, lost, err := takeOnce(ctx, try, line)
		if !lost {
			return ls, err
		}
		if err := again.wait(ctx, line[0].q.c); err != nil {
			return nil, err
		}
		for _, t := range line {
			t.anew()
		}
	}
}

// takeOnce is takeAll, except that lost reports that one was lost while it waited for the next.
func takeOnce(ctx context.Context, try bool, line []*ticket) (ls []*Lease, lost bool, err error) {
	wait, giveUp := context.WithCancel(ctx)
	defer giveUp()
	for i, t := range line {
		if i > 0 && t.q.name == line[i-1].q.name {
			t.queued = t.queued || line[i-1].queued // the same lock
		}
		l, err := t.lock(wait, try)
		if err != nil {
			lost := slices.ContainsFunc(ls, func(l *Lease) bool { return l.Err() != nil })
			for _, l := range slices.Backward(ls) {
				l.release()
			}
			return nil, lost && ctx.Err() == nil && !errors.Is(err, ErrClosed), err
		}
		defer context.AfterFunc(l.alive, giveUp)()
		ls = append(ls, l)
	}
	return ls, false, nil
}

func join(parts []*Lease) *Lease {
	all := &Lease{q: parts[0].q, token: parts[0].token, parts: parts}
	all.life = newLife(context.Background())
	for _, part := range parts {
		context.AfterFunc(part.alive, func() {
			if all.owned.Err() == nil { // Err also reads the limit, which Lock may be setting
				all.end(context.Cause(part.alive))
			}
		})
	}
	all.free = func() (held bool, err error) {
		for _, part := range parts { // Shutdown leaves them to this release
			part.state.CompareAndSwap(stateHeld, stateUnlocked)
		}
		for _, part := range slices.Backward(parts) {
			err = lock.Join(err, part.release())
		}
		return err == nil, err
	}
	return all
}
