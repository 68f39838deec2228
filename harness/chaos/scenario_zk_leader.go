package chaos

import (
	"context"
	"errors"
	"syscall"
	"time"

	"locklab/harness"
	"locklab/internal/backend"
)

var zooLeaderScenarios = []*Scenario{leaderKilled, leaderStopped, followerKilled, leaderAndHolderKilled, leaderKilledWhileSyncing}

func loses(ctx context.Context, t *Try, lose func(ctx context.Context, e *backend.Server, c *crowd) (undo func(), err error)) {
	e, at := t.ensemble(ctx)
	c := contend(ctx, t, 3, everywhere(at))
	c.lose(ctx, e, at, lose)
}

func (c *crowd) lose(ctx context.Context, e *backend.Server, at harness.Endpoint, lose func(ctx context.Context, e *backend.Server, c *crowd) (undo func(), err error)) {
	t := c.t
	t.Sleep(ctx, time.Duration(t.Rand.Int64N(int64(tick))))
	began := t.Now()
	undo, err := lose(ctx, e, c)
	if err == nil {
		t.elected(ctx, e, began)
		err = steps(func() { c.served(ctx, began, zooPrompt+time.Second) })
	}
	if undo != nil {
		err = errors.Join(err, steps(undo))
	}
	if err != nil {
		t.drop("ensemble")
		check(err)
	}
	t.Over("all three servers run")
	c.served(ctx, t.Now(), zooPrompt+time.Second)
	c.settle(ctx, at)
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

func killed(ctx context.Context, e *backend.Server, i int) (undo func(), err error) {
	if err := e.Kill(i); err != nil {
		return nil, err
	}
	return func() { check(e.Restart(ctx, i)) }, nil
}

var elected = []Expectation{
	{zooSessions, nil, "its clients look for another server, where the session and the ticket live on, and try again what failed"},
	{"zk-persistent", []harness.Harm{harness.Stuck, harness.Stall, harness.LeftBehind}, "a ticket whose making has failed stays for ever"},
	{zooHistorical, []harness.Harm{harness.Stuck, harness.Stall, harness.LeftBehind, harness.TwoHolders, harness.Overtaken, harness.StaleWrite, harness.TokenFell}, "it takes a lost connection for news of its predecessor, forgets tickets, and loses wake-ups without any fault"},
	{"go-zookeeper-lock", []harness.Harm{harness.Stuck, harness.Stall, harness.LeftBehind}, "a request that fails leaves the ticket in the queue for as long as the session lives"},
	{"curator-.*", []harness.Harm{harness.Stall, harness.LeftBehind, harness.Overtaken}, "its retries end after a second, which an election may take: a ticket that it could not remove stays, and one that it makes again is behind others"},
}

var voted = append([]Expectation{
	{zooSessions, []harness.Harm{harness.Stall}, "the servers may need a second vote, initLimit ticks after the first, and no client can do anything meanwhile"},
}, elected[1:]...)

var soonElected = []Aim{{zooRecommended, harness.FaultAim{Figure: "window", Quantile: 0.5, Limit: float64(1500 * time.Millisecond), Text: "1.5 s"}}}

var hangs = []Aim{{zooRecommended, harness.FaultAim{Figure: "window", Quantile: 1, Limit: float64(zooPrompt), Text: "session timeout + 1 s"}}}

var leaderKilled = &Scenario{
	Name:     "leader-killed",
	Question: "For how long is a lock out of reach after the leader of the ensemble was killed?",
	Fault:    "the leader of three servers is killed (SIGKILL), and restarted later",
	Source:   "Hunt et al. 2010, ZooKeeper, 5.4; samuel/go-zookeeper issue 229",
	Tests:    []harness.Guarantee{harness.Failover, harness.Fencing},
	Locks:    zooLocks,
	Expect:   voted,
	Deadline: 90 * time.Second,
	Prompt:   zooPrompt, Arrival: zooPrompt, Down: true,
	Tries: 30, Short: 2,
	Aims: soonElected,
	Try: func(ctx context.Context, t *Try) {
		loses(ctx, t, func(ctx context.Context, e *backend.Server, _ *crowd) (func(), error) {
			leader, err := e.Leader(ctx)
			if err != nil {
				return nil, err
			}
			t.Fault("the leader is killed")
			return killed(ctx, e, leader)
		})
	},
}

var leaderStopped = &Scenario{
	Name:     "leader-stopped",
	Question: "For how long is a lock out of reach after the leader of the ensemble hangs?",
	Fault:    "the leader of three servers is stopped (SIGSTOP), so that it accepts connections and answers nothing, and continued later",
	Source:   "go-zookeeper/zk conn.go, authenticate; Gunawi et al. 2018, Fail-slow at scale",
	Tests:    []harness.Guarantee{harness.Failover, harness.Fencing},
	Locks:    zooLocks,
	Expect:   voted,
	Deadline: 90 * time.Second,
	Prompt:   zooPrompt, Arrival: zooPrompt, Down: true,
	Tries: 30, Short: 1,
	Aims: hangs,
	Try: func(ctx context.Context, t *Try) {
		loses(ctx, t, func(ctx context.Context, e *backend.Server, _ *crowd) (func(), error) {
			leader, err := e.Leader(ctx)
			if err != nil {
				return nil, err
			}
			t.Fault("the leader is stopped")
			return func() { check(e.Signal(leader, syscall.SIGCONT)) }, e.Signal(leader, syscall.SIGSTOP)
		})
	},
}

var followerKilled = &Scenario{
	Name:     "follower-killed",
	Question: "Do clients get on when the server that they are at dies and a majority is left?",
	Fault:    "a follower of three servers is killed (SIGKILL), and restarted later",
	Source:   "Hunt et al. 2010, ZooKeeper, 5.4",
	Tests:    []harness.Guarantee{harness.Failover, harness.Fencing},
	Locks:    zooLocks,
	Expect:   elected,
	Deadline: 60 * time.Second,
	Prompt:   zooPrompt, Arrival: zooPrompt,
	Tries: 30,
	Aims:  soonElected,
	Try: func(ctx context.Context, t *Try) {
		loses(ctx, t, func(ctx context.Context, e *backend.Server, _ *crowd) (func(), error) {
			leader, err := e.Leader(ctx)
			if err != nil {
				return nil, err
			}
			t.Fault("a follower is killed")
			return killed(ctx, e, t.follower(leader))
		})
	},
}

func (t *Try) follower(leader int) int { return (leader + 1 + t.Rand.IntN(2)) % 3 }

var leaderAndHolderKilled = &Scenario{
	Name:     "leader-and-holder-killed",
	Question: "How long is a lock taken after its holder and the leader of the ensemble have died together?",
	Fault:    "the leader of three servers and the process of the holder are killed (SIGKILL), and the leader is restarted later",
	Source:   "Hunt et al. 2010, ZooKeeper, 5.4: a new leader gives each session a whole timeout",
	Tests:    []harness.Guarantee{harness.Failover, harness.Fencing, harness.Recovery},
	Locks:    zooLocks,
	Expect: append([]Expectation{
		{zooSessions, []harness.Harm{harness.Stall}, "the session of the dead holder runs for its whole timeout from the election on"},
	}, elected[1:]...),
	Deadline: 60 * time.Second,
	Prompt:   zooPrompt, Arrival: zooPrompt, Down: true,
	Tries: 30,
	Aims: []Aim{{zooRecommended, harness.FaultAim{Figure: "window", Quantile: 0.5, Limit: float64(zooPrompt + 2*tick + 500*time.Millisecond),
		Text: "election of 1.5 s, session timeout, 2 ticks"}}},
	Try: func(ctx context.Context, t *Try) {
		e, at := t.ensemble(ctx)
		c, _ := hold(ctx, t, at, at)
		c.lose(ctx, e, at, func(ctx context.Context, e *backend.Server, c *crowd) (func(), error) {
			leader, err := e.Leader(ctx)
			if err != nil {
				return nil, err
			}
			t.Fault("the leader is killed")
			undo, err := killed(ctx, e, leader)
			c.hosts[0].Kill()
			return undo, err
		})
	},
}

var leaderKilledWhileSyncing = &Scenario{
	Name:     "leader-killed-while-syncing",
	Question: "Do clients get on when the leader dies while a server is catching up?",
	Fault:    "a follower of three servers is killed, restarted a second later, and the leader is killed while it loads and catches up; then the leader is restarted",
	Source:   "Junqueira, Reed & Serafini 2011, Zab, phase 2; ZOOKEEPER-2845",
	Tests:    []harness.Guarantee{harness.Failover, harness.Fencing},
	Locks:    zooLocks,
	Expect: append([]Expectation{
		{zooSessions, []harness.Harm{harness.Stall}, "the servers have no majority until the one that catches up is ready, and initLimit ticks more for each vote that fails"},
	}, elected[1:]...),
	Deadline: 90 * time.Second,
	Prompt:   zooPrompt, Arrival: time.Minute,
	Tries: 20,
	Try: func(ctx context.Context, t *Try) {
		loses(ctx, t, func(ctx context.Context, e *backend.Server, c *crowd) (func(), error) {
			leader, err := e.Leader(ctx)
			if err != nil {
				return nil, err
			}
			follower := t.follower(leader)
			if err := e.Kill(follower); err != nil {
				return nil, err
			}
			t.Sleep(ctx, time.Second)
			back := make(chan error, 1)
			go func() { back <- e.Restart(ctx, follower) }()
			t.Sleep(ctx, time.Duration(t.Rand.Int64N(int64(time.Second))))
			t.Fault("the leader is killed")
			undo, err := killed(ctx, e, leader)
			if err == nil {
				err = <-back
			}
			return undo, err
		})
	},
}
