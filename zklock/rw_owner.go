package zklock

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/go-zookeeper/zk"
)

// ErrUpgrade is returned to an owner that reads and asks to write: it would wait for itself.
var ErrUpgrade = errors.New("zklock: a reader cannot become a writer: unlock first")

// A RWMutexOwner may take again the lock that it holds: a reader may read, a writer may write,
// and a writer may read, which makes it a reader after its last write unlock. Its methods must
// not be called concurrently; its leases may be unlocked at any time and in any order.
type RWMutexOwner struct{ w, r *Owner }

// Owner returns a new owner of m.
func (m *RWMutex) Owner() *RWMutexOwner {
	w := newOwner(&m.queue, func() *ticket {
		t := newTicket(&m.queue, m.write)
		t.unnamed = true // a writer that reads on deletes its ticket; with a unique name that is one request
		return t
	})
	return &RWMutexOwner{w, newOwner(&m.queue, func() *ticket {
		if n := w.possession(true); n != nil {
			return newTicket(&m.queue, n.downgrade())
		}
		return newTicket(&m.queue, m.read)
	})}
}

// Lock takes the lock as a writer, see [Owner.Lock]. The error wraps ErrUpgrade if the owner
// only reads.
func (o *RWMutexOwner) Lock(ctx context.Context) (*Lease, error) { return o.lock(ctx, false) }

// TryLock is Lock without waiting. The error wraps ErrNotAcquired if another holds the lock or
// waits for it.
func (o *RWMutexOwner) TryLock(ctx context.Context) (*Lease, error) { return o.lock(ctx, true) }

func (o *RWMutexOwner) lock(ctx context.Context, try bool) (*Lease, error) {
	return o.w.q.acquire(ctx, func(ctx context.Context) (*Lease, error) {
		if o.r.Count() > 0 && o.w.possession(false) == nil {
			return nil, fmt.Errorf("%w: %s", ErrUpgrade, o.w.q.path)
		}
		return o.w.take(ctx, try)
	})
}

// RLock takes the lock as a reader, without a request if the owner is one. A writer needs one
// request, keeps all others out, and passes its token on.
func (o *RWMutexOwner) RLock(ctx context.Context) (*Lease, error) { return o.r.lock(ctx, false) }

// TryRLock is RLock without waiting. The error wraps ErrNotAcquired if another writer holds
// the lock or waits for it.
func (o *RWMutexOwner) TryRLock(ctx context.Context) (*Lease, error) { return o.r.lock(ctx, true) }

// Counts returns the numbers of leases that the owner has not unlocked, including lost ones.
func (o *RWMutexOwner) Counts() (writes, reads int) { return o.w.Count(), o.r.Count() }

// downgrade is the protocol of a reader that has the lock because its owner's possession n has
// it as a writer: certainly when its ticket was made, if no Unlock has begun since.
func (n *possession) downgrade() *protocol {
	number := n.node[strings.LastIndex(n.node, writeKind)+len(writeKind):]
	look := func(*ticket) (view, error) {
		if n.owner.possession(false) != n {
			return view{}, fmt.Errorf("%w: the writer that was to read %s too", ErrNotHeld, n.outer.q.path)
		}
		return view{head: true, token: n.outer.token}, nil
	}
	return &protocol{kind: readKind, look: look, enter: func(t *ticket) (view, error) {
		c := t.q.c
		return view{}, t.made(func() (string, error) {
			return c.conn.Create(t.q.path+"/"+t.unique+number, c.tag.nameData(), zk.FlagEphemeral, c.acl)
		})
	}}
}
