package chaos

import (
	"context"
	"syscall"
	"time"

	"locklab/harness"
	"locklab/harness/oracle"
	"locklab/harness/result"
	"locklab/internal/backend"
)

var zooLeaderScenarios = table(Scenario{
	Family: "ZooKeeper server lost", Tests: []result.Guarantee{result.Failover, result.Fencing}, Locks: zooLocks, Deadline: 90 * time.Second, Prompt: zooPrompt, Arrival: zooPrompt, Tries: 30,
}, []Scenario{
	{Name: "leader-killed", Takes: 40, Down: true, Short: true,
		Question: "For how long is a lock out of reach after the leader of the ensemble was killed?",
		Fault:    "the leader of three servers is killed (SIGKILL), and restarted later",
		Source:   "Hunt et al. 2010, ZooKeeper, 5.4; samuel/go-zookeeper issue 229",
		Expect:   voted,
		Aims:     soonElected,
		Try: outage(contend3, func(ctx context.Context, c *contenders, e *backend.Server, leader int) (undo func()) {
			c.t.Fault("the leader is killed")
			return kill(ctx, e, leader)
		}),
	},
	{Name: "leader-stopped", Takes: 35, Down: true, Short: true,
		Question: "For how long is a lock out of reach after the leader of the ensemble hangs?",
		Fault:    "the leader of three servers is stopped (SIGSTOP), so that it accepts connections and answers nothing, and continued later",
		Source:   "go-zookeeper/zk conn.go, authenticate; Gunawi et al. 2018, Fail-slow at scale",
		Expect:   voted,
		Aims:     hangs,
		Try: outage(contend3, func(ctx context.Context, c *contenders, e *backend.Server, leader int) (undo func()) {
			c.t.Fault("the leader is stopped")
			check(e.Signal(leader, syscall.SIGSTOP))
			return func() { check(e.Signal(leader, syscall.SIGCONT)) }
		}),
	},
	{Name: "follower-killed", Takes: 39, Deadline: 60 * time.Second,
		Question: "Do clients get on when the server that they are at dies and a majority is left?",
		Fault:    "a follower of three servers is killed (SIGKILL), and restarted later",
		Source:   "Hunt et al. 2010, ZooKeeper, 5.4",
		Expect:   elected,
		Aims:     soonElected,
		Try: outage(contend3, func(ctx context.Context, c *contenders, e *backend.Server, leader int) (undo func()) {
			c.t.Fault("a follower is killed")
			return kill(ctx, e, c.t.follower(leader))
		}),
	},
	{Name: "leader-and-holder-killed", Takes: 25, Down: true, Deadline: 60 * time.Second,
		Question: "How long is a lock taken after its holder and the leader of the ensemble have died together?",
		Fault:    "the leader of three servers and the process of the holder are killed (SIGKILL), and the leader is restarted later",
		Source:   "Hunt et al. 2010, ZooKeeper, 5.4: a new leader gives each session a whole timeout",
		Tests:    []result.Guarantee{result.Failover, result.Fencing, result.Recovery},
		Expect: append([]Expectation{
			{zooSessions, []oracle.Anomaly{oracle.Stall}, "the session of the dead holder runs for its whole timeout from the election on"},
		}, elected[1:]...),
		Aims: []Aim{{zooRecommended, result.FaultAim{Figure: "window", Quantile: 0.5, Limit: float64(zooPrompt + 2*tick + 500*time.Millisecond),
			Text: "election of 1.5 s, session timeout, 2 ticks"}}},
		Try: outage(holdAndWait, func(ctx context.Context, c *contenders, e *backend.Server, leader int) (undo func()) {
			c.t.Fault("the leader is killed")
			defer c.hosts[0].Kill()
			return kill(ctx, e, leader)
		}),
	},
	{Name: "leader-killed-while-syncing", Takes: 44, Tries: 20, Arrival: time.Minute,
		Question: "Do clients get on when the leader dies while a server is catching up?",
		Fault:    "a follower of three servers is killed, restarted a second later, and the leader is killed while it loads and catches up; then the leader is restarted",
		Source:   "Junqueira, Reed & Serafini 2011, Zab, phase 2; ZOOKEEPER-2845",
		Expect: append([]Expectation{
			{zooSessions, []oracle.Anomaly{oracle.Stall}, "the servers have no majority until the one that catches up is ready, and initLimit ticks more for each vote that fails"},
		}, elected[1:]...),
		Try: outage(contend3, func(ctx context.Context, c *contenders, e *backend.Server, leader int) (undo func()) {
			follower := c.t.follower(leader)
			check(e.Kill(follower))
			c.t.Sleep(ctx, time.Second)
			back := make(chan error, 1)
			go func() { back <- e.Restart(ctx, follower) }()
			c.t.random(ctx, time.Second)
			c.t.Fault("the leader is killed")
			undo = kill(ctx, e, leader)
			check(<-back)
			return undo
		}),
	},
})

// outage makes clients use each lock on three servers, as start does, and calls lose. Its
// undo is called when each of them has had its lock since, or could have had it.
func outage(start func(context.Context, *Try, harness.Endpoint) *contenders, lose func(ctx context.Context, c *contenders, e *backend.Server, leader int) (undo func())) func(context.Context, *Try) {
	return func(ctx context.Context, t *Try) {
		e, at := t.ensemble(ctx)
		c := start(ctx, t, at)
		t.random(ctx, tick)
		began := t.Now()
		if err := steps(func() {
			undo := lose(ctx, c, e, must(e.Leader(ctx)))
			t.elected(ctx, e, began)
			c.served(ctx, began, zooPrompt+time.Second)
			undo()
		}); err != nil {
			t.drop("ensemble")
			check(err)
		}
		t.Over("all three servers run")
		c.finish(ctx, t.Now(), zooPrompt+time.Second)
	}
}

func contend3(ctx context.Context, t *Try, at harness.Endpoint) *contenders {
	return contend(ctx, t, at, nil)
}

func holdAndWait(ctx context.Context, t *Try, at harness.Endpoint) *contenders {
	c, _ := hold(ctx, t, at, at)
	return c
}

// elected waits until the servers have a leader and reports the time; the clients account
// for the rest of the windows. A failed vote costs initLimit ticks.
func (t *Try) elected(ctx context.Context, e *backend.Server, began int64) {
	ctx, cancel := context.WithTimeout(ctx, 45*time.Second)
	defer cancel()
	if _, err := e.Leader(ctx); err != nil {
		return
	}
	took := float64(t.Now()-began) / 1e6
	for _, s := range t.Subjects {
		s.Figure("the servers had a leader after", "ms", took)
	}
}

func kill(ctx context.Context, e *backend.Server, i int) (undo func()) {
	check(e.Kill(i))
	return func() { check(e.Restart(ctx, i)) }
}

var elected = []Expectation{
	{zooSessions, nil, "its clients look for another server, where the session and the ticket live on, and try again what failed"},
	{"zk-persistent", []oracle.Anomaly{oracle.Stuck, oracle.Stall, oracle.LeftBehind}, "a ticket whose making has failed stays for ever"},
	relics,
	{"go-zookeeper-lock", []oracle.Anomaly{oracle.Stuck, oracle.Stall, oracle.LeftBehind}, "a request that fails leaves the ticket in the queue for as long as the session lives"},
	{"curator-.*", []oracle.Anomaly{oracle.Stall, oracle.LeftBehind, oracle.Overtaken}, "its retries end after a second, which an election may take: a ticket that it could not remove stays, and one that it makes again is behind others"},
}

var voted = append([]Expectation{
	{zooSessions, []oracle.Anomaly{oracle.Stall}, "the servers may need a second vote, initLimit ticks after the first, and no client can do anything meanwhile"},
}, elected[1:]...)

var soonElected = []Aim{{zooRecommended, result.FaultAim{Figure: "window", Quantile: 0.5, Limit: float64(1500 * time.Millisecond), Text: "1.5 s"}}}

var hangs = []Aim{{zooRecommended, result.FaultAim{Figure: "window", Quantile: 1, Limit: float64(zooPrompt), Text: "session timeout + 1 s"}}}

func (t *Try) follower(leader int) int { return (leader + 1 + t.Rand.IntN(2)) % 3 }
