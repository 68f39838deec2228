package zklock

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/go-zookeeper/zk"

	"locklab/zklock/internal/recipe"
)

// The ticket kinds of Curator's InterProcessReadWriteLock.
const (
	readKind  = "__READ__"
	writeKind = "__WRIT__"
)

// A RWMutex is a lock between all clients that use the same path, held by one writer or shared
// by readers. Both are served in order of arrival. It is safe for concurrent use and can be
// locked again after any error. It is not reentrant: a reader that locks it for reading again
// may wait for a writer that waits for the reader. [RWMutex.Owner] is reentrant.
//
// Curator's InterProcessReadWriteLock can contend for the same path. Up to version 5.4.0 it lets
// a writer in while an owner that wrote reads on (CURATOR-621).
//
// # References
//
// Hunt, Konar, Junqueira, Reed, "ZooKeeper: Wait-free coordination for
// internet-scale systems", USENIX ATC 2010, §2.4, "Read/Write Locks".
//
// # Fencing
//
// A writer's token is greater than the tokens of all earlier readers and writers. A reader's is
// not less than the token of any writer before it; concurrent readers may have equal tokens, in
// any order. So a resource remembers two numbers: the greatest token it has seen, and the
// greatest of a writer. It accepts a writer whose token is not less than the first, and a reader
// whose token is not less than the second.
type RWMutex struct {
	queue
	write, read *protocol
}

// RWMutex returns the lock at path, such as "/locks/index": see [Client.Mutex] on paths.
func (c *Client) RWMutex(path string, o Options) *RWMutex {
	return &RWMutex{newQueue(c, path, o, readKind, writeKind), writeQueue, readQueue}
}

// Lock waits for the lock as a writer until ctx ends, see [Mutex.Lock].
func (m *RWMutex) Lock(ctx context.Context) (*Lease, error) { return m.lockBy(ctx, m.write, false) }

// RLock waits for the lock as a reader until ctx ends; other readers may hold it too.
func (m *RWMutex) RLock(ctx context.Context) (*Lease, error) { return m.lockBy(ctx, m.read, false) }

// TryLock takes the lock as a writer if it is free without waiters. Otherwise the error wraps
// ErrNotAcquired.
func (m *RWMutex) TryLock(ctx context.Context) (*Lease, error) { return m.lockBy(ctx, m.write, true) }

// TryRLock takes the lock as a reader if no writer holds it or waits. Otherwise the error
// wraps ErrNotAcquired.
func (m *RWMutex) TryRLock(ctx context.Context) (*Lease, error) { return m.lockBy(ctx, m.read, true) }

// RLocker returns the reader's side of m, for [Do] and [Locker].
func (m *RWMutex) RLocker() Lockable { return rwReader{m} }

type rwReader struct{ m *RWMutex }

func (r rwReader) Lock(ctx context.Context) (*Lease, error) { return r.m.RLock(ctx) }

// writeQueue and readQueue are the protocols of a RWMutex: one queue of readers and writers. A
// waiter is not woken by tickets that do not block it yet. A writer hands over, as in
// [handoffQueue]: the watch event of its release is the next one's lock.
//
//  1. Make a ticket, an EPHEMERAL_SEQUENTIAL node for a reader or writer. A writer's has a
//     marker, and no other client can write to it. A writer whose ticket follows its own last
//     one, or another writer's, continues as in [handoffQueue].
//  2. List the tickets. A reader holds the lock if no writer is ahead; a writer if no ticket is.
//  3. A reader watches the nearest writer ahead, a writer the nearest ticket of either kind. If
//     it is gone already, go to 2.
//  4. The watch fires. If it is NodeDataChanged of a writer's ticket that had the marker and
//     version 0, and the connection has not broken since, the lock is held. Otherwise go to 2.
//  5. To release, a writer sends one multi that writes to its ticket and deletes it. A reader
//     deletes its ticket, and so does every waiter that gives up.
//
// The nearest writer ahead is the last that can leave before the reader gets in, so a reader is
// woken once, however many writers are ahead. Curator's InterProcessReadWriteLock watches the
// first writer instead: a reader behind K writers wakes K times, each time with all readers.
//
// No kind starves: both are served in the order of their tickets. Readers between the same two
// writers hold the lock together.
//
// A writer is alone, so its release proves that no ticket ahead of it is left. Between it and
// its watchers there are only other readers, if the watcher is a reader. The release of a reader
// proves less: other readers may be left, so writers must look. A writer that reads on by a
// second ticket, see [RWMutexOwner], must not hand over either, and deletes its ticket.
//
// Acquire and release take three requests, alone and among readers only, or two if the previous
// writer was of the same client and not of an owner. Behind a writer they take four and one
// watch event, or three for a writer that is repeatedly behind writers. Behind readers a writer
// takes five, and two requests and one event more each time that the reader it watches leaves
// before the others.
//
// The token is the czxid of the own ticket, as in [handoffQueue]: of two exclusive holders the
// later one has the later ticket. A writer that reads on has one token.
//
// # References
//
// Apache ZooKeeper, "ZooKeeper Recipes and Solutions", Shared Locks. Hunt, Konar, Junqueira,
// Reed, "ZooKeeper: Wait-free coordination for internet-scale systems", USENIX ATC 2010, §2.4,
// "Read/Write Locks".
var (
	writeQueue = &protocol{kind: writeKind, create: createHandoff, remove: removeHandoff,
		look: func(t *ticket) (view, error) { return viewHandoff(t, recipe.Nearest, false) }}
	readQueue = &protocol{kind: readKind, create: createHandoff,
		look: func(t *ticket) (view, error) { return viewHandoff(t, lastWrite, false) }}
)

func lastWrite(line []recipe.Place, i int) int {
	for i--; i >= 0 && line[i].Kind != writeKind; i-- {
	}
	return i
}

// ErrUpgrade is returned to an owner that reads and asks to write: it would wait for itself.
var ErrUpgrade = errors.New("zklock: a reader cannot become a writer: unlock first")

// A RWMutexOwner may take again the lock that it holds: a reader may read, a writer may write,
// and a writer may read, which makes it a reader after its last write unlock. Its methods must
// not be called concurrently; its leases may be unlocked at any time and in any order.
type RWMutexOwner struct{ w, r *Owner }

// Owner returns a new owner of m.
func (m *RWMutex) Owner() *RWMutexOwner {
	o := new(RWMutexOwner)
	o.w = newOwner(&m.queue, func() (*ticket, error) {
		if o.r.Count() > 0 {
			return nil, fmt.Errorf("%w: %s", ErrUpgrade, m.path)
		}
		t := newTicket(&m.queue, m.write)
		t.unnamed = true // a writer that reads on deletes its ticket; with a unique name that is one request
		return t, nil
	})
	o.r = newOwner(&m.queue, func() (*ticket, error) {
		if n := o.w.possession(true); n != nil {
			return newTicket(&m.queue, n.downgrade()), nil
		}
		return newTicket(&m.queue, m.read), nil
	})
	return o
}

// Lock takes the lock as a writer, see [Owner.Lock]. The error wraps ErrUpgrade if the owner
// only reads.
func (o *RWMutexOwner) Lock(ctx context.Context) (*Lease, error) { return o.w.Lock(ctx) }

// TryLock is Lock without waiting. The error wraps ErrNotAcquired if another holds the lock or
// waits for it.
func (o *RWMutexOwner) TryLock(ctx context.Context) (*Lease, error) { return o.w.TryLock(ctx) }

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
	number := n.outer.node[strings.LastIndex(n.outer.node, writeKind)+len(writeKind):]
	look := func(*ticket) (view, error) {
		if n.owner.possession(false) != n {
			return view{}, fmt.Errorf("%w: the writer that was to read %s too", ErrNotHeld, n.outer.q.path)
		}
		return view{head: true, token: n.outer.token}, nil
	}
	return &protocol{kind: readKind, look: look, create: func(t *ticket) (string, error) {
		return t.create(t.unique+number, zk.FlagEphemeral)
	}}
}
