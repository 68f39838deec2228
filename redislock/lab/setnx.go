package lab

import (
	"cmp"
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/redis/go-redis/v9"

	"locklab/harness"
)

// setNX is the common first lock: SET with NX, PX and a nonce, and a script that compares and
// deletes, over a go-redis client with default options.
//
// # Known faults
//
// That client repeats a command up to three times if the connection breaks. If only the reply
// of SET NX was lost, the repetition meets the first one's key and reports that the lock is
// taken. No client has it, and no error was reported: it stays taken for its time to live. A
// repeatable request, as in redis-poll, takes the lock again for the same nonce.
//
// # References
//
// Redis documentation, "Distributed Locks with Redis", section "Correct Implementation with a
// Single Instance". github.com/redis/go-redis/v9, Options.MaxRetries: 3 by default.
var setNX = &harness.Variant{
	Name:   "redis-setnx",
	Doc:    "SET NX PX and compare-and-delete by a client that repeats commands: a lost reply leaves an orphan",
	Paper:  "Redis documentation, Distributed Locks",
	Family: harness.Redis,
	Status: harness.Historical,
	Traits: harness.Traits{Needs: harness.KindRedis},
	Remote: plainWith(func(o *redis.Options) { o.MaxRetries = 0 }, // the default, which is 3
		func(p *process, name string, ttl time.Duration) func() plainLocker {
			m := &setNXLock{p, name, cmp.Or(ttl, defaultTTL)}
			return func() plainLocker { return m }
		}),
}

var compareAndDelete = newScript("setnx_release")

type setNXLock struct {
	p    *process
	name string
	ttl  time.Duration
}

func (m *setNXLock) Lock(ctx context.Context) (harness.Lease, error)    { return m.lock(ctx, false) }
func (m *setNXLock) TryLock(ctx context.Context) (harness.Lease, error) { return m.lock(ctx, true) }

func (m *setNXLock) lock(ctx context.Context, try bool) (harness.Lease, error) {
	return m.p.await(ctx, m.name, func(ctx context.Context) (*plainLease, error) {
		nonce := newUUID()
		free := func(ctx context.Context) (bool, error) {
			n, err := compareAndDelete.Run(ctx, m.p.rdb, []string{m.name}, nonce).Int()
			return n == 1, err
		}
		for {
			sent := time.Now()
			ok, err := m.p.rdb.SetNX(ctx, m.name, nonce, m.ttl).Result()
			switch {
			case err != nil:
				m.p.undo(ctx, func(ctx context.Context) error { _, err := free(ctx); return err })
				return nil, err
			case ok:
				l := &plainLease{p: m.p, name: m.name, span: m.ttl, free: free}
				if !l.begin(sent) {
					return nil, errTooLate
				}
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
