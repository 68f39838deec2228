package chaos

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"

	"locklab/harness"
	"locklab/harness/oracle"
	"locklab/internal/backend"
)

var clusterScenarios = table(Scenario{
	Family: "Redis Cluster",
}, []Scenario{
	{Name: "cluster-node-hung", Takes: 14, Tries: 30, Deadline: 30 * time.Second, Prompt: TTL,
		Question: "Does one node of a Redis Cluster that hangs cost locks of the other nodes?",
		Fault:    "one of three primaries is stopped (SIGSTOP) for four leases, and continued, while two clients lock and unlock on all of them; each node serves on when another has failed (cluster-require-full-coverage no); judged are the locks of the nodes that run",
		Source:   "Redis Cluster specification; Redisson issue 2669 and, in 4.7.0, org.redisson.renewal.RenewalTask: renewals go from slot to slot, and a round ends with the first that is not answered",
		Tests:    []harness.Guarantee{harness.Fencing}, Locks: "redis-(queue|reentrant|rw|semaphore|multi|cohort|poll|pubsub|renewals-redisson)|redsync|bsm-redislock-100ms",
		Expect: []Expectation{
			{"redis-renewals-redisson", []harness.Harm{harness.Lost, harness.Stall}, "what is behind the slot of the node that hangs is not renewed, on whatever node it is"},
			{".*", nil, "the requests, the renewals and the waiters of a node wait for that node alone"},
		},
		Aims: []Aim{
			{redisRecommended, harness.FaultAim{Figure: "window", Quantile: 1, Limit: float64(TTL), Text: "a lease"}},
			{redisRecommended, harness.FaultAim{Figure: "leases lost on other nodes", Quantile: 1, Limit: 0, Text: "none"}},
		},
		Try: func(ctx context.Context, t *Try) {
			server := must(t.Shared(ctx, "redis cluster", startCluster))
			nodes := server.Endpoint().Addrs[0]
			hosts := t.Hosts(2)
			of := gather(t, func(s *Subject) spread { return spreadOver(ctx, t, s, hosts, server.Endpoint()) })
			t.Sleep(ctx, TTL/2+time.Duration(t.Rand.Int64N(int64(TTL/2))))
			began := t.Now()
			for _, p := range of {
				for _, s := range p {
					s.Fault("node %s hangs", nodes[hungNode])
				}
			}
			check(server.Signal(hungNode, syscall.SIGSTOP))
			time.Sleep(4 * TTL) // not interrupted: the next try needs the node
			over := t.Now()
			check(server.Signal(hungNode, syscall.SIGCONT))
			t.Each(func(s *Subject) {
				p := of[s]
				for _, s := range p {
					s.Over("node %s hangs", nodes[hungNode])
				}
				p.report(began, over)
				p[hungNode].await(ctx, 5*TTL, over)
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

// A spread is one lock per cluster node, used by the same clients.
type spread []*Subject

// spreadOver makes one client per process use a lock of each node: short holds on the first
// node, and holds longer than a lease on the others. The first client holds the latter
// when a node hangs, so that it renews there and elsewhere.
func spreadOver(ctx context.Context, t *Try, s *Subject, hosts []*Host, at harness.Endpoint) spread {
	var p spread
	at = Short(at)
	for node := range at.Addrs[0] {
		key := keyOn(ctx, t, at, s.Key, node)
		switch node {
		case 0:
			s.Key = key
			p = append(p, s)
		case hungNode: // the fault explains why it is not served
			p = append(p, s.Another(key, harness.Stall, harness.Stuck, harness.Overtaken))
		default:
			p = append(p, s.Another(key))
		}
	}
	for _, h := range hosts {
		w := h.Open(ctx, s, at)
		for node, on := range p {
			worker, l := w, ordinary
			if node > 0 {
				worker = w.JoinAs(ctx, on)
			}
			if node > 0 && matches(renewing, s.Variant.Name) {
				l = Loop{Hold: 3 * TTL, Think: 20 * time.Millisecond}
			}
			worker.Loop(ctx, l)
		}
	}
	return p
}

func (p spread) report(began, over int64) {
	lost, served := 0, 0
	for node, s := range p {
		if node == hungNode {
			continue
		}
		var told []oracle.Event
		s.visit(func(e *oracle.Event) {
			switch {
			case e.At < began || e.At > over:
			case e.Kind == oracle.Told:
				told = append(told, *e)
			case e.Kind == oracle.Granted:
				served++
			}
		})
		for _, e := range told {
			s.showLost(&e, "on a node that ran: %s", e.Text)
		}
		lost += len(told)
	}
	p[0].Figure("leases lost on other nodes", "", float64(lost))
	p[0].Figure("grants on other nodes", "", float64(served))
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
