package redislock

import (
	"context"
	"fmt"

	"github.com/redis/go-redis/v9"
)

// ForceUnlock takes the lock away from its holder and gives it to the first
// waiter. It reports whether that has changed anything. It is for repair by hand, when the
// holder is known to be dead and its lease is long; CLIENT LIST and the key of the
// lock say which client that is, see [ClientOptions]. The holder, if it lives, is told only
// by its next renewal and by Unlock, and may go on until then beside the next one,
// whose token is greater. It takes one request, which is not repeated, nor sent by a new
// connection if there is no answer: the error says so, and the lease ends by itself.
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

// ForceUnlock takes the permits away from all of their holders, see
// [Mutex.ForceUnlock].
func (s *Semaphore) ForceUnlock(ctx context.Context) (freed bool, err error) {
	return s.queue.ForceUnlock(ctx)
}

// ForceUnlock takes the lock away from the process that has it, see
// [Mutex.ForceUnlock]: its row of acquisitions is over. Another one may begin there beside the next
// holder within the grant timeout ([Options].HandoffTimeout), and none later.
func (m *Cohort) ForceUnlock(ctx context.Context) (freed bool, err error) {
	return m.server.ForceUnlock(ctx)
}

// ForceUnlock deletes the key of the lock, see [Mutex.ForceUnlock]. The waiters
// find out in their own time.
func (m *PollMutex) ForceUnlock(ctx context.Context) (freed bool, err error) {
	if m.err != nil {
		return false, m.err
	}
	ctx = m.c.traced(ctx)
	n, err := request(ctx, m.name, deleteAndPublish.op, func() *redis.IntCmd { return m.c.rdb.Del(ctx, m.name) }).Result()
	return forced(m.name, int(n), err)
}

// ForceUnlock deletes the key of the lock and wakes the waiters, see
// [Mutex.ForceUnlock].
func (m *PubSubMutex) ForceUnlock(ctx context.Context) (freed bool, err error) {
	return m.c.forceUnlock(ctx, m.name, m.err, m.broadcast.channel)
}

// ForceUnlock deletes the key of the lock and wakes one waiter of each process, see
// [Mutex.ForceUnlock].
func (m *Reentrant) ForceUnlock(ctx context.Context) (freed bool, err error) {
	return m.c.forceUnlock(ctx, m.name, m.err, m.sub.channel)
}

// deleteAndPublish is the release of a key, whatever is in it.
var deleteAndPublish = newScript("reentrant_force")

// forceUnlock deletes a key and publishes that.
func (c *Client) forceUnlock(ctx context.Context, name string, misuse error, channel string) (freed bool, err error) {
	if misuse != nil {
		return false, misuse
	}
	n, err := call{deleteAndPublish, []string{name}, []any{channel, unlockMessage}}.run(c.traced(ctx), c.rdb).Int()
	return forced(name, n, err)
}

// forced returns what a ForceUnlock does whose request was answered with n or err.
func forced(name string, n int, err error) (bool, error) {
	if err != nil {
		return false, fmt.Errorf("redislock: force unlock %s: %w", name, explain(err))
	}
	return n > 0, nil
}
