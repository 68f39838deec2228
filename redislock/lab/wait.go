package lab

import (
	"context"
	"errors"
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
	Status: harness.Historical,
	Remote: func(ctx context.Context, at harness.Endpoint, key string) (harness.Remote, error) {
		r := new(replicas)
		return plain(func(p *process, name string, ttl time.Duration) func() harness.Session {
			m := newNonceLock(p, name, ttl)
			m.take = func(ctx context.Context, nonce string) (bool, error) { return r.take(ctx, m, nonce) }
			return shared(m)
		}, func(o *redis.Options) { o.OnConnect = r.count })(ctx, at, key)
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

func (r *replicas) take(ctx context.Context, m *nonceLock, nonce string) (bool, error) {
	enough := r.enough()
	both := m.p.rdb.Pipeline() // WAIT refers to the writes of its own connection
	granted := both.SetNX(ctx, m.name, nonce, m.ttl)
	confirmed := both.Do(ctx, "WAIT", enough, min(m.ttl/10, mostWait).Milliseconds())
	if _, err := both.Exec(ctx); err != nil || !granted.Val() {
		return false, err
	}
	n, err := confirmed.Int()
	if err == nil && n >= enough {
		return true, nil
	}
	_, again := m.free(ctx, nonce)
	return false, errors.Join(err, again)
}
