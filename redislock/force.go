package redislock

import (
	"context"
	"fmt"

	"github.com/redis/go-redis/v9"
)

// ForceUnlock takes the lock away from its holder and gives it to the first waiter. It reports
// whether that changed anything. It is for manual repair, if the holder is known to be dead
// and its lease is long. CLIENT LIST and the key show which client that is, see
// [ClientOptions]. A live holder notices only at its next renewal or Unlock; until then it may
// run concurrently with the next holder, whose token is greater. ForceUnlock sends one
// request. Without an answer it returns an error.
func (m *Mutex) ForceUnlock(ctx context.Context) (freed bool, err error) {
	if m.err != nil {
		return false, m.err
	}
	n, err := m.send(m.c.traced(ctx), m.kind.force)
	if n == 2 || err != nil && !refused(err) {
		m.watchOver() // it may have been handed over by a request whose reply was lost
	}
	return forced(m.name, n, err)
}

// ForceUnlock takes the lock away from all of its holders, see [Mutex.ForceUnlock].
func (m *RWMutex) ForceUnlock(ctx context.Context) (freed bool, err error) {
	return m.write.ForceUnlock(ctx)
}

// ForceUnlock takes the permits away from all of their holders, see [Mutex.ForceUnlock].
func (s *Semaphore) ForceUnlock(ctx context.Context) (freed bool, err error) {
	return s.queue.ForceUnlock(ctx)
}

// ForceUnlock takes the lock away from its process, see [Mutex.ForceUnlock], and ends its row.
// That process may begin another acquisition, concurrent with the next holder, within the
// grant timeout ([Options].HandoffTimeout).
func (m *Cohort) ForceUnlock(ctx context.Context) (freed bool, err error) {
	return m.server.ForceUnlock(ctx)
}

// ForceUnlock deletes the key, see [Mutex.ForceUnlock]. Waiters notice at their next poll.
func (m *PollMutex) ForceUnlock(ctx context.Context) (freed bool, err error) {
	if m.err != nil {
		return false, m.err
	}
	ctx = m.c.traced(ctx)
	n, err := request(ctx, m.name, deleteAndPublish.op, func() *redis.IntCmd { return m.c.rdb.Del(ctx, m.name) }).Result()
	return forced(m.name, int(n), err)
}

// ForceUnlock deletes the key of the lock and wakes the waiters, see [Mutex.ForceUnlock].
func (m *PubSubMutex) ForceUnlock(ctx context.Context) (freed bool, err error) {
	return m.c.forceUnlock(ctx, m.name, m.err, m.sub.channel)
}

// ForceUnlock deletes the key and wakes a waiter per process, see [Mutex.ForceUnlock].
func (m *Reentrant) ForceUnlock(ctx context.Context) (freed bool, err error) {
	return m.c.forceUnlock(ctx, m.name, m.err, m.sub.channel)
}

var deleteAndPublish = newScript("reentrant_force")

func (c *Client) forceUnlock(ctx context.Context, name string, misuse error, channel string) (freed bool, err error) {
	if misuse != nil {
		return false, misuse
	}
	n, err := call{deleteAndPublish, []string{name}, []any{channel, unlockMessage}}.run(c.traced(ctx), c.rdb).Int()
	return forced(name, n, err)
}

func forced(name string, n int, err error) (bool, error) {
	if err != nil {
		return false, fmt.Errorf("redislock: force unlock %s: %w", name, explain(err))
	}
	return n > 0, nil
}
