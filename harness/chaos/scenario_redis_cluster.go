package chaos

import (
	"context"
	"errors"
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

var clusterScenarios = table(Scenario{
	Family: "Redis Cluster",
}, []Scenario{
	{Name: "cluster-node-hung", Takes: 14, Tries: 30, Deadline: 30 * time.Second, Prompt: TTL,
		Question: "Does one node of a Redis Cluster that hangs cost locks of the other nodes?",
		Fault:    "one of three primaries is stopped (SIGSTOP) for four leases, and continued, while two clients lock and unlock on all of them; each node serves on when another has failed (cluster-require-full-coverage no); judged are the locks of the nodes that run, and exclusion and tokens on all",
		Source:   "Redis Cluster specification; Redisson issue 2669 and, in 4.7.0, org.redisson.renewal.RenewalTask: renewals go from slot to slot, and a round ends with the first that is not answered",
		Tests:    []result.Guarantee{result.Fencing}, Locks: "redis-(queue|reentrant|rw|semaphore|multi|cohort|poll|pubsub|renewals-redisson)|redsync|bsm-redislock-100ms",
		Expect: []Expectation{
			{"redis-renewals-redisson", []oracle.Anomaly{oracle.Lost, oracle.Stall}, "what is behind the slot of the node that hangs is not renewed, on whatever node it is"},
			{".*", nil, "the requests, the renewals and the waiters of a node wait for that node alone"},
		},
		Aims: []Aim{
			{redisRecommended, result.FaultAim{Figure: "window", Quantile: 1, Limit: float64(TTL), Text: "a lease"}},
			{redisRecommended, result.FaultAim{Figure: "leases lost on other nodes", Quantile: 1, Limit: 0, Text: "none"}},
		},
		Try: func(ctx context.Context, t *Try) {
			server := must(t.Shared(ctx, "redis cluster", startCluster))
			nodes := server.Endpoint().Addrs[0]
			hosts := t.Hosts(2)
			others := gather(t, func(s *Subject) []*Subject { return useAllNodes(ctx, t, s, hosts, Short(server.Endpoint())) })
			t.Sleep(ctx, TTL/2+time.Duration(t.Rand.Int64N(int64(TTL/2))))
			began := t.Now()
			t.Fault("node %s hangs", nodes[hungNode])
			check(server.Signal(hungNode, syscall.SIGSTOP))
			time.Sleep(4 * TTL) // not interrupted: the next try needs the node
			over := t.Now()
			check(server.Signal(hungNode, syscall.SIGCONT))
			t.Over("node %s hangs", nodes[hungNode])
			t.Each(func(s *Subject) {
				long, hung := others[s][0], others[s][1]
				s.showLost(append(s.events(), long.events()...), "leases lost on other nodes", "on a node that ran: ", func(e oracle.Event) bool { return e.At >= began && e.At <= over })
				hung.AwaitGrant(ctx, 5*TTL, over)
				s.checkSafety(long, "of a node that ran")
				s.checkSafety(hung, "of the node that hung")
			})
		},
	},
})

const renewing = "redis-.*|rueidislock.*"

const hungNode = 2

func startCluster(ctx context.Context) (*backend.Server, error) {
	server, err := backend.StartSetup(ctx, harness.KindRedis, backend.Setup{Layout: backend.Cluster})
	if err != nil {
		return nil, err
	}
	for _, addr := range server.Endpoint().Addrs[0] {
		node := redis.NewClient(&redis.Options{Addr: addr, MaxRetries: -1})
		err = errors.Join(err,
			node.ConfigSet(ctx, "cluster-require-full-coverage", "no").Err(),
			node.ConfigSet(ctx, "cluster-node-timeout", "15000").Err(),
			node.Close())
	}
	if err != nil {
		server.Stop()
		return nil, fmt.Errorf("chaos: %w", err)
	}
	return server, nil
}

// useAllNodes makes one client per process use a lock of each node. The locks of s on the first
// node are held briefly. It returns the others, the last of the node that will hang: the first client holds
// them for longer than a lease when the node hangs, so that it renews there and elsewhere.
func useAllNodes(ctx context.Context, t *Try, s *Subject, hosts []*Host, at harness.Endpoint) []*Subject {
	name := s.Key
	s.Key = keyOn(ctx, t, at, name, 0)
	others := []*Subject{s.Another(keyOn(ctx, t, at, name, 1)), s.Another(keyOn(ctx, t, at, name, hungNode))}
	l := ordinary
	if matches(renewing, s.Variant.Name) {
		l = Loop{Hold: 3 * TTL, Think: 20 * time.Millisecond}
	}
	for _, h := range hosts {
		w := h.Open(ctx, s, at)
		w.Loop(ctx, ordinary)
		for _, o := range others {
			w.JoinAs(ctx, o).Loop(ctx, l)
		}
	}
	return others
}

// checkSafety shows a violation of exclusion, or of the order of tokens, by another lock.
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
			slot, err := c.ClusterKeySlot(ctx, form).Result()
			if err != nil {
				check(fmt.Errorf("chaos: %w", err))
				return ""
			}
			there = there && int(slot)*len(at.Addrs[0])/slots == node
		}
		if there {
			return key
		}
	}
	check(fmt.Errorf("chaos: no key for node %d", node))
	return ""
}
