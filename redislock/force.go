package redislock

import (
	"context"
	"fmt"

	"github.com/redis/go-redis/v9"
)

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

// ForceUnlock deletes the key, see [Mutex.ForceUnlock]. Waiters notice at their next poll.
func (m *PollMutex) ForceUnlock(ctx context.Context) (freed bool, err error) {
	return m.force(ctx, func(ctx context.Context) (int, error) {
		n, err := request(ctx, m.name, deleteAndPublish.op, func() *redis.IntCmd { return m.c.rdb.Del(ctx, m.name) }).Result()
		return int(n), err
	})
}

// ForceUnlock deletes the key of the lock and wakes the waiters, see [Mutex.ForceUnlock].
func (m *PubSubMutex) ForceUnlock(ctx context.Context) (freed bool, err error) {
	return m.delete(ctx, m.channel)
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

// force calls send, which sends one request and returns more than 0 if it changed anything.
func (b *base) force(ctx context.Context, send func(context.Context) (int, error)) (freed bool, err error) {
	if b.err != nil {
		return false, b.err
	}
	n, err := send(b.c.traced(ctx))
	if err != nil {
		return false, fmt.Errorf("redislock: force unlock %s: %w", b.name, explain(err))
	}
	return n > 0, nil
}
