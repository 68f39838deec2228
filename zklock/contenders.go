package zklock

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/go-zookeeper/zk"

	"locklab/internal/lease"
)

// A Contender is a ticket at a lock, of any client and also of Curator or of zk.Lock.
type Contender struct {
	// Name is that of its client, see [ClientOptions].Name, or the text that another
	// library has put into the ticket. A ticket without one has that of its session,
	// such as "session 0x1000a2b3c4d0001", by which the servers list connections.
	Name string

	// Since is when it began to wait, by the clock of a server.
	Since time.Time

	// Token is the czxid of its ticket, by which it was made. It is the fencing token of
	// the lease of a [Mutex], a [Multi] and a [RWMutex].
	Token uint64
}

// Holders returns the holder of the lock, or none, in at most three requests. Like all
// methods of that name it is for people and metrics: its answer may be out of date when it
// returns.
func (m *Mutex) Holders(ctx context.Context) ([]Contender, error) {
	return m.contenders(ctx, firstOf(1), m.p.kind)
}

// Waiters returns those that wait for the lock, in their order. Like all methods of that
// name it sends one request for each of them.
func (m *Mutex) Waiters(ctx context.Context) ([]Contender, error) {
	return m.contenders(ctx, behindFirst(1), m.p.kind)
}

// Holders returns the holder of the lock, or none, see [Mutex.Holders].
func (m *Reentrant) Holders(ctx context.Context) ([]Contender, error) {
	return m.contenders(ctx, firstOf(1), fairQueue.kind)
}

// Waiters returns those that wait for the lock, in their order, see [Mutex.Waiters].
func (m *Reentrant) Waiters(ctx context.Context) ([]Contender, error) {
	return m.contenders(ctx, behindFirst(1), fairQueue.kind)
}

// Holders returns the client that holds the lock, or none, see [Mutex.Holders].
func (k *Cohort) Holders(ctx context.Context) ([]Contender, error) {
	return k.contenders(ctx, firstOf(1), fairQueue.kind)
}

// Waiters returns the clients that wait for the lock, in their order, see
// [Mutex.Waiters]. Those that wait in the memory of a client are not among them.
func (k *Cohort) Waiters(ctx context.Context) ([]Contender, error) {
	return k.contenders(ctx, behindFirst(1), fairQueue.kind)
}

// Holders returns the writer or the readers that hold the lock, see [Mutex.Holders]. A
// writer that reads on is there twice.
func (m *RWMutex) Holders(ctx context.Context) ([]Contender, error) {
	return m.contenders(ctx, func(line []place) []place { return line[:held(line)] }, readKind, writeKind)
}

// Waiters returns the readers and writers that wait, in their order, see [Mutex.Waiters].
func (m *RWMutex) Waiters(ctx context.Context) ([]Contender, error) {
	return m.contenders(ctx, func(line []place) []place { return line[held(line):] }, readKind, writeKind)
}

// Holders returns those that have a permit, see [Mutex.Holders].
func (s *Semaphore) Holders(ctx context.Context) ([]Contender, error) {
	return s.contenders(ctx, firstOf(s.permits), permitKind)
}

// Waiters returns those that wait for a permit, in their order, see [Mutex.Waiters].
func (s *Semaphore) Waiters(ctx context.Context) ([]Contender, error) {
	return s.contenders(ctx, behindFirst(s.permits), permitKind)
}

// Holders returns those that have a permit, see [Mutex.Holders].
func (s *SemaphoreV2) Holders(ctx context.Context) ([]Contender, error) {
	return s.contenders(ctx, &s.leases, firstOf(s.permits), leaseKind)
}

// Waiters returns those that wait for a permit, in their order, see [Mutex.Waiters]. One
// that has just got its permit may be among them.
func (s *SemaphoreV2) Waiters(ctx context.Context) ([]Contender, error) {
	return s.contenders(ctx, &s.locks, behindFirst(0), fairQueue.kind)
}

func (s *SemaphoreV2) contenders(ctx context.Context, q *queue, part func([]place) []place, kind string) ([]Contender, error) {
	if err := checkPath(s.path); err != nil { // "" is none, though /locks is one
		return nil, err
	}
	return q.contenders(ctx, part, kind)
}

// firstOf and behindFirst return functions that split a line after so many tickets.
func firstOf(n int) func([]place) []place {
	return func(line []place) []place { return line[:max(0, min(n, len(line)))] }
}

func behindFirst(n int) func([]place) []place {
	return func(line []place) []place { return line[max(0, min(n, len(line))):] }
}

// contenders returns those that part returns of the tickets of these kinds.
func (q *queue) contenders(ctx context.Context, part func(line []place) []place, kinds ...string) ([]Contender, error) {
	if err := checkPath(q.lockPath()); err != nil {
		return nil, err
	}
	return lease.Await(orBackground(ctx), q.c.spawn, ErrClosed, func() ([]Contender, error) {
		if _, err := q.c.conn.Sync(q.path); err != nil {
			return nil, fmt.Errorf("zklock: list %s: %w", q.path, explained(err))
		}
		names, _, err := q.c.list(q.path)
		if err != nil && !errors.Is(err, zk.ErrNoNode) {
			return nil, fmt.Errorf("zklock: list %s: %w", q.path, explained(err))
		}
		return q.read(part(places(names, kinds...)))
	}, func([]Contender) {})
}

// read returns the tickets in line that are still there.
func (q *queue) read(line []place) ([]Contender, error) {
	const atOnce = 16 // so that contacts do not wait
	all, errs := make([]Contender, len(line)), make([]error, len(line))
	slots := make(chan struct{}, atOnce)
	var work sync.WaitGroup
	for i, p := range line {
		slots <- struct{}{}
		work.Go(func() {
			all[i], errs[i] = q.contender(p.name)
			<-slots
		})
	}
	work.Wait()
	var there []Contender
	for i, err := range errs {
		switch {
		case err == nil:
			there = append(there, all[i])
		case !errors.Is(err, zk.ErrNoNode):
			return nil, fmt.Errorf("zklock: look at %s/%s: %w", q.path, line[i].name, explained(err))
		}
	}
	return there, nil
}

func (q *queue) contender(name string) (Contender, error) {
	path := q.path + "/" + name
	data, stat, err := q.c.conn.Get(path)
	if errors.Is(err, zk.ErrNoAuth) {
		var there bool
		if there, stat, err = q.c.conn.Exists(path); err == nil && !there {
			err = zk.ErrNoNode
		}
	}
	if err != nil {
		return Contender{}, err
	}
	who := nameIn(data)
	if who == "" {
		who = fmt.Sprintf("session %#x", uint64(stat.EphemeralOwner))
	}
	return Contender{who, time.UnixMilli(stat.Ctime), uint64(stat.Czxid)}, nil
}

// nameIn returns the name of a client in the data of its ticket, or the text of another
// library there, "" if there is none.
func nameIn(data []byte) string {
	text := string(data)
	if tag, ok := parseTag(data); ok {
		return tag.name
	}
	if name, ok := strings.CutPrefix(text, namePrefix); ok {
		return name
	}
	if sealedData(data) || text == string(heldMark) || text == string(revokeMark) ||
		!utf8.ValidString(text) || checkName(text) != nil {
		return ""
	}
	return text
}
