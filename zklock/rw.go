package zklock

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/go-zookeeper/zk"

	"locklab/harness"
)

// rw is a queue of readers and writers in which nobody is woken in vain by
// those who cannot matter yet.
//
//  1. Create a ticket, an EPHEMERAL_SEQUENTIAL node, that says reader or writer.
//  2. List the tickets. A reader holds the lock if no writer is ahead; a writer
//     if nobody is.
//  3. A reader watches the nearest writer ahead, a writer the nearest ticket of
//     either kind. If it is gone already go to 2.
//  4. When the watch fires go to 2.
//
// The nearest writer ahead is the last that can leave before the reader's turn,
// so that a reader is woken once, however many writers are ahead. Curator's
// InterProcessReadWriteLock, see [rwCurator], watches the first writer instead:
// a reader behind K writers wakes K times, and all readers each time.
//
// Nobody starves: both kinds are served in the order of their tickets. Readers
// between the same two writers hold the lock together.
//
// Three requests for acquire and release where nobody is in the way, else five
// and one watch event; a writer behind several readers who hold the lock takes
// two requests and one event more for each time that the reader it watches
// leaves before the others.
//
// # References
//
// Apache ZooKeeper, "ZooKeeper Recipes and Solutions", Shared Locks.
// Hunt, Konar, Junqueira, Reed, "ZooKeeper: Wait-free coordination for
// internet-scale systems", USENIX ATC 2010, §2.4, "Read/Write Locks".
var rw = &harness.Variant{
	Name:   "zk-rw",
	Doc:    "queue of readers and writers, a reader watches the nearest writer ahead",
	Paper:  "Hunt, Konar, Junqueira & Reed 2010",
	Family: harness.ZooKeeper,
	Status: harness.Recommended, Complexity: harness.Queued,
	Traits: harness.Traits{FIFO: true, ReadWrite: true, Fenced: true, Needs: harness.KindZooKeeper},
	Remote: remoteOf(func(c *Client, path string) func() labKind {
		m := c.RW(path, Options{})
		return func() labKind {
			return labKind{[]*queue{&m.queue}, labLock(m.Lock), labLock(m.TryLock), labLock(m.RLock)}
		}
	}),
}

// The names of the tickets are those of Curator's InterProcessReadWriteLock.
const (
	readKind  = "__READ__"
	writeKind = "__WRIT__"
)

var (
	writeQueue = &protocol{kind: writeKind, look: lookWrite}
	readQueue  = &protocol{kind: readKind, look: func(t *ticket) (view, error) { return lookRead(t, lastWrite) }}
)

// A RW is a lock between all clients that use the same path, which writers hold
// alone and readers share. Both are served in order of arrival. Any number of
// goroutines may use it; it can be locked again after any error.
//
// It is not reentrant: a reader that locks it for reading again may wait for a
// writer who waits for the reader. See [RW.Owner] for one that is.
//
// Curator's InterProcessReadWriteLock can contend for the same path.
//
// # Fencing
//
// A writer's token is greater than that of every reader and every writer that
// held the lock before. A reader's is not less than that of any writer before
// it; readers who share the lock may have equal tokens, in any order. So a
// resource remembers two numbers, the greatest token it has seen and the
// greatest of a writer. It lets a writer in whose token is not less than the
// first, and a reader whose token is not less than the second.
type RW struct {
	queue
	read *protocol
}

// RW returns the lock at path, such as "/locks/index". Below that node there
// should be nothing else. The node and its parents are made when needed.
func (c *Client) RW(path string, o Options) *RW { return &RW{queue{c, path, o}, readQueue} }

// Path returns where the lock is.
func (m *RW) Path() string { return m.path }

// Lock waits for the lock as a writer until ctx ends, see [Mutex.Lock].
func (m *RW) Lock(ctx context.Context) (*Lease, error) { return m.lock(ctx, writeQueue, false) }

// RLock waits for the lock as a reader until ctx ends. Its lease may overlap
// with those of other readers.
func (m *RW) RLock(ctx context.Context) (*Lease, error) { return m.lock(ctx, m.read, false) }

// TryLock takes the lock as a writer if nobody holds it or waits for it. The
// error wraps ErrNotAcquired if somebody does.
func (m *RW) TryLock(ctx context.Context) (*Lease, error) { return m.lock(ctx, writeQueue, true) }

// TryRLock takes the lock as a reader if no writer holds it or waits for it.
// The error wraps ErrNotAcquired if one does.
func (m *RW) TryRLock(ctx context.Context) (*Lease, error) { return m.lock(ctx, m.read, true) }

func (m *RW) lock(ctx context.Context, p *protocol, try bool) (*Lease, error) {
	return m.await(ctx, func() (*Lease, error) { return newTicket(&m.queue, p).lock(ctx, try) })
}

// Reader returns the reader's side of m, for [Do] and [Locker].
func (m *RW) Reader() Lockable[*Lease] { return rwReader{m} }

type rwReader struct{ m *RW }

func (r rwReader) Lock(ctx context.Context) (*Lease, error) { return r.m.RLock(ctx) }

func lookWrite(t *ticket) (view, error) {
	return lookLine(t, func(line []place, i int) int { return i - 1 }, readKind, writeKind)
}

// lookRead watches the writer that which picks.
func lookRead(t *ticket, which func(line []place, i int) int) (view, error) {
	return lookLine(t, which, readKind, writeKind)
}

// lastWrite returns the index of the nearest writer ahead of line[i], -1 if
// there is none.
func lastWrite(line []place, i int) int {
	for i--; i >= 0 && line[i].kind != writeKind; i-- {
	}
	return i
}

// lookLine looks at the tickets of these kinds. The owner of the i-th waits for
// the one that obstacle returns, or holds the lock if that is -1.
func lookLine(t *ticket, obstacle func(line []place, i int) int, kinds ...string) (view, error) {
	c := t.q.c
	for {
		names, stat, err := c.conn.Children(t.q.path)
		if errors.Is(err, zk.ErrNoNode) {
			return view{gone: true}, nil
		}
		if err != nil {
			return view{}, fmt.Errorf("zklock: list %s: %w", t.q.path, err)
		}
		line := places(names, kinds...)
		i := t.index(line)
		if i < 0 {
			return view{gone: true}, nil
		}
		k := obstacle(line, i)
		if k < 0 {
			return view{head: true, token: uint64(stat.Pzxid)}, nil
		}
		wake, err := c.watchNode(t.q.path + "/" + line[k].name)
		if errors.Is(err, zk.ErrNoNode) {
			continue
		}
		if err != nil {
			return view{}, fmt.Errorf("zklock: watch %s/%s: %w", t.q.path, line[k].name, err)
		}
		return view{wake: wake}, nil
	}
}

// index returns where t is in line, -1 if it is not.
func (t *ticket) index(line []place) int {
	return slices.IndexFunc(line, func(p place) bool { return p.name == t.node })
}
