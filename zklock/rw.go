package zklock

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/go-zookeeper/zk"
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
	return &RWMutex{queue{c: c, path: path, o: o}, writeQueue, readQueue}
}

// Path returns the path of the lock.
func (m *RWMutex) Path() string { return m.path }

// Lock waits for the lock as a writer until ctx ends, see [Mutex.Lock].
func (m *RWMutex) Lock(ctx context.Context) (*Lease, error) { return m.lock(ctx, m.write, false) }

// RLock waits for the lock as a reader until ctx ends; other readers may hold it too.
func (m *RWMutex) RLock(ctx context.Context) (*Lease, error) { return m.lock(ctx, m.read, false) }

// TryLock takes the lock as a writer if it is free without waiters. Otherwise the error wraps
// ErrNotAcquired.
func (m *RWMutex) TryLock(ctx context.Context) (*Lease, error) { return m.lock(ctx, m.write, true) }

// TryRLock takes the lock as a reader if no writer holds it or waits. Otherwise the error
// wraps ErrNotAcquired.
func (m *RWMutex) TryRLock(ctx context.Context) (*Lease, error) { return m.lock(ctx, m.read, true) }

func (m *RWMutex) lock(ctx context.Context, p *protocol, try bool) (*Lease, error) {
	ctx, a := m.begin(ctx)
	return a.end(m.await(ctx, func(ctx context.Context) (*Lease, error) { return newTicket(&m.queue, p).lock(ctx, try) }))
}

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
	writeQueue = &protocol{kind: writeKind, enter: enterHandoff, remove: removeHandoff,
		look: func(t *ticket) (view, error) { return lookRW(t, nearest) }}
	readQueue = &protocol{kind: readKind, enter: enterHandoff,
		look: func(t *ticket) (view, error) { return lookRW(t, lastWrite) }}
)

// lookRW looks at the line. The owner of the i-th ticket waits for the one that obstacle
// returns, or holds the lock if that is -1.
func lookRW(t *ticket, obstacle func(line []place, i int) int) (view, error) {
	c := t.q.c
	if there, err := t.born(); !there {
		return view{gone: err == nil}, err
	}
	if v, known, err := t.short(); known || err != nil {
		return v, err
	}
	for {
		line, i, stat, err := t.line(readKind, writeKind)
		if i < 0 || t.before(stat) {
			return view{gone: err == nil}, err
		}
		t.blind = false
		k := obstacle(line, i)
		if k < 0 {
			t.forecast(false)
			return view{head: true, token: t.czxid}, nil
		}
		t.place = i - held(line)
		w, err := c.watchTicket(t.q.path + "/" + line[k].name)
		if errors.Is(err, zk.ErrNoNode) {
			continue
		}
		if err != nil {
			return view{}, fmt.Errorf("zklock: watch %s/%s: %w", t.q.path, line[k].name, err)
		}
		if t.session != c.sessions() {
			return view{gone: true}, nil // the watch belongs to the next session
		}
		t.forecast(t.behind(w) && line[k].name == plainName(writeKind, line[i].number-1))
		return view{wake: w.wake, ticket: w, gives: line[k].kind == writeKind}, nil
	}
}

// held returns how many tickets at the front of line hold the lock: a writer, or the readers
// before the first writer. A writer that reads on has two tickets with one number.
func held(line []place) int {
	n := slices.IndexFunc(line, func(p place) bool { return p.kind == writeKind })
	if n < 0 {
		return len(line)
	}
	n = max(n, 1)
	for n < len(line) && line[n].number == line[n-1].number {
		n++
	}
	return n
}

func nearest(_ []place, i int) int { return i - 1 }

func lastWrite(line []place, i int) int {
	for i--; i >= 0 && line[i].kind != writeKind; i-- {
	}
	return i
}

func (t *ticket) line(kinds ...string) (line []place, i int, stat *zk.Stat, err error) {
	names, stat, err := t.q.c.list(t.q.path)
	if errors.Is(err, zk.ErrNoNode) {
		return nil, -1, nil, nil
	}
	if err != nil {
		return nil, -1, nil, fmt.Errorf("zklock: list %s: %w", t.q.path, err)
	}
	line = places(names, kinds...)
	return line, t.index(line), stat, nil
}

func (t *ticket) index(line []place) int {
	return slices.IndexFunc(line, func(p place) bool { return p.name == t.node })
}
