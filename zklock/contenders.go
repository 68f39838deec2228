package zklock

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
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

// Holders returns the holders of the lock, in at most two requests and one for each. Like all
// Holders methods it is for people and metrics: its answer may be out of date when it returns. A
// writer that also reads is included twice.
func (q *queue) Holders(ctx context.Context) ([]Contender, error) {
	return q.contenders(ctx, func(line []recipe.Place) []recipe.Place { return line[:q.held(line)] })
}

// Waiters returns the waiters in order, with one request for each; for a Cohort the clients, not
// their goroutines.
func (q *queue) Waiters(ctx context.Context) ([]Contender, error) {
	return q.contenders(ctx, func(line []recipe.Place) []recipe.Place { return line[q.held(line):] })
}

// Waiters returns the waiters in order, see [Mutex.Waiters], perhaps with a new holder.
func (s *SemaphoreV2) Waiters(ctx context.Context) ([]Contender, error) {
	return s.locks.contenders(ctx, func(line []recipe.Place) []recipe.Place { return line })
}

func (q *queue) held(line []recipe.Place) int {
	if slices.Contains(q.kinds, readKind) {
		return held(line)
	}
	return max(0, min(q.permits, len(line)))
}

func (q *queue) contenders(ctx context.Context, part func(line []recipe.Place) []recipe.Place) ([]Contender, error) {
	if err := checkPath(q.name); err != nil {
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
		return q.read(part(places(names, q.kinds...)))
	}, func([]Contender) {})
}

func (q *queue) read(line []recipe.Place) (all []Contender, err error) {
	for _, p := range line {
		c, err := q.contender(p.Name)
		switch {
		case err == nil:
			all = append(all, c)
		case !errors.Is(err, zk.ErrNoNode):
			return nil, fmt.Errorf("zklock: look at %s/%s: %w", q.path, p.Name, explained(err))
		}
	}
	return all, nil
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
	if strings.HasPrefix(text, sealPrefix) || text == "__REVOKE__" || // by Curator's Revoker
		!utf8.ValidString(text) || checkName(text) != nil {
		return ""
	}
	return text
}
