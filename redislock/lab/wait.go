package lab

import (
	"cmp"
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"locklab/harness"
)

// waiting is SET with NX, PX and a nonce. It counts as granted once a majority of the primary
// and its replicas has it: WAIT returns how many replicas have confirmed. A grant with too few
// confirmations is given back. The majority is of the replicas at connection time.
//
// # Known faults
//
// WAIT is no consensus. It shortens the time in which a failover loses a grant, and never
// closes it:
//
//   - The promoted replica may be one that has not confirmed, and no server compares their
//     state.
//   - min-replicas-to-write counts replicas that were in contact in the last seconds, whether
//     or not they have this write.
//   - Later steps, a release or a renewal, are not confirmed.
//   - An unconfirmed grant exists until it is given back, and may be confirmed later.
//
// # References
//
// Redis documentation, WAIT, section "Consistency and WAIT"; "Distributed Locks with Redis",
// section "Why Failover-based Implementations Are Not Enough". Redisson 4.7.0 sends WAIT
// behind each script of a lock and waits for a second.
var waiting = &harness.Variant{
	Name:   "redis-wait",
	Doc:    "SET NX PX, granted once most of the replicas have it (WAIT); lost if another replica takes over",
	Paper:  "Redis documentation, WAIT",
	Family: harness.Redis,
	Status: harness.Historical,
	Traits: harness.Traits{Needs: harness.KindRedis},
	Remote: func(ctx context.Context, at harness.Endpoint, key string) (harness.Remote, error) {
		r := new(replicas)
		return plainWith(func(o *redis.Options) { o.OnConnect = r.count },
			func(p *process, name string, ttl time.Duration) func() plainLocker {
				m := &waitLock{p, name, cmp.Or(ttl, defaultTTL), r}
				return func() plainLocker { return m }
			})(ctx, at, key)
	},
}

type replicas struct{ n atomic.Int64 }

func (r *replicas) count(ctx context.Context, conn *redis.Conn) error {
	text, err := conn.Info(ctx, "replication").Result()
	if err == nil {
		r.n.Store(int64(strings.Count(text, "state=online")))
	}
	return err
}

func (r *replicas) enough() int { return int(r.n.Load()+1) / 2 }

// mostWait bounds the confirmation of a grant, together with a tenth of the lease.
const mostWait = time.Second

type waitLock struct {
	p        *process
	name     string
	ttl      time.Duration
	replicas *replicas
}

func (m *waitLock) Lock(ctx context.Context) (harness.Lease, error)    { return m.lock(ctx, false) }
func (m *waitLock) TryLock(ctx context.Context) (harness.Lease, error) { return m.lock(ctx, true) }

func (m *waitLock) lock(ctx context.Context, try bool) (harness.Lease, error) {
	return m.p.await(ctx, m.name, func(ctx context.Context) (*plainLease, error) {
		for {
			nonce := newUUID()
			l, err := m.attempt(ctx, nonce)
			switch {
			case err != nil: // the request may have taken the lock
				m.p.undo(ctx, func(ctx context.Context) error { _, err := m.free(ctx, nonce); return err })
				return nil, err
			case l != nil:
				return l, nil
			case try:
				return nil, harness.ErrNotAcquired
			}
			if !m.p.pause(ctx, 5*time.Millisecond+rand.N(10*time.Millisecond)) {
				return nil, errors.Join(ctx.Err(), m.p.closed())
			}
		}
	})
}

func (m *waitLock) attempt(ctx context.Context, nonce string) (*plainLease, error) {
	sent, enough := time.Now(), m.replicas.enough()
	both := m.p.rdb.Pipeline() // WAIT refers to the writes of its own connection
	granted := both.SetNX(ctx, m.name, nonce, m.ttl)
	confirmed := both.Do(ctx, "WAIT", enough, min(m.ttl/10, mostWait).Milliseconds())
	if _, err := both.Exec(ctx); err != nil {
		return nil, err
	}
	if !granted.Val() {
		return nil, nil
	}
	if n, err := confirmed.Int(); err != nil || n < enough {
		_, again := m.free(ctx, nonce)
		return nil, errors.Join(err, again)
	}
	l := &plainLease{p: m.p, name: m.name, span: m.ttl, free: func(ctx context.Context) (bool, error) { return m.free(ctx, nonce) }}
	if !l.begin(sent) {
		return nil, errTooLate
	}
	return l, nil
}

func (m *waitLock) free(ctx context.Context, nonce string) (held bool, err error) {
	n, err := compareAndDelete.Run(ctx, m.p.rdb, []string{m.name}, nonce).Int()
	return n == 1, err
}
