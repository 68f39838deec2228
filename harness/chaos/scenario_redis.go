package chaos

import (
	"context"
	"fmt"
	"slices"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"

	"locklab/harness"
	"locklab/harness/oracle"
	"locklab/harness/result"
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
	"it is the published lock, whose defects lose locks and grant them twice"}

var losesWakeUps = Expectation{"rueidislock|rueidislock-majority", []oracle.Anomaly{oracle.Stall, oracle.Stuck},
	"a request that takes longer than its limit loses a wake-up: the server does not notify a client of its own deletions"}

var twoPermits = Expectation{"redis-semaphore", []oracle.Anomaly{oracle.Overtaken},
	"both permits may be free at once, and two waiters are notified in either order"}

// forgotten is the expectation for locks that the server has forgotten. Redlock's other two
// servers still have it; the other locks are granted to a new client although they are held.
var forgotten = slices.Concat([]Expectation{
	{"redis-redlock", nil, "two of the three servers still have its keys"},
}, forgottenFenced, forgottenPlain)

var forgottenFenced = []Expectation{
	{"redis-cohort", []oracle.Anomaly{oracle.TwoHolders}, "the server has forgotten the holder, which notices it at its next renewal; tokens also depend on the clock"},
	{redisFenced, []oracle.Anomaly{oracle.TwoHolders, oracle.Overtaken}, "the server has forgotten the holder and the queue, and the holder notices it at its next renewal; tokens also depend on the clock"},
}

var forgottenPlain = []Expectation{
	published,
	{"redis-token", []oracle.Anomaly{oracle.TwoHolders, oracle.StaleWrite, oracle.Overtaken}, "the holder had the element, and the next client creates another"},
	{"rueidislock.*", []oracle.Anomaly{oracle.TwoHolders, oracle.StaleWrite, oracle.Stall, oracle.Stuck}, "the server has forgotten the holder, which notices it by a notification or at its next renewal; a waiter may miss its notification"},
	{redisRenewed, []oracle.Anomaly{oracle.TwoHolders, oracle.StaleWrite}, "the server has forgotten the holder, which notices it at its next renewal"},
	{redisFixed, []oracle.Anomaly{oracle.TwoHolders, oracle.StaleWrite}, "the server has forgotten the holder, which never asks again"},
}

var tokenOrder = Expectation{"redis-token", []oracle.Anomaly{oracle.Overtaken},
	"it has no lease, and its waiters rejoin the end of the queue every five seconds"}

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
	return t.redis(ctx, n, func(ctx context.Context) (*backend.Server, error) { return backend.StartRedisOf(ctx, o) })
}

func (s *Stage) redis(ctx context.Context, n int, start func(context.Context) (*backend.Server, error)) (f fleet) {
	for i := range n {
		f = append(f, s.Shared(ctx, fmt.Sprintf("redis %d", i), start))
	}
	return f
}

func (f fleet) at(s *Subject) harness.Endpoint { return f[:max(1, s.Variant.Traits.Servers)].all() }

func (f fleet) all() harness.Endpoint {
	addrs := result.Each(f, func(s *backend.Server) []string { return s.Endpoint().Addrs[0] })
	return Short(harness.Endpoint{Kind: harness.KindRedis, Addrs: addrs})
}

func (f fleet) first() string { return f[0].Endpoint().Addrs[0][0] }

// An incident is a server failure while locks are held and waited for.
type incident struct {
	t     *Try
	fleet fleet         // the servers, if they are independent
	admin *redis.Client // of the first of them
	hosts []*Host       // of the holders, and of the waiters
	began int64
}

// incident makes each lock held and waited for, and returns at a random moment of the lease.
func (t *Try) incident(ctx context.Context, at func(*Subject) harness.Endpoint) *incident {
	i := &incident{t: t}
	i.hosts = t.pairs(ctx, at, at)
	t.Each(func(s *Subject) { s.late = i.hosts[1].Open(ctx, s, at(s)) })
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
		s.late.Loop(ctx, ordinary)
		twice := s.AwaitGrant(ctx, TTL+TTL/5, began)
		for _, w := range s.holders {
			if s.holds(w) {
				check(w.WriteHeld(ctx))
			}
		}
		if twice {
			poll(ctx, TTL/2, func() bool { return !slices.ContainsFunc(s.holders, s.holds) }) // until they are told
		}
		releaseWithin(ctx, 2*TTL, s.holders)
		s.AwaitGrant(ctx, 4*TTL, i.t.Now())
		i.t.Sleep(ctx, 5*ordinary.Hold)
	})
}

func (s *Subject) holds(w *Worker) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.history.holds[w.ID]
}

var clusterScenarios = []*Scenario{
	{Family: "Redis Cluster", Name: "cluster-node-hung", Takes: 14, Tries: 60, Deadline: 30 * time.Second, Prompt: TTL,
		Question: "Does a hung node of a Redis Cluster cost locks on the other nodes?",
		Fault:    "one of three primaries is stopped (SIGSTOP) for four leases, and continued, while two clients lock and unlock on all of them; the other nodes continue to serve (cluster-require-full-coverage no); the locks on the running nodes are judged, and exclusion and tokens on all nodes",
		Source:   "Redis Cluster specification; Redisson issue 2669 and, in 4.7.0, org.redisson.renewal.RenewalTask: renewals go from slot to slot, and a round ends with the first that is not answered",
		Tests:    []result.Guarantee{result.Fencing}, Locks: "redis-(queue|reentrant|rw|semaphore|multi|cohort|poll|pubsub|renewals-redisson)|redsync|bsm-redislock-100ms",
		Expect: []Expectation{
			{"redis-renewals-redisson", []oracle.Anomaly{oracle.Lost, oracle.Stall}, "locks after the slot of the hung node are not renewed, on any node"},
			{".*", nil, "the requests, the renewals and the waiters of a node wait for that node alone"},
		},
		Aims: []Aim{
			{redisRecommended, result.FaultAim{Figure: "window", Quantile: 1, Limit: float64(TTL), Text: "a lease"}},
			{redisRecommended, result.FaultAim{Figure: "leases lost on other nodes", Quantile: 1, Limit: 0, Text: "none"}},
		},
		Try: func(ctx context.Context, t *Try) {
			server := t.Shared(ctx, "redis cluster", func(ctx context.Context) (*backend.Server, error) {
				return backend.StartSetup(ctx, harness.KindRedis, backend.Setup{Layout: backend.Cluster})
			})
			nodes := server.Endpoint().Addrs[0]
			hosts := t.Hosts(2)
			var began, over int64
			t.around(func() {
				t.Sleep(ctx, TTL/2+time.Duration(t.Rand.Int64N(int64(TTL/2))))
				began = t.Now()
				t.Fault("node %s hangs", nodes[hungNode])
				check(server.Signal(hungNode, syscall.SIGSTOP))
				time.Sleep(4 * TTL) // not interrupted: the next try needs the node
				over = t.Now()
				check(server.Signal(hungNode, syscall.SIGCONT))
				t.Over("node %s hangs", nodes[hungNode])
			}, func(s *Subject) func() {
				long, hung := useAllNodes(ctx, t, s, hosts, Short(server.Endpoint()))
				return func() {
					s.showLost(append(s.events(), long.events()...), "leases lost on other nodes", "on a node that ran: ", func(e oracle.Event) bool { return e.At >= began && e.At <= over })
					hung.AwaitGrant(ctx, 5*TTL, over)
					s.checkSafety(long, "of a node that ran")
					s.checkSafety(hung, "of the node that hung")
				}
			})
		},
	},
}

const renewing = "redis-.*|rueidislock.*"

const hungNode = 2

// useAllNodes makes one client per process use a lock of each node. The locks of s on the first
// node are held briefly. It returns the locks of the other nodes, which the clients hold for longer than a lease when the node hangs, so that it renews there and elsewhere.
func useAllNodes(ctx context.Context, t *Try, s *Subject, hosts []*Host, at harness.Endpoint) (long, hung *Subject) {
	name := s.Key
	s.Key = keyOn(ctx, t, at, name, 0)
	long, hung = s.Another(keyOn(ctx, t, at, name, 1)), s.Another(keyOn(ctx, t, at, name, hungNode))
	l := ordinary
	if matches(renewing, s.Variant.Name) {
		l = Loop{Hold: 3 * TTL, Think: 20 * time.Millisecond}
	}
	for _, h := range hosts {
		w := h.Open(ctx, s, at)
		w.Loop(ctx, ordinary)
		w.JoinAs(ctx, long).Loop(ctx, l)
		w.JoinAs(ctx, hung).Loop(ctx, l)
	}
	return long, hung
}

func (s *Subject) checkSafety(o *Subject, where string) {
	j := oracle.Judge(o.events(), oracle.RulesOf(s.Variant.Traits, DefaultPrompt))
	for _, h := range j.Anomalies() {
		if slices.Contains([]oracle.Anomaly{oracle.TwoHolders, oracle.StaleWrite, oracle.TokenFell}, h) {
			s.Show(h, "by the lock %s", where)
		}
	}
}

// keyOn returns a key with prefix name that is kept by a given node of a cluster, in
// every form that a lock derives its key names.
func keyOn(ctx context.Context, t *Try, at harness.Endpoint, name string, node int) string {
	const slots = 16384
	c := t.Redis(at.Addrs[0][0])
	for i := range 1000 {
		key := fmt.Sprintf("%s-%d", name, i)
		there := true
		for _, form := range []string{key, "locklab:" + key} { // with braces around it, and without
			slot := must(c.ClusterKeySlot(ctx, form).Result())
			there = there && int(slot)*len(at.Addrs[0])/slots == node
		}
		if there {
			return key
		}
	}
	check(fmt.Errorf("chaos: no key for node %d", node))
	return ""
}
