package chaos

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"locklab/harness/oracle"
	"locklab/harness/result"
	"locklab/internal/faultproxy"
)

var (
	zooCreates = []string{"create", "create2", "createContainer", "createTTL"}
	zooDeletes = []string{"delete", "multi"} // a release with a handover is a multi
	zooLists   = []string{"getChildren", "getChildren2"}
	zooReads   = []string{"getData", "exists"}
)

// losesOne makes a contending client of each lock lose one message of a request of ops.
func losesOne(do faultproxy.Action, ops []string) func(context.Context, *Try) {
	return func(ctx context.Context, t *Try) {
		at := must(t.At(ctx, t.Subjects[0].Variant))
		of, connect := t.link(at, 1)
		c := contend(ctx, t, at, connect)
		skip := t.Rand.IntN(3)
		began := t.Now()
		t.Each(func(s *Subject) {
			lost := of[s][0].Inject(faultproxy.Fault{Do: do, Match: s.asks(ops), Skip: skip})
			defer lost.Remove()
			select {
			case <-lost.Done():
				s.Fault("%s: %s", ops[0], do)
				return
			case <-time.After(4 * time.Second):
				if !s.served(c.workers[s], began) {
					return // it is stuck already, without this
				}
				check(fmt.Errorf("chaos: %s sent no %v in four seconds", s.Variant.Name, ops))
			case <-ctx.Done():
				check(context.Cause(ctx))
			}
		})
		c.finish(ctx, t.Now(), zooRequestPrompt+500*time.Millisecond)
	}
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
		{zooSessions, nil, "what may have been done is looked up or done again on the next connection, and tickets that no client needs are removed"},
		{"zk-persistent", nil, "it is zk-fair with tickets that outlive sessions, and none ends here"},
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
	Expect: requestExpected("it returns the error and leaves its ticket in the queue, for as long as the session lives"),
}, []Scenario{
	{Name: "zk-create-reply-lost", Takes: 12,
		Question: "Is a ticket found again whose maker never heard that it was made?",
		Fault:    "the server makes the ticket of a client, and its answer is lost with the connection",
		Expect:   requestExpected("it looks for the ticket by the name in it, once, and leaves it in the queue if that fails"),
		Try:      losesOne(faultproxy.LoseReply, zooCreates),
	},
	{Name: "zk-delete-reply-lost", Takes: 11,
		Question: "Is a release done whose client never heard of it?",
		Fault:    "the server removes the ticket of a holder, or hands its lock over, and its answer is lost with the connection",
		Expect:   requestExpected("a release that fails is not tried again"),
		Try:      losesOne(faultproxy.LoseReply, zooDeletes),
	},
	{Name: "zk-request-lost", Takes: 28,
		Question: "Does a lock recover when the server never hears of a request?",
		Fault:    "the connection of a client is lost before the server hears a request, of any kind",
		Try:      losesOne(faultproxy.LoseRequest, slices.Concat(zooCreates, zooDeletes, zooLists, zooReads)),
	},
})
