package zklock

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/go-zookeeper/zk"

	"locklab/internal/lease"
)

// Options is how a Mutex keeps its nodes. The zero value is usable.
type Options struct {
	// Container makes the missing parents of the tickets container nodes,
	// which the server removes some time after their last child has gone.
	// It needs ZooKeeper 3.5.3. Otherwise they are persistent and stay.
	Container bool

	_ struct{}
}

// A Mutex is a lock between all clients that use the same path. Any number of
// goroutines may use it; it can be locked again after any error. It is not
// reentrant: a holder that locks it again waits for itself.
type Mutex struct {
	c    *Client
	path string
	o    Options
	look look
}

// Mutex returns the mutex at path, such as "/locks/reindex". Below that node
// there should be nothing else. The node and its parents are made when needed.
func (c *Client) Mutex(path string, o Options) *Mutex {
	return &Mutex{c: c, path: path, o: o, look: lookFair}
}

// Path returns where the mutex is.
func (m *Mutex) Path() string { return m.path }

// Lock waits for the lock until ctx ends, in order of arrival. It waits on
// while the servers cannot be reached; only ctx bounds it.
//
// Alone it takes two requests; behind others four, and one watch event.
func (m *Mutex) Lock(ctx context.Context) (*Lease, error) { return m.lock(ctx, false) }

// TryLock takes the lock if nobody holds it or waits for it. The error wraps
// ErrNotAcquired if somebody does.
func (m *Mutex) TryLock(ctx context.Context) (*Lease, error) { return m.lock(ctx, true) }

func (m *Mutex) lock(ctx context.Context, try bool) (*Lease, error) {
	l, err := lease.Await(ctx, m.c.spawn, ErrClosed,
		func() (*Lease, error) { return newTicket(m).lock(ctx, try) },
		func(l *Lease) { l.release() })
	if err != nil && ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		err = fmt.Errorf("zklock: lock %s: %w", m.path, err)
	}
	return l, err
}

// Do calls f while it holds the lock. The context of f ends with ctx, and when
// the lock is lost; its cause is then an error that wraps ErrLost. Do returns
// what went wrong, in f and in releasing the lock: an error that wraps
// ErrNotHeld says that f ran, at least at its end, without the lock.
func Do(ctx context.Context, m *Mutex, f func(ctx context.Context, l *Lease) error) error {
	return lease.Do(ctx, m.Lock, f)
}

// Locker returns m in the shape of a sync.Locker. Its methods panic where Lock
// and Unlock return an error: if the client is closed, and if the lock turns
// out to have been lost. Code that can do better uses Lock or Do.
func Locker(m *Mutex) sync.Locker { return lease.Locker(m.Lock, ErrNotHeld) }

// A look reads the queue once for the owner of t.
type look func(t *ticket) (view, error)

// A view is what a look has shown.
type view struct {
	gone  bool            // the ticket is not in the queue any more
	head  bool            // the ticket is the first
	token uint64          // if head: the fencing token
	wake  <-chan zk.Event // if neither: when to look again
}

// ahead returns the name of the last ticket before t, "" if t is the first,
// and whether t itself is among names. Names that are not tickets are none of
// our business.
func (t *ticket) ahead(names []string) (name string, present bool) {
	own, _ := sequence(t.node)
	var best int32
	for _, n := range names {
		s, ok := sequence(n)
		switch {
		case !ok:
		case n == t.node:
			present = true
		case before(s, own) && (name == "" || before(best, s)):
			name, best = n, s
		}
	}
	return name, present
}

// makeParents makes the node of the lock and those above it.
func (m *Mutex) makeParents() error {
	for i := 1; i <= len(m.path); i++ {
		if i < len(m.path) && m.path[i] != '/' {
			continue
		}
		var err error
		if m.o.Container {
			_, err = m.c.conn.CreateContainer(m.path[:i], nil, zk.FlagContainer, m.c.acl)
		} else {
			_, err = m.c.conn.Create(m.path[:i], nil, zk.FlagPersistent, m.c.acl)
		}
		if err != nil && !errors.Is(err, zk.ErrNodeExists) {
			return fmt.Errorf("zklock: make %s: %w", m.path[:i], err)
		}
	}
	return nil
}

// removeParents removes the node of the lock and those above it, below the
// node at keep, as far as they are empty.
func (m *Mutex) removeParents(keep string) {
	for path := m.path; strings.HasPrefix(path, keep+"/"); path = path[:strings.LastIndexByte(path, '/')] {
		if err := m.c.conn.Delete(path, -1); err != nil && !errors.Is(err, zk.ErrNoNode) {
			return
		}
	}
}
