package chaos

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"

	"locklab/harness/oracle"
	"locklab/harness/result"
	"locklab/internal/backend"
)

const zooQueues = "zk-(handoff|fair|curator|herd|rw|rw-curator|two-level|two-level-local-first|cohort|poll|writelock|boolean-mutex|persistent|fair-historical|writelock-historical|boolean-mutex-historical)|go-zookeeper-lock|curator-(mutex|mutex-shared|rw)"

var outdated = Expectation{zooHistorical, relics.Anomalies, "it does not look whether its ticket is there, and loses wake-ups without any fault"}

var zooOperatorScenarios = table(Scenario{
	Family: "ZooKeeper operator", Locks: zooLocks, Deadline: 30 * time.Second, Prompt: zooRequestPrompt, Arrival: 2 * zooRequestPrompt, Tries: 200,
	Tests: []result.Guarantee{result.Fencing},
}, []Scenario{
	{Name: "zk-holder-ticket-deleted", Takes: 11,
		Question: "Is a holder told when an operator deletes its ticket?",
		Fault:    "the ticket of the holder is deleted by another client, a second and a half after it was made",
		Source:   "docs of zkCli delete; Netflix/curator issue 9",
		Locks:    zooQueues,
		Expect: []Expectation{
			{zooSessions, []oracle.Anomaly{oracle.TwoHolders}, "the holder and the next client are told by the same event, and either may be faster; the token refuses a late write"},
			outdated,
			{".*", []oracle.Anomaly{oracle.TwoHolders, oracle.StaleWrite}, "it does not watch its own ticket"},
		},
		Try: deleteTicket(0),
	},
	{Name: "zk-waiter-ticket-deleted", Takes: 21,
		Question: "Does a waiter get the lock whose ticket an operator has deleted, and alone?",
		Fault:    "the ticket of the waiter is deleted by another client, a second and a half after it was made",
		Source:   "go-zookeeper/zk lock.go, which compares its own number with the listed ones",
		Locks:    zooQueues,
		Expect: []Expectation{
			{"zk-(fair|curator|rw-curator|writelock|boolean-mutex)", []oracle.Anomaly{oracle.Overtaken}, "it finds that its ticket is gone when the one ahead goes, and queues again"},
			{zooSessions, nil, "it is told that its ticket is gone, and queues again"},
			outdated,
			{"go-zookeeper-lock", []oracle.Anomaly{oracle.TwoHolders, oracle.StaleWrite, oracle.Overtaken}, "it takes itself for the first if it lists no lower number, whether it finds its own or not"},
			{"curator-.*", []oracle.Anomaly{oracle.Stall, oracle.Overtaken}, "it finds that its ticket is gone when the one ahead goes, and tries again"},
		},
		Try: deleteTicket(1),
	},
	{Name: "zk-path-deleted", Takes: 23,
		Question: "Does a lock survive that an operator deletes its node with all tickets?",
		Fault:    "all tickets of each lock and the node above them are deleted by another client, while clients hold and wait",
		Source:   "Netflix/curator issue 29; docs of zkCli deleteall",
		Expect: []Expectation{
			{zooSessions, []oracle.Anomaly{oracle.TwoHolders}, "a holder of milliseconds does not watch its ticket yet; tokens rise all the same"},
			outdated,
			{".*", []oracle.Anomaly{oracle.TwoHolders, oracle.StaleWrite, oracle.Stall, oracle.Stuck, oracle.Overtaken, oracle.LeftBehind}, "a holder does not watch its ticket, and a waiter does not look whether it is there"},
		},
		Try: func(ctx context.Context, t *Try) {
			at := must(t.At(ctx, t.Subjects[0].Variant))
			conn := t.ZooKeeper(at.Addrs[0])
			c := contend(ctx, t, at, nil)
			t.random(ctx, tick)
			began := t.Now()
			t.Each(func(s *Subject) {
				s.Fault("an operator deletes the lock")
				deleteAll(conn, s.path())
			})
			c.afterOperator(ctx, began)
		},
	},
	{Name: "zk-numbers-end", Takes: 30,
		Question: "Does a lock exclude when the numbers of tickets end?",
		Fault:    "none: the first snapshot of the server counts all tickets of each lock but a few of the 2^31, which is 15 days at 1,700 acquisitions a second",
		Source:   "ZOOKEEPER-3249; DataTree.createNode of ZooKeeper 3.8",
		Expect: []Expectation{
			{zooSessions + "|zk-persistent", nil, "it refuses numbers near the end, and makes its node again while there is no ticket"},
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
			server := must(t.Own(ctx, func(ctx context.Context) (*backend.Server, error) {
				return backend.StartEnsembleOf(ctx, backend.EnsembleOptions{Servers: 1, Counters: counters})
			}))
			at := Short(server.Endpoint())
			t.Fault("the last numbers are given out")
			c := contend(ctx, t, at, nil)
			t.Sleep(ctx, time.Second)
			c.finish(ctx, t.Now(), zooRequestPrompt)
		},
	},
})

// deleteTicket deletes ticket i of the queue of a holder and a waiter.
func deleteTicket(i int) func(context.Context, *Try) {
	return func(ctx context.Context, t *Try) {
		at := must(t.At(ctx, t.Subjects[0].Variant))
		conn := t.ZooKeeper(at.Addrs[0])
		c, of := hold(ctx, t, at, at)
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
		t.Each(func(s *Subject) { of[s].again(ctx, false) })
		c.afterOperator(ctx, began)
	}
}

func (c *contenders) afterOperator(ctx context.Context, began int64) {
	c.t.Over("the operator has gone")
	c.finish(ctx, began, zooRequestPrompt+500*time.Millisecond)
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

// queueNodes returns the relative paths of the queues of a lock, nil if its path is the
// only queue.
func (s *Subject) queueNodes() []string {
	switch name := s.Variant.Name; {
	case name == "zk-multi":
		return []string{"/a", "/b"}
	case name == "zk-semaphore-v2" || strings.HasPrefix(name, "curator-semaphore"):
		return []string{"/locks", "/leases"}
	}
	return nil
}
