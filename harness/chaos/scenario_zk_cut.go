package chaos

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"locklab/harness/oracle"
	"locklab/harness/result"
	"locklab/internal/backend"
	"locklab/internal/faultproxy"
)

const (
	// sampleSession is the shortest session with the 2 s ticks of ZooKeeper's sample
	// configuration.
	sampleSession = 4 * time.Second

	// cutOffWait is the time after which the session of a client that is cut off has
	// surely ended, with its two ticks and an election.
	cutOffWait = sampleSession + 5*time.Second
)

var notifiedBefore = []Aim{{zooSessions, result.FaultAim{Figure: "notice", Quantile: 0, Least: true, Limit: 0, Text: "holder notified before the next client enters"}}}

var zooCutScenarios = table(Scenario{
	Family: "ZooKeeper holder cut off", Locks: zooLocks, Deadline: 60 * time.Second, Prompt: cutOffWait, Arrival: cutOffWait, Tries: 60,
	Source: "docs/decisions/0009-zk-contact.md; ZOOKEEPER-2678; Alquraan et al. 2018, An analysis of network-partitioning failures",
	Tests:  []result.Guarantee{result.Failover},
	Expect: []Expectation{
		{zooSessions, nil, "its lease counts from writes that a majority has committed, so it ends before the session does"},
		{"zk-persistent", nil, "its ticket outlives the session: no other client can enter"},
		{".*", []oracle.Anomaly{oracle.TwoHolders}, "the server answers pings, so the client believes in a session that the others have ended"},
	},
	Aims: notifiedBefore,
}, []Scenario{
	{Name: "isolated-follower", Takes: 22,
		Question: "Is a holder whose server is cut off notified before the next client enters?",
		Fault:    "of three servers with the ticks of the sample configuration, the follower of the holders is cut off from the others and still answers pings; the clients have no other server",
		Try:      cutServerOff(false),
	},
	{Name: "half-open-leader", Takes: 26,
		Question: "Is a holder at a deposed leader notified before the next client enters?",
		Fault:    "the followers lose their connections to the leader, which does not notice it, and elect another; the clients of the holders have no other server",
		Try:      cutServerOff(true),
	},
	{Name: "zk-holder-cut-off", Takes: 17, Tries: 200, Short: true, Deadline: 30 * time.Second, Prompt: 2*SessionTimeout + 2*tick, Arrival: 3 * SessionTimeout,
		Question: "Is a holder that reaches no server notified before the next client enters?",
		Fault:    "all messages between the holder and the server vanish, and neither side notices it; later messages pass again, and the holder locks again",
		Source:   "samuel/go-zookeeper issue 20; Burrows 2006, The Chubby lock service, 2.8",
		Tests:    []result.Guarantee{result.Failover, result.Recovery},
		Expect: []Expectation{
			{zooSessions, nil, "its lease ends by its own clock, a safety margin before the session"},
			{"zk-persistent", []oracle.Anomaly{oracle.Stuck, oracle.Stall, oracle.LeftBehind}, "its ticket outlives the session: the next waits until its owner is back"},
			{"curator-.*", []oracle.Anomaly{oracle.TwoHolders}, "it takes the session to be lost a session timeout after it has noticed, and the server ends it a timeout after the last packet"},
			{"zk-two-level-historical", []oracle.Anomaly{oracle.TwoHolders, oracle.Stuck, oracle.Misled}, "nothing notifies it, and its local lock stays taken when a request fails, so that TryLock refuses a free lock"},
			{".*", []oracle.Anomaly{oracle.TwoHolders, oracle.Stuck}, "the server notifies it when it is connected again"},
		},
		Aims: append([]Aim{{zooRecommended, result.FaultAim{Figure: "window", Quantile: 1, Limit: float64(SessionTimeout + time.Second), Text: "session timeout + 1 s"}}},
			notifiedBefore...),
		Try: func(ctx context.Context, t *Try) {
			at := t.At(ctx, t.Subjects[0])
			through, proxies := t.Through(at)
			hold(ctx, t, through, at)
			t.Sleep(ctx, SessionTimeout/2)
			t.random(ctx, SessionTimeout/2)
			began := t.Now()
			t.Fault("the holder is cut off")
			proxies.partition(true)
			t.Each(func(s *Subject) { s.AwaitGrant(ctx, 2*SessionTimeout, began) })
			t.Sleep(ctx, 500*time.Millisecond)
			proxies.partition(false)
			t.Over("the holder is connected again")
			t.Each(func(s *Subject) { s.again(ctx, s.granted(began)) })
			t.settle(ctx, at)
		},
	},
})

// cutServerOff cuts a server with holders off from the others, and waits until the next
// client has had each lock or could have had it.
func cutServerOff(leads bool) func(context.Context, *Try) {
	return func(ctx context.Context, t *Try) {
		var e *Linked
		t.Own(ctx, func(ctx context.Context) (server *backend.Server, err error) {
			if e, err = StartLinked(ctx); err != nil {
				return nil, err
			}
			t.Defer(func() { e.Stop() })
			return e.Server(), nil
		})
		server := must(e.Server().Leader(ctx))
		if !leads {
			server = t.follower(server)
		}
		there := e.Server().Endpoint()
		there.SessionTimeout = sampleSession
		others, addrs := there, there.Addrs[0]
		there.Addrs = [][]string{{addrs[server]}}
		others.Addrs = [][]string{slices.Delete(slices.Clone(addrs), server, server+1)}
		hold(ctx, t, there, others)
		t.Sleep(ctx, sampleSession/4) // every session is older than its lock
		t.random(ctx, sampleSession/4)
		began := t.Now()
		if leads {
			t.Fault("the leader is deposed and does not notice it")
			e.Depose(server)
		} else {
			t.Fault("the follower is cut off from the others")
			e.Isolate(server)
		}
		t.Each(func(s *Subject) {
			if s.AwaitGrant(ctx, cutOffWait, began) {
				t.Sleep(ctx, 500*time.Millisecond)
			}
		})
	}
}

// again makes the holders release, and lock and unlock from then on.
func (s *Subject) again(ctx context.Context, lost bool) {
	for _, w := range s.holders {
		release, cancel := context.WithTimeout(ctx, 2*time.Second)
		err := w.Release(release)
		cancel()
		if err == nil && lost {
			s.Show(oracle.Misled, "the release of a lock that was lost returned no error")
		}
		// The loop begins when the release is over, after up to ten seconds with Curator.
		begin, cancel := context.WithTimeout(ctx, time.Second)
		_ = steps(func() { w.Loop(begin, ordinary) })
		cancel()
	}
}

var (
	zooCreates = []string{"create", "create2", "createContainer", "createTTL"}
	zooDeletes = []string{"delete", "multi"} // a release with a handover is a multi
	zooLists   = []string{"getChildren", "getChildren2"}
	zooReads   = []string{"getData", "exists"}
)

// losesOne makes a contending client of each lock lose one message of a request of ops.
func losesOne(do faultproxy.Action, ops []string) func(context.Context, *Try) {
	return hurtLinks(1, func(ctx context.Context, s *Subject, ps wire) {
		began := now()
		lost := ps[0].Inject(faultproxy.Fault{Do: do, Match: s.asks(ops), Skip: s.Rand.IntN(3)})
		defer lost.Remove()
		select {
		case <-lost.Done():
			s.Fault("%s: %s", ops[0], do)
		case <-time.After(4 * time.Second):
			if s.served(began) { // otherwise it is stuck already, without this
				check(fmt.Errorf("chaos: %s sent no %v in four seconds", s.Variant.Name, ops))
			}
		case <-ctx.Done():
			check(context.Cause(ctx))
		}
	})
}

// zooRequestPrompt is how long a lock may be unreachable after a lost connection:
// go-zookeeper waits a second before it reconnects.
const zooRequestPrompt = SessionTimeout + 2*tick

func (s *Subject) asks(ops []string) func(faultproxy.Message) bool {
	path := s.path()
	return func(m faultproxy.Message) bool {
		return slices.Contains(ops, m.Op) && (m.Key == path || strings.HasPrefix(m.Key, path+"/"))
	}
}

// requestExpected returns the expectations of a lost request; why is about go-zookeeper-lock.
func requestExpected(why string) []Expectation {
	return []Expectation{
		{zooSessions, nil, "lost requests are looked up or repeated on the next connection, and tickets that no client needs are removed"},
		{"zk-persistent", nil, "it is zk-fair with tickets that outlive sessions, and no session ends here"},
		relics,
		{"go-zookeeper-lock", []oracle.Anomaly{oracle.Stuck, oracle.Stall, oracle.LeftBehind}, why},
		{"curator-semaphore-mutex", []oracle.Anomaly{oracle.Stall, oracle.LeftBehind}, "a wait that is given up, as all are at the end, may leave it locked"},
		{"curator-.*", []oracle.Anomaly{oracle.Stall}, "it tries again, and removes tickets in the background until that succeeds"},
	}
}

var zooRequestScenarios = table(Scenario{
	Family: "ZooKeeper message lost", Locks: zooLocks, Deadline: 20 * time.Second, Prompt: zooRequestPrompt, Arrival: zooRequestPrompt, Tries: 200,
	Source: "hazard B6; samuel/go-zookeeper issue 229; ZOOKEEPER-22; CURATOR-678",
	Tests:  []result.Guarantee{result.Recovery},
	Expect: requestExpected("it returns the error and leaves its ticket in the queue while the session lives"),
}, []Scenario{
	{Name: "zk-create-reply-lost", Takes: 12,
		Question: "Is a ticket found again if the reply to its creation is lost?",
		Fault:    "the server creates the ticket of a client, and its answer is lost with the connection",
		Expect:   requestExpected("it searches once for the ticket by its unique name, and leaves it in the queue if that fails"),
		Try:      losesOne(faultproxy.LoseReply, zooCreates),
	},
	{Name: "zk-delete-reply-lost", Takes: 11,
		Question: "Is a release done if its reply is lost?",
		Fault:    "the server removes the ticket of a holder, or hands its lock over, and its answer is lost with the connection",
		Expect:   requestExpected("a failed release is not repeated"),
		Try:      losesOne(faultproxy.LoseReply, zooDeletes),
	},
	{Name: "zk-request-lost", Takes: 28,
		Question: "Does a lock recover when a request never reaches the server?",
		Fault:    "the connection of a client is lost before the server receives a request, of any kind",
		Try:      losesOne(faultproxy.LoseRequest, slices.Concat(zooCreates, zooDeletes, zooLists, zooReads)),
	},
})
