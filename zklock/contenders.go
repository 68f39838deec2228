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

	"locklab/lock"
	"locklab/zklock/internal/recipe"
)

// A Contender is a ticket at a lock, of any client, including Curator and zk.Lock. Its Name may
// be another library's text in the ticket. Without a name it is the session, such as "session
// 0x1000a2b3c4d0001", as in the servers' lists of connections. Since is when it began to wait.
// Token is the czxid of its ticket: for a Mutex, a Multi and a RWMutex the token of the lease.
type Contender = lock.Contender

// Holders returns the holder of the lock, if any, in at most three requests. Like all Holders
// methods it is for people and metrics: its answer may be out of date when it returns.
func (m *Mutex) Holders(ctx context.Context) ([]Contender, error) {
	return m.contenders(ctx, firstOf(1), m.p.kind)
}

// Waiters returns the waiters in order, with one request for each.
func (m *Mutex) Waiters(ctx context.Context) ([]Contender, error) {
	return m.contenders(ctx, behindFirst(1), m.p.kind)
}

// Holders returns the holder of the lock, if any, see [Mutex.Holders].
func (m *Reentrant) Holders(ctx context.Context) ([]Contender, error) {
	return m.contenders(ctx, firstOf(1), fairQueue.kind)
}

// Waiters returns the waiters in order, see [Mutex.Waiters].
func (m *Reentrant) Waiters(ctx context.Context) ([]Contender, error) {
	return m.contenders(ctx, behindFirst(1), fairQueue.kind)
}

// Holders returns the client that holds the lock, if any, see [Mutex.Holders].
func (k *Cohort) Holders(ctx context.Context) ([]Contender, error) {
	return k.contenders(ctx, firstOf(1), fairQueue.kind)
}

// Waiters returns the waiting clients in order, see [Mutex.Waiters], but not goroutines.
func (k *Cohort) Waiters(ctx context.Context) ([]Contender, error) {
	return k.contenders(ctx, behindFirst(1), fairQueue.kind)
}

// Holders returns the writer or the readers that hold the lock, see [Mutex.Holders]. A writer
// that reads on is included twice.
func (m *RWMutex) Holders(ctx context.Context) ([]Contender, error) {
	return m.contenders(ctx, func(line []recipe.Place) []recipe.Place { return line[:held(line)] }, readKind, writeKind)
}

// Waiters returns the waiting readers and writers in order, see [Mutex.Waiters].
func (m *RWMutex) Waiters(ctx context.Context) ([]Contender, error) {
	return m.contenders(ctx, func(line []recipe.Place) []recipe.Place { return line[held(line):] }, readKind, writeKind)
}

// Holders returns the holders of permits, see [Mutex.Holders].
func (s *Semaphore) Holders(ctx context.Context) ([]Contender, error) {
	return s.contenders(ctx, firstOf(s.permits), permitKind)
}

// Waiters returns the waiters for a permit in order, see [Mutex.Waiters].
func (s *Semaphore) Waiters(ctx context.Context) ([]Contender, error) {
	return s.contenders(ctx, behindFirst(s.permits), permitKind)
}

// Holders returns the holders of permits, see [Mutex.Holders].
func (s *SemaphoreV2) Holders(ctx context.Context) ([]Contender, error) {
	return s.contenders(ctx, &s.leases, firstOf(s.permits), leaseKind)
}

// Waiters returns the waiters in order, see [Mutex.Waiters], perhaps with a new holder.
func (s *SemaphoreV2) Waiters(ctx context.Context) ([]Contender, error) {
	return s.contenders(ctx, &s.locks, behindFirst(0), fairQueue.kind)
}

func (s *SemaphoreV2) contenders(ctx context.Context, q *queue, part func([]recipe.Place) []recipe.Place, kind string) ([]Contender, error) {
	if err := checkPath(s.path); err != nil { // "" is invalid, though /locks is a path
		return nil, err
	}
	return q.contenders(ctx, part, kind)
}

func firstOf(n int) func([]recipe.Place) []recipe.Place {
	return func(line []recipe.Place) []recipe.Place { return line[:max(0, min(n, len(line)))] }
}

func behindFirst(n int) func([]recipe.Place) []recipe.Place {
	return func(line []recipe.Place) []recipe.Place { return line[max(0, min(n, len(line))):] }
}

func (q *queue) contenders(ctx context.Context, part func(line []recipe.Place) []recipe.Place, kinds ...string) ([]Contender, error) {
	if err := checkPath(q.lockPath()); err != nil {
		return nil, err
	}
	return lock.Await(lock.Given(ctx), q.c.spawn, ErrClosed, func() ([]Contender, error) {
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

func (q *queue) read(line []recipe.Place) ([]Contender, error) {
	const atOnce = 16 // so that contacts are not delayed
	all, errs := make([]Contender, len(line)), make([]error, len(line))
	slots := make(chan struct{}, atOnce)
	var work sync.WaitGroup
	for i, p := range line {
		slots <- struct{}{}
		work.Go(func() {
			all[i], errs[i] = q.contender(p.Name)
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
			return nil, fmt.Errorf("zklock: look at %s/%s: %w", q.path, line[i].Name, explained(err))
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
	return Contender{Name: who, Since: time.UnixMilli(stat.Ctime), Token: uint64(stat.Czxid)}, nil
}

// nameIn returns the client's name in a ticket's data, or another library's text, or "".
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
