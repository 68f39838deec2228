package redislock

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"
)

// withdraw takes w's place or the lock away, in the background if the server does not answer:
// the place would cost a grant timeout. It uses no new connection: if the library's are
// silent, the cost is as if this process had died.
func (m *queue) withdraw(ctx context.Context, w *queued) error {
	return m.insist(ctx, placeStays, func(ctx context.Context) error { _, err := m.release(ctx, w, false); return err })
}

// splitSlot reports whether err is about several keys of a migrating slot, on two nodes.
func splitSlot(err error) bool {
	return redis.HasErrorPrefix(err, "TRYAGAIN") || redis.HasErrorPrefix(err, "ASK ")
}

// free takes the lock away from w by a request with one key, and reports whether w had it,
// perhaps after an earlier request (again). The first waiter gets it when the slot has moved.
func (m *queue) free(ctx context.Context, w *queued, again bool) bool {
	n, err := m.alone(m.kind.free, w).run(ctx, m.c.rdb).Int()
	if err != nil || n == 0 && !again {
		return false
	}
	m.c.spawn(func() {
		ctx, cancel := context.WithTimeout(m.c.open, unlockWait)
		defer cancel()
		_ = m.withdraw(ctx, w) // continues until the server answers
	})
	return true
}

// placeStays is how long the server keeps a queue without requests.
const placeStays = 10 * time.Minute

// watchOver checks a handover after the grant timeout, unless a later one proves it.
func (m *queue) watchOver() {
	if !m.c.mail.guard(m) { // the client is closed
		m.pass()
	}
}

// check hands the lock on if its owner's time has run out. It uses no new connection: without
// it the waiters ask within a lease.
func (m *queue) check() {
	ctx, cancel := context.WithTimeout(m.c.open, unlockWait)
	defer cancel()
	// If the server does not answer, there is nothing to hand on.
	_ = m.c.persist(ctx, func(ctx context.Context, again bool) error {
		n, err := m.send(ctx, m.kind.check)
		if n == 2 || n == 0 && again {
			m.watchOver()
		}
		return err
	})
}

func (m *queue) send(ctx context.Context, s *script) (int, error) {
	return call{s, m.keys, []any{"", m.o.HandoffTimeout.Milliseconds()}}.run(ctx, m.c.rdb).Int()
}

// pass leaves the check of the latest handover to the first waiter, in one try: see check.
func (m *queue) pass() {
	ctx, cancel := context.WithTimeout(context.Background(), unlockWait)
	defer cancel()
	_, _ = m.send(ctx, m.kind.pass) // a failure is as if this process had died
}
