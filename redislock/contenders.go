package redislock

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"locklab/lock"
)

// A Contender holds a lock or waits for it. For a Reentrant, and for a key that another program
// has set, its Name is the whole owner. Since is zero if the lock has no fencing tokens. Token is
// 0 if it waits; for the holder of a Cohort it is the first token of its row.
type Contender = lock.Contender

// Holders returns who holds the lock now, in order of arrival: one client at most, or several
// readers or permits. It takes one request.
func (m *queue) Holders(ctx context.Context) ([]Contender, error) {
	if m.kind.holders == nil {
		return m.base.Holders(ctx)
	}
	return m.list(ctx, "holders", func(ctx context.Context) (all []Contender, err error) {
		reply, err := m.kind.holders.Run(ctx, m.c.rdb, m.keys).StringSlice()
		for pair := range slices.Chunk(reply, 2) {
			all = append(all, holderOf(strings.Join(pair, " ")))
		}
		slices.SortStableFunc(all, func(a, b Contender) int { return cmp.Compare(a.Token, b.Token) })
		return all, err
	})
}

// Waiters returns the waiters in the order of service, in one request. It includes a dead
// waiter until its turn would come. For a [Cohort] they are processes.
func (m *queue) Waiters(ctx context.Context) ([]Contender, error) {
	return m.list(ctx, "waiters", func(ctx context.Context) (all []Contender, err error) {
		queue, err := m.c.rdb.ZRangeWithScores(ctx, m.keys[1], 0, -1).Result()
		for _, w := range queue {
			all = append(all, Contender{Name: clientOf(w.Member.(string)), Since: time.UnixMicro(int64(w.Score))})
		}
		return all, err
	})
}

// Holders returns the process that holds the lock, see [Mutex.Holders].
func (m *Cohort) Holders(ctx context.Context) ([]Contender, error) {
	all, err := m.queue.Holders(ctx)
	for i := range all {
		all[i].Token <<= handoverBits
	}
	return all, err
}

// Holders returns the holders of any of the locks, by name, with one request per lock.
func (m *Multi) Holders(ctx context.Context) ([]Contender, error) {
	return m.contenders(ctx, (*queue).Holders)
}

// Waiters returns the waiters for any of the locks, by name, with one request per lock.
func (m *Multi) Waiters(ctx context.Context) ([]Contender, error) {
	return m.contenders(ctx, (*queue).Waiters)
}

func (m *Multi) contenders(ctx context.Context, list func(*queue, context.Context) ([]Contender, error)) ([]Contender, error) {
	if m.base.err != nil {
		return nil, m.base.err
	}
	return lock.ListAll(ctx, m.queue, list)
}

// Holders returns the one owner, if any, by one request. Its time and waiters are unknown.
func (m *Reentrant) Holders(ctx context.Context) ([]Contender, error) {
	return m.list(ctx, "holders", func(ctx context.Context) (all []Contender, err error) {
		owners, err := m.c.rdb.HKeys(ctx, m.name).Result()
		for _, owner := range owners {
			all = append(all, Contender{Name: owner})
		}
		return all, err
	})
}

// Holders returns the client that holds the lock on a majority of the servers, if any, without
// its time. It takes one request to each server, and fails without a majority.
func (m *Redlock) Holders(ctx context.Context) ([]Contender, error) {
	return m.list(ctx, "holders", m.majority)
}

func (m *Redlock) majority(ctx context.Context) ([]Contender, error) {
	type answer struct {
		owner string
		err   error
	}
	answers := make(chan answer, len(m.keys))
	for _, k := range m.keys {
		if !k.c.spawn(func() {
			owner, err := k.owner(ctx)
			answers <- answer{owner, err}
		}) {
			answers <- answer{err: ErrClosed}
		}
	}
	most, has := len(m.keys)/2+1, make(map[string]int)
	var errs []error
	for range m.keys {
		switch a := <-answers; {
		case a.err != nil:
			errs = append(errs, a.err)
		case a.owner != "":
			if has[a.owner]++; has[a.owner] == most {
				return []Contender{holderOf(a.owner)}, nil
			}
		}
	}
	if len(m.keys)-len(errs) < most {
		return nil, errors.Join(errs...)
	}
	return nil, nil
}

// Holders returns the one holder, if any, by one request. Its time and waiters are unknown.
func (b *base) Holders(ctx context.Context) ([]Contender, error) {
	return b.list(ctx, "holders", func(ctx context.Context) ([]Contender, error) {
		owner, err := b.owner(ctx)
		if owner == "" {
			return nil, err
		}
		return []Contender{holderOf(owner)}, nil
	})
}

// list returns the result of ask, or the error of ctx soon after it has ended, whatever the
// settings of the client library.
func (b *base) list(ctx context.Context, what string, ask func(context.Context) ([]Contender, error)) ([]Contender, error) {
	if b.err != nil {
		return nil, b.err
	}
	ctx = lock.Given(ctx)
	all, err := lock.Await(ctx, b.c.admit, ErrClosed, func() ([]Contender, error) { return ask(ctx) }, func([]Contender) {})
	if err != nil {
		return nil, fmt.Errorf("redislock: %s of %s: %w", what, b.name, explain(err))
	}
	return all, nil
}

func (b *base) owner(ctx context.Context) (string, error) {
	owner, err := b.c.rdb.Get(ctx, b.name).Result()
	if errors.Is(err, redis.Nil) {
		return "", nil
	}
	return owner, err
}

// holderOf parses the owner of a lock and its token, which follows a blank if there is one.
func holderOf(text string) Contender {
	owner, number, found := strings.Cut(text, " ")
	token, err := strconv.ParseUint(number, 10, 63)
	if !found || err != nil {
		return Contender{Name: clientOf(text)}
	}
	c := Contender{Name: clientOf(owner), Token: token}
	if token > 0 { // the token is a time: when the lease was made
		c.Since = time.UnixMicro(int64(token))
	}
	return c
}

func clientOf(owner string) string {
	if parts := identified.FindStringSubmatch(owner); parts != nil {
		return parts[1]
	}
	return owner
}

// identified matches a name that begins with a client's mailbox or a name derived from it.
var identified = regexp.MustCompile(`^(?:([A-Za-z0-9][A-Za-z0-9._/-]*)-)?[A-Z2-7]{26}(?::\d+)*$`)

// ForceUnlock takes the lock away from all of its holders and gives it to the first waiter. It
// reports whether that changed anything. It is for manual repair, if the holder is known to be dead
// and its lease is long. CLIENT LIST and the key show which client that is, see
// [ClientOptions]. A live holder notices only at its next renewal or Unlock; until then it may
// run concurrently with the next holder, whose token is greater. ForceUnlock sends one
// request. Without an answer it returns an error.
func (m *queue) ForceUnlock(ctx context.Context) (freed bool, err error) {
	return m.force(ctx, func(ctx context.Context) (int, error) {
		n, err := m.send(ctx, m.kind.force)
		if n == 2 || err != nil && !refused(err) {
			m.watchOver() // it may have been handed over by a request whose reply was lost
		}
		return n, err
	})
}

// ForceUnlock deletes the key, see [Mutex.ForceUnlock]. It wakes the waiters of a PubSubMutex;
// waiters of a PollMutex notice at their next poll.
func (k *keyLock) ForceUnlock(ctx context.Context) (freed bool, err error) {
	return k.delete(ctx, k.channel)
}

// ForceUnlock deletes the key and wakes a waiter per process, see [Mutex.ForceUnlock].
func (m *Reentrant) ForceUnlock(ctx context.Context) (freed bool, err error) {
	return m.delete(ctx, m.channel)
}

var deleteAndPublish = newScript("reentrant_force")

func (b *base) delete(ctx context.Context, channel string) (freed bool, err error) {
	return b.force(ctx, func(ctx context.Context) (int, error) {
		return call{deleteAndPublish, []string{b.name}, []any{channel, unlockMessage}}.run(ctx, b.c.rdb).Int()
	})
}

// force calls send, which sends one request and returns more than 0 if it changed anything. It
// uses a new connection, on which the client library does not repeat the request after a lost
// reply: a repetition would take the lock away from the next holder.
func (b *base) force(ctx context.Context, send func(context.Context) (int, error)) (freed bool, err error) {
	if err := cmp.Or(b.err, b.c.closedErr()); err != nil {
		return false, err
	}
	var n int
	ctx, rdb := b.c.traced(ctx), b.c.serverOf(b.name)
	if rdb != nil {
		b.c.afresh(rdb, func(once redis.UniversalClient) { n, err = send(by(ctx, once)) })
	}
	if rdb == nil || verdictOf(err) == redirect { // another server has the lock
		n, err = send(ctx)
	}
	if err != nil {
		return false, fmt.Errorf("redislock: force unlock %s: %w", b.name, explain(err))
	}
	return n > 0, nil
}
