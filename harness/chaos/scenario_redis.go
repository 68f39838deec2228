package chaos

import (
	"context"
	"fmt"
	"slices"

	"github.com/redis/go-redis/v9"

	"locklab/harness"
	"locklab/harness/oracle"
	"locklab/internal/backend"
)

var redisScenarios = slices.Concat(redisServerScenarios, redisPromotions, redisWaits)

// Patterns of lock names that these scenarios share. Locks that differ from redis-poll
// only by their pauses are left out.
const (
	redisAll = redisOne + "|redis-redlock"

	redisOne = redisFenced + "|" + redisPlain + "|redis-token"

	redisGo = redisFenced + "|" + redisOurs + "|" + redisFixed + "|redis-token|redis-redlock"

	// redisFenced have tokens that follow the server's clock in addition to the counter.
	redisFenced = "redis-(queue|rw|semaphore|multi|cohort)"

	redisPlain = redisRenewed + "|" + redisFixed

	// redisPublished are locks with defects that any failure may show: see their comments.
	redisPublished = "redis-(redisson12|fair-redisson)"

	// redisRenewed have holders that renew the lease, and so contact the server.
	redisRenewed = redisOurs + "|rueidislock.*"
	redisOurs    = "redis-(reentrant|poll-5ms|pubsub|unsafe)|" + redisPublished

	// redisFixed have holders that never contact the server.
	redisFixed = "redsync-1ms|bsm-redislock-1ms"
)

var published = Expectation{redisPublished,
	[]oracle.Anomaly{oracle.TwoHolders, oracle.StaleWrite, oracle.Overtaken, oracle.Stall, oracle.Stuck, oracle.Misled},
	"it is published as it was, with defects of its own that lose locks and give them away"}

var losesWakeUps = Expectation{"rueidislock|rueidislock-majority", []oracle.Anomaly{oracle.Stall, oracle.Stuck},
	"a request that takes longer than its limit loses a wake-up: the server does not tell a client of what that has deleted itself"}

var twoPermits = Expectation{"redis-semaphore", []oracle.Anomaly{oracle.Overtaken},
	"both permits may be free at once, and two waiters hear of theirs in either order"}

// forgotten is the expectation for locks that the server has forgotten. Redlock's other two
// servers still have it; the other locks are granted to a new client although they are held.
var forgotten = slices.Concat([]Expectation{
	{"redis-redlock", nil, "two of the three servers still have its keys"},
}, forgottenFenced, forgottenPlain)

var forgottenFenced = []Expectation{
	{"redis-cohort", []oracle.Anomaly{oracle.TwoHolders}, "the server has forgotten the holder, which hears of it by its next renewal; tokens go with the clock besides"},
	{redisFenced, []oracle.Anomaly{oracle.TwoHolders, oracle.Overtaken}, "the server has forgotten the holder and the queue, and the holder hears of it by its next renewal; tokens go with the clock besides"},
}

var forgottenPlain = []Expectation{
	published,
	{"redis-token", []oracle.Anomaly{oracle.TwoHolders, oracle.StaleWrite, oracle.Overtaken}, "its element was with the holder, and the next client makes another"},
	{"rueidislock.*", []oracle.Anomaly{oracle.TwoHolders, oracle.StaleWrite, oracle.Stall, oracle.Stuck}, "the server has forgotten the holder, which hears of it by a notification or its next renewal; a waiter may sleep past its own"},
	{redisRenewed, []oracle.Anomaly{oracle.TwoHolders, oracle.StaleWrite}, "the server has forgotten the holder, which hears of it by its next renewal"},
	{redisFixed, []oracle.Anomaly{oracle.TwoHolders, oracle.StaleWrite}, "the server has forgotten the holder, which never asks again"},
}

var tokenOrder = Expectation{"redis-token", []oracle.Anomaly{oracle.Overtaken},
	"it has no lease, and its waiters ask again every second, then behind the others"}

// keeps returns the expectations of locks that outlive a fault.
func keeps(why string) []Expectation {
	return []Expectation{published, losesWakeUps, twoPermits, tokenOrder, {redisAll, nil, why}}
}

// A fleet is independent Redis servers. A one-server lock is on the first, and a lock of
// several on the first ones: a fault of the first affects all locks.
type fleet []*backend.Server

func (t *Try) fleet(ctx context.Context, o backend.RedisOptions) fleet {
	n := 1
	for _, s := range t.Subjects {
		n = max(n, s.Variant.Traits.Servers)
	}
	return must(t.redis(ctx, n, func(ctx context.Context) (*backend.Server, error) { return backend.StartRedisOf(ctx, o) }))
}

// redis returns n independent servers shared by all tries.
func (s *Stage) redis(ctx context.Context, n int, start func(context.Context) (*backend.Server, error)) (f fleet, err error) {
	for i := range n {
		server, err := s.Shared(ctx, fmt.Sprintf("redis %d", i), start)
		if err != nil {
			return nil, err
		}
		f = append(f, server)
	}
	return f, nil
}

func (f fleet) at(s *Subject) harness.Endpoint { return f[:max(1, s.Variant.Traits.Servers)].all() }

func (f fleet) all() harness.Endpoint {
	at := harness.Endpoint{Kind: harness.KindRedis}
	for _, server := range f {
		at.Addrs = append(at.Addrs, server.Endpoint().Addrs[0])
	}
	return Short(at)
}

func (f fleet) first() string { return f[0].Endpoint().Addrs[0][0] }

// An incident is a server failure while locks are held and waited for.
type incident struct {
	t     *Try
	fleet fleet         // the servers, if they are independent
	admin *redis.Client // of the first of them
	hosts []*Host       // of the holders, and of the waiters
	of    map[*Subject]*pair
	late  map[*Subject]*Worker // a client that arrives after the fault
	began int64
}

// incident makes each lock held and waited for, and returns at a random moment of the lease.
func (t *Try) incident(ctx context.Context, at func(*Subject) harness.Endpoint) *incident {
	i := &incident{t: t}
	i.hosts, i.of = t.pairs(ctx, func(s *Subject) (holders, next harness.Endpoint) { return at(s), at(s) })
	i.late = gather(t, func(s *Subject) *Worker { return i.hosts[1].Open(ctx, s, at(s)) })
	t.random(ctx, TTL/2)
	i.began = t.Now()
	return i
}

// outcome observes the effect of a fault that began at began. Another client arrives. The
// holders keep the lock for longer than a lease. If another client is granted it, they
// keep it until they are notified, for up to half a lease, and those not notified at once
// write. Then they release, and the lock is granted again.
func (i *incident) outcome(ctx context.Context, began int64) {
	i.t.Each(func(s *Subject) {
		i.late[s].Loop(ctx, ordinary)
		twice := s.AwaitGrant(ctx, TTL+TTL/5, began)
		holders := i.of[s].holders
		for _, w := range holders {
			if s.holds(w) {
				check(w.WriteHeld(ctx))
			}
		}
		if twice {
			poll(ctx, TTL/2, func() bool { return !slices.ContainsFunc(holders, s.holds) }) // until they are told
		}
		i.release(ctx, holders)
		s.AwaitGrant(ctx, 4*TTL, i.t.Now())
		i.t.Sleep(ctx, 5*ordinary.Hold)
	})
}

func (i *incident) release(ctx context.Context, holders []*Worker) {
	wait, cancel := context.WithTimeout(ctx, 2*TTL)
	defer cancel()
	releaseAll(wait, holders)
}

func (s *Subject) holds(w *Worker) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.history.holds[w.ID]
}
