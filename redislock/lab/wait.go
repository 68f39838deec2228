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

// waiting is SET with NX and PX and a nonce, which counts as granted once a majority of
// the primary and its replicas has it: WAIT says how many replicas have confirmed. A
// grant that too few have confirmed is given back. As many replicas are asked for as the
// primary had when the connection was made; without one it is redis-setnx without
// repetition.
//
// # What is wrong with it
//
// WAIT is no consensus. It narrows the time in which a failover loses a grant, and never
// closes it:
//
//   - the replica that is promoted may be another than those that have confirmed, and no
//     server asks whether it knows as much;
//   - min-replicas-to-write counts replicas that the primary has heard of in the last
//     seconds, and not those that have this write;
//   - what follows the grant is not confirmed: a release, or a renewal;
//   - a grant that nothing has confirmed is there until it has been given back, and may
//     be confirmed later.
//
// # References
//
// Redis documentation, WAIT, section "Consistency and WAIT"; "Distributed Locks with
// Redis", section "Why Failover-based Implementations Are Not Enough". Redisson 4.7.0
// sends WAIT behind each script of a lock and waits for a second.
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

// replicas are as many as the primary has, as far as a client knows.
type replicas struct{ n atomic.Int64 }

// count asks the server at the other end of a new connection.
func (r *replicas) count(ctx context.Context, conn *redis.Conn) error {
	text, err := conn.Info(ctx, "replication").Result()
	if err == nil {
		r.n.Store(int64(strings.Count(text, "state=online")))
	}
	return err
}

// enough returns how many are a majority with the primary.
func (r *replicas) enough() int { return int(r.n.Load()+1) / 2 }

// mostWait is how long a grant may take to be confirmed, and a tenth of the lease at most.
const mostWait = time.Second

// A waitLock is the lock waiting as one client has it.
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
			case err != nil: // which may have taken the lock
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

// attempt asks for the lock once.
func (m *waitLock) attempt(ctx context.Context, nonce string) (*plainLease, error) {
	sent, enough := time.Now(), m.replicas.enough()
	both := m.p.rdb.Pipeline() // WAIT is for what its own connection has written
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
