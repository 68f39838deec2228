package chaos

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/go-zookeeper/zk"

	"locklab/harness"
	"locklab/harness/oracle"
	"locklab/harness/result"
	"locklab/internal/backend"
)

var zooLeaderScenarios = table(Scenario{
	Family: "ZooKeeper server lost", Tests: []result.Guarantee{result.Failover, result.Fencing}, Locks: zooLocks, Deadline: 90 * time.Second, Prompt: zooPrompt, Arrival: zooPrompt, Tries: 60,
}, []Scenario{
	{Name: "leader-killed", Takes: 40, Down: true, Short: true,
		Question: "How long is a lock unavailable after the leader of the ensemble was killed?",
		Fault:    "the leader of three servers is killed (SIGKILL), and restarted later",
		Source:   "Hunt et al. 2010, ZooKeeper, 5.4; samuel/go-zookeeper issue 229",
		Expect:   voted,
		Aims:     soonElected,
		Try: outage(contend, func(ctx context.Context, t *Try, hosts []*Host, e *backend.Server, leader int) (undo func()) {
			t.Fault("the leader is killed")
			return kill(ctx, e, leader)
		}),
	},
	{Name: "leader-stopped", Takes: 35, Down: true, Short: true,
		Question: "How long is a lock unavailable after the leader of the ensemble hangs?",
		Fault:    "the leader of three servers is stopped (SIGSTOP), so that it accepts connections and answers nothing, and continued later",
		Source:   "go-zookeeper/zk conn.go, authenticate; Gunawi et al. 2018, Fail-slow at scale",
		Expect:   voted,
		Aims:     hangs,
		Try: outage(contend, func(ctx context.Context, t *Try, hosts []*Host, e *backend.Server, leader int) (undo func()) {
			t.Fault("the leader is stopped")
			check(e.Signal(leader, syscall.SIGSTOP))
			return func() { check(e.Signal(leader, syscall.SIGCONT)) }
		}),
	},
	{Name: "follower-killed", Takes: 39, Deadline: 60 * time.Second,
		Question: "Do clients recover when their server dies and a majority is left?",
		Fault:    "a follower of three servers is killed (SIGKILL), and restarted later",
		Source:   "Hunt et al. 2010, ZooKeeper, 5.4",
		Expect:   elected,
		Aims:     soonElected,
		Try: outage(contend, func(ctx context.Context, t *Try, hosts []*Host, e *backend.Server, leader int) (undo func()) {
			t.Fault("a follower is killed")
			return kill(ctx, e, t.follower(leader))
		}),
	},
	{Name: "leader-and-holder-killed", Takes: 25, Down: true, Deadline: 60 * time.Second,
		Question: "How long is a lock taken after its holder and the leader of the ensemble have died together?",
		Fault:    "the leader of three servers and the process of the holder are killed (SIGKILL), and the leader is restarted later",
		Source:   "Hunt et al. 2010, ZooKeeper, 5.4: a new leader gives each session a whole timeout",
		Tests:    []result.Guarantee{result.Failover, result.Fencing, result.Recovery},
		Expect: append([]Expectation{
			{zooSessions, []oracle.Anomaly{oracle.Stall}, "the session of the dead holder has its whole timeout again from the election"},
		}, elected[1:]...),
		Aims: []Aim{{zooRecommended, result.FaultAim{Figure: "window", Quantile: 0.5, Limit: float64(zooPrompt + 2*tick + 500*time.Millisecond),
			Text: "election of 1.5 s, session timeout, 2 ticks"}}},
		Try: outage(func(ctx context.Context, t *Try, at harness.Endpoint) []*Host {
			return hold(ctx, t, at, at)
		}, func(ctx context.Context, t *Try, hosts []*Host, e *backend.Server, leader int) (undo func()) {
			t.Fault("the leader is killed")
			defer hosts[0].Kill()
			return kill(ctx, e, leader)
		}),
	},
	{Name: "leader-killed-while-syncing", Takes: 44, Arrival: time.Minute,
		Question: "Do clients recover when the leader dies while a server is catching up?",
		Fault:    "a follower of three servers is killed, restarted a second later, and the leader is killed while it loads and catches up; then the leader is restarted",
		Source:   "Junqueira, Reed & Serafini 2011, Zab, phase 2; ZOOKEEPER-2845",
		Expect: append([]Expectation{
			{zooSessions, []oracle.Anomaly{oracle.Stall}, "the servers have no majority until the recovering one is ready, and for initLimit ticks more after each failed vote"},
		}, elected[1:]...),
		Try: outage(contend, func(ctx context.Context, t *Try, hosts []*Host, e *backend.Server, leader int) (undo func()) {
			follower := t.follower(leader)
			check(e.Kill(follower))
			t.Sleep(ctx, time.Second)
			back := make(chan error, 1)
			go func() { back <- e.Restart(ctx, follower) }()
			t.random(ctx, time.Second)
			t.Fault("the leader is killed")
			undo = kill(ctx, e, leader)
			check(<-back)
			return undo
		}),
	},
})

// outage makes clients use each lock on three servers, as start does, and calls lose. Its
// undo is called when each of them has had its lock since, or could have had it.
func outage(start func(context.Context, *Try, harness.Endpoint) []*Host, lose func(ctx context.Context, t *Try, hosts []*Host, e *backend.Server, leader int) (undo func())) func(context.Context, *Try) {
	return func(ctx context.Context, t *Try) {
		e, at := t.ensemble(ctx)
		hosts := start(ctx, t, at)
		t.random(ctx, tick)
		began := t.Now()
		if err := steps(func() {
			undo := lose(ctx, t, hosts, e, must(e.Leader(ctx)))
			t.elected(ctx, e, began)
			t.served(ctx, began, zooPrompt+time.Second)
			undo()
		}); err != nil {
			t.drop("ensemble")
			check(err)
		}
		t.Over("all three servers run")
		t.finish(ctx, at, t.Now(), zooPrompt+time.Second)
	}
}

// elected waits until the servers have a leader and reports the time; the clients account
// for the rest of the windows. A failed vote costs initLimit ticks.
func (t *Try) elected(ctx context.Context, e *backend.Server, began int64) {
	ctx, cancel := context.WithTimeout(ctx, 45*time.Second)
	defer cancel()
	if _, err := e.Leader(ctx); err != nil {
		return
	}
	for _, s := range t.Subjects {
		s.Figure("the servers had a leader after", "ms", float64(t.Now()-began)/1e6)
	}
}

func kill(ctx context.Context, e *backend.Server, i int) (undo func()) {
	check(e.Kill(i))
	return func() { check(e.Restart(ctx, i)) }
}

var elected = []Expectation{
	{zooSessions, nil, "its clients connect to another server, which has the session and the ticket, and repeat failed requests"},
	{"zk-persistent", []oracle.Anomaly{oracle.Stuck, oracle.Stall, oracle.LeftBehind}, "a ticket whose making has failed stays for ever"},
	relics,
	{"go-zookeeper-lock", []oracle.Anomaly{oracle.Stuck, oracle.Stall, oracle.LeftBehind}, "a request that fails leaves the ticket in the queue for as long as the session lives"},
	{"curator-.*", []oracle.Anomaly{oracle.Stall, oracle.LeftBehind, oracle.Overtaken}, "its retries end after a second, which an election may take: a ticket that it could not remove stays, and one that it makes again is behind others"},
}

var voted = append([]Expectation{
	{zooSessions, []oracle.Anomaly{oracle.Stall}, "the servers may need a second vote, initLimit ticks after the first, and no client is served meanwhile"},
}, elected[1:]...)

var soonElected = []Aim{{zooRecommended, result.FaultAim{Figure: "window", Quantile: 0.5, Limit: float64(1500 * time.Millisecond), Text: "1.5 s"}}}

var hangs = []Aim{{zooRecommended, result.FaultAim{Figure: "window", Quantile: 1, Limit: float64(zooPrompt), Text: "session timeout + 1 s"}}}

func (t *Try) follower(leader int) int { return (leader + 1 + t.Rand.IntN(2)) % 3 }

const zooQueues = "zk-(handoff|fair|curator|herd|rw|rw-curator|two-level|two-level-local-first|cohort|poll|writelock|boolean-mutex|persistent|fair-historical|writelock-historical|boolean-mutex-historical)|go-zookeeper-lock|curator-(mutex|mutex-shared|rw)"

var outdated = Expectation{zooHistorical, relics.Anomalies, "it does not check that its ticket exists, and loses wake-ups without any fault"}

var zooOperatorScenarios = table(Scenario{
	Family: "ZooKeeper operator", Locks: zooLocks, Deadline: 30 * time.Second, Prompt: zooRequestPrompt, Arrival: 2 * zooRequestPrompt, Tries: 200,
	Tests: []result.Guarantee{result.Fencing},
}, []Scenario{
	{Name: "zk-holder-ticket-deleted", Takes: 11,
		Question: "Is a holder notified when an operator deletes its ticket?",
		Fault:    "another client deletes the ticket of the holder 1.5 s after its creation",
		Source:   "docs of zkCli delete; Netflix/curator issue 9",
		Locks:    zooQueues,
		Expect: []Expectation{
			{zooSessions, []oracle.Anomaly{oracle.TwoHolders}, "the holder and the next client are notified by the same event, and either may be faster; the token refuses a late write"},
			outdated,
			{".*", []oracle.Anomaly{oracle.TwoHolders, oracle.StaleWrite}, "it does not watch its own ticket"},
		},
		Try: deleteTicket(0),
	},
	{Name: "zk-waiter-ticket-deleted", Takes: 21,
		Question: "Does a waiter whose ticket an operator has deleted still get the lock, and alone?",
		Fault:    "another client deletes the ticket of the waiter 1.5 s after its creation",
		Source:   "go-zookeeper/zk lock.go, which compares its own number with the listed ones",
		Locks:    zooQueues,
		Expect: []Expectation{
			{"zk-(fair|curator|rw-curator|writelock|boolean-mutex)", []oracle.Anomaly{oracle.Overtaken}, "it notices that its ticket is gone when the ticket ahead is deleted, and queues again"},
			{zooSessions, nil, "it is notified that its ticket is gone, and queues again"},
			outdated,
			{"go-zookeeper-lock", []oracle.Anomaly{oracle.TwoHolders, oracle.StaleWrite, oracle.Overtaken}, "it takes itself for the first if it lists no lower number, whether it finds its own or not"},
			{"curator-.*", []oracle.Anomaly{oracle.Stall, oracle.Overtaken}, "it finds that its ticket is gone when the one ahead goes, and tries again"},
		},
		Try: deleteTicket(1),
	},
	{Name: "zk-path-deleted", Takes: 23,
		Question: "Does a lock tolerate an operator who deletes its node with all tickets?",
		Fault:    "all tickets of each lock and the node above them are deleted by another client, while clients hold and wait",
		Source:   "Netflix/curator issue 29; docs of zkCli deleteall",
		Expect: []Expectation{
			{zooSessions, []oracle.Anomaly{oracle.TwoHolders}, "a holder does not watch its ticket in the first milliseconds; tokens rise nevertheless"},
			outdated,
			{".*", []oracle.Anomaly{oracle.TwoHolders, oracle.StaleWrite, oracle.Stall, oracle.Stuck, oracle.Overtaken, oracle.LeftBehind}, "a holder does not watch its ticket, and a waiter does not look whether it is there"},
		},
		Try: func(ctx context.Context, t *Try) {
			at := t.At(ctx, t.Subjects[0])
			conn := t.ZooKeeper(at.Addrs[0])
			contend(ctx, t, at)
			t.random(ctx, tick)
			began := t.Now()
			t.Each(func(s *Subject) {
				s.Fault("an operator deletes the lock")
				deleteAll(conn, s.path())
			})
			t.afterOperator(ctx, at, began)
		},
	},
	{Name: "zk-numbers-end", Takes: 30,
		Question: "Does a lock still exclude when ticket numbers run out?",
		Fault:    "none: in the first snapshot of the server each lock has used all but a few of its 2^31 tickets, as after 15 days with 1,700 acquisitions a second",
		NoFault:  true,
		Source:   "ZOOKEEPER-3249; DataTree.createNode of ZooKeeper 3.8",
		Expect: []Expectation{
			{zooSessions + "|zk-persistent", nil, "it refuses numbers near the end, and recreates its node while there is no ticket"},
			{".*", []oracle.Anomaly{oracle.TwoHolders, oracle.StaleWrite, oracle.TokenFell, oracle.Overtaken, oracle.Stall, oracle.Stuck, oracle.LeftBehind, oracle.Misled}, "it orders tickets by numbers, which are equal or negative now"},
		},
		Try: func(ctx context.Context, t *Try) {
			const next = math.MaxInt32 - 5
			counters := map[string]int32{"/locklab": 0}
			for _, s := range t.Subjects {
				counters[s.path()] = next
				for _, dir := range s.queueNodes() {
					counters[s.path()], counters[s.path()+dir] = 0, next
				}
			}
			at := Short(t.Own(ctx, ensembleOf(backend.EnsembleOptions{Servers: 1, Counters: counters})).Endpoint())
			t.Fault("the last numbers are given out")
			contend(ctx, t, at)
			t.Sleep(ctx, time.Second)
			t.finish(ctx, at, t.Now(), zooRequestPrompt)
		},
	},
})

// deleteTicket deletes ticket i of the queue of a holder and a waiter.
func deleteTicket(i int) func(context.Context, *Try) {
	return func(ctx context.Context, t *Try) {
		at := t.At(ctx, t.Subjects[0])
		conn := t.ZooKeeper(at.Addrs[0])
		hold(ctx, t, at, at)
		t.Sleep(ctx, 1500*time.Millisecond) // an operator who lists the queue first is slower
		t.random(ctx, tick)
		began := t.Now()
		t.Each(func(s *Subject) {
			tickets := must(s.tickets(conn))
			if len(tickets) <= i {
				check(fmt.Errorf("chaos: %s has %d tickets", s.Variant.Name, len(tickets)))
			}
			s.Fault("an operator removes ticket %d", i)
			check(conn.Delete(tickets[i], -1))
		})
		t.Sleep(ctx, time.Second)
		t.Each(func(s *Subject) { s.again(ctx, false) })
		t.afterOperator(ctx, at, began)
	}
}

func (t *Try) afterOperator(ctx context.Context, at harness.Endpoint, began int64) {
	t.Over("the operator has gone")
	t.finish(ctx, at, began, zooRequestPrompt+500*time.Millisecond)
}

// deleteAll deletes a node with all below it. It gives up when clients have made new
// tickets twenty times: all initial ones are gone then.
func deleteAll(c *zk.Conn, path string) {
	for range 20 {
		paths := must(below(c, path))
		for _, path := range slices.Backward(paths) {
			if err := c.Delete(path, -1); err != nil && !errors.Is(err, zk.ErrNoNode) && !errors.Is(err, zk.ErrNotEmpty) {
				check(fmt.Errorf("chaos: %w", err))
			}
		}
		if len(paths) == 0 {
			return
		}
	}
}

// queueNodes returns nil if the lock's path is the only queue.
func (s *Subject) queueNodes() []string {
	switch name := s.Variant.Name; {
	case name == "zk-multi":
		return []string{"/a", "/b"}
	case name == "zk-semaphore-v2" || strings.HasPrefix(name, "curator-semaphore"):
		return []string{"/locks", "/leases"}
	}
	return nil
}
