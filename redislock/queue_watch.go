package redislock

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"
)

// withdraw takes w, which is not waited for any more, out of the queue, or the lock away
// from it. If the server does not answer, that goes on in the background: its place
// would cost the others a grant timeout. It does not ask by a new connection: while those
// of the client library are silent the place costs that and no more, and a lock that a lost
// reply has hidden costs its lease, as if this process had died.
func (m *Mutex) withdraw(ctx context.Context, w *queued) error {
	_, err := m.release(ctx, w, false)
	if err == nil {
		return nil
	}
	granted := make(chan struct{}, 1)
	m.c.mail.Lock()
	b := m.mailbox()
	if b.gone == nil {
		b.gone = make(map[string]chan<- struct{})
	}
	b.gone[w.nonce] = granted
	m.c.mail.Unlock()
	m.c.later(m.name, m.c.clock.Now().Add(placeStays), granted,
		func(ctx context.Context) error { _, err := m.release(ctx, w, false); return err },
		func() {
			m.c.mail.Lock()
			defer m.c.mail.Unlock()
			delete(b.gone, w.nonce)
			b.drop()
		})
	return err
}

// splitSlot reports whether err is a cluster's answer to a request for several keys of a slot
// that migrates: they may be on two nodes.
func splitSlot(err error) bool {
	return redis.HasErrorPrefix(err, "TRYAGAIN") || redis.HasErrorPrefix(err, "ASK ")
}

// free takes the lock away from w by a request that names one key, and reports whether w had
// it. The first waiter gets the lock in the background when the keys are together again. again
// is whether an earlier request may have taken it away.
func (m *Mutex) free(ctx context.Context, w *queued, again bool) bool {
	n, err := m.alone(m.kind.free, w).run(ctx, m.c.rdb).Int()
	if err != nil || n == 0 && !again {
		return false
	}
	m.c.spawn(func() {
		ctx, cancel := context.WithTimeout(m.c.open, unlockWait)
		defer cancel()
		_ = m.withdraw(ctx, w) // goes on until the server answers
	})
	return true
}

// placeStays is how long the server keeps a queue in which no waiter asks.
const placeStays = 10 * time.Minute

// watchOver checks a hand-over when the grant timeout is over. A later
// hand-over puts that off: by then the owner of the earlier one has come.
func (m *Mutex) watchOver() {
	if !m.c.mail.guard(m) { // the client is closed
		m.pass()
	}
}

// check hands the lock on if its owner's time has run out. It does not ask by a new
// connection: if its request is lost, the waiters ask by themselves before a lease is over
// that began after their own, as if this process had died.
func (m *Mutex) check() {
	ctx, cancel := context.WithTimeout(m.c.open, unlockWait)
	defer cancel()
	// If the server does not answer there is nothing to hand on.
	_ = m.c.persist(ctx, func(ctx context.Context, again bool) error {
		n, err := m.send(ctx, m.kind.check)
		if n == 2 || n == 0 && again {
			m.watchOver()
		}
		return err
	})
}

// send sends a request of no waiter in particular.
func (m *Mutex) send(ctx context.Context, s *script) (int, error) {
	return call{s, m.keys, []any{"", m.o.HandoffTimeout.Milliseconds()}}.run(ctx, m.c.rdb).Int()
}

// pass leaves it to the first waiter to watch over the latest hand-over. It is tried once,
// by the connections that there are: see check.
func (m *Mutex) pass() {
	ctx, cancel := context.WithTimeout(context.Background(), unlockWait)
	defer cancel()
	_, _ = m.send(ctx, m.kind.pass) // else it is as if this process had died
}
