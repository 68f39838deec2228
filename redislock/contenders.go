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

// A Contender holds a lock or waits for it. For a key that another program has set, its Name is
// the whole value, and Since is zero. Token is 0 if it waits; for the holder of a Cohort it is the
// first token of its row.
type Contender = lock.Contender

// Holders returns who holds the lock now: one client at most. It takes one request.
func (m *Mutex) Holders(ctx context.Context) ([]Contender, error) {
	if m.err != nil {
		return nil, m.err
	}
	if m.kind.holders == nil {
		return m.holder(ctx)
	}
	reply, err := m.kind.holders.Run(lock.Given(ctx), m.c.rdb, m.keys).StringSlice()
	if err != nil {
		return nil, listFailed("holders", m.name, err)
	}
	var all []Contender
	for pair := range slices.Chunk(reply, 2) {
		all = append(all, holderOf(strings.Join(pair, " ")))
	}
	slices.SortStableFunc(all, func(a, b Contender) int { return cmp.Compare(a.Token, b.Token) })
	return all, nil
}

// Waiters returns the waiters in the order of service, in one request. It includes a dead
// waiter until its turn would come, and no waiters within a process, as in a [Cohort].
func (m *Mutex) Waiters(ctx context.Context) ([]Contender, error) {
	if m.err != nil {
		return nil, m.err
	}
	queue, err := m.c.rdb.ZRangeWithScores(lock.Given(ctx), m.keys[1], 0, -1).Result()
	if err != nil {
		return nil, listFailed("waiters", m.name, err)
	}
	var all []Contender
	for _, w := range queue {
		all = append(all, Contender{Name: clientOf(w.Member.(string)), Since: time.UnixMicro(int64(w.Score))})
	}
	return all, nil
}

// Holders returns the current holders, in order of arrival, see [Mutex.Holders].
func (m *RWMutex) Holders(ctx context.Context) ([]Contender, error) { return m.write.Holders(ctx) }

// Waiters returns the waiting readers and writers, see [Mutex.Waiters].
func (m *RWMutex) Waiters(ctx context.Context) ([]Contender, error) { return m.write.Waiters(ctx) }

// Holders returns the current holders of permits, in order of arrival, see [Mutex.Holders].
func (s *Semaphore) Holders(ctx context.Context) ([]Contender, error) { return s.queue.Holders(ctx) }

// Waiters returns the waiters for a permit, see [Mutex.Waiters].
func (s *Semaphore) Waiters(ctx context.Context) ([]Contender, error) { return s.queue.Waiters(ctx) }

// Holders returns the process that holds the lock, see [Mutex.Holders].
func (m *Cohort) Holders(ctx context.Context) ([]Contender, error) {
	all, err := m.server.Holders(ctx)
	for i := range all {
		all[i].Token <<= handoverBits
	}
	return all, err
}

// Waiters returns the processes that wait for the lock, see [Mutex.Waiters].
func (m *Cohort) Waiters(ctx context.Context) ([]Contender, error) { return m.server.Waiters(ctx) }

func (m *Mutex) holder(ctx context.Context) ([]Contender, error) {
	switch owner, err := m.c.rdb.Get(lock.Given(ctx), m.name).Result(); {
	case errors.Is(err, redis.Nil):
		return nil, nil
	case err != nil:
		return nil, listFailed("holders", m.name, err)
	default:
		return []Contender{holderOf(owner)}, nil
	}
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

func listFailed(what, name string, err error) error {
	return fmt.Errorf("redislock: %s of %s: %w", what, name, explain(err))
}
