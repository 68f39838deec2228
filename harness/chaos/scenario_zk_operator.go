package chaos

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-zookeeper/zk"

	"locklab/harness"
)

var zooOperatorScenarios = []*Scenario{zooHolderDeleted, zooWaiterDeleted, zooPathDeleted, zooForeignNode, zooNumbersEnd}

func operate(ctx context.Context, t *Try, what string, do func(s *Subject, c *zk.Conn)) {
	at := must(t.At(ctx, t.Subjects[0].Variant))
	conn := t.ZooKeeper(at.Addrs[0])
	c := contend(ctx, t, 3, everywhere(at))
	t.Sleep(ctx, time.Duration(t.Rand.Int64N(int64(tick))))
	began := t.Now()
	t.Each(func(s *Subject) {
		s.Fault("%s", what)
		do(s, conn)
	})
	t.Over("the operator has gone")
	c.served(ctx, began, zooRequestPrompt+500*time.Millisecond)
	c.settle(ctx, at)
}

func operateOnQueue(ctx context.Context, t *Try, i int) {
	at := must(t.At(ctx, t.Subjects[0].Variant))
	conn := t.ZooKeeper(at.Addrs[0])
	c, locks := hold(ctx, t, at, at)
	// An operator who lists the queue first is slower.
	t.Sleep(ctx, 1500*time.Millisecond+time.Duration(t.Rand.Int64N(int64(tick))))
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
	again(ctx, t, locks, func(*Subject) bool { return false })
	t.Over("the operator has gone")
	c.served(ctx, began, zooRequestPrompt+500*time.Millisecond)
	c.settle(ctx, at)
}

const zooQueues = "zk-(handoff|fair|curator|herd|rw|rw-curator|two-level|two-level-local-first|cohort|poll|writelock|boolean-mutex|persistent|fair-historical|writelock-historical|boolean-mutex-historical)|go-zookeeper-lock|curator-(mutex|mutex-shared|rw)"

func operatorScenario(name, question, fault, source string, try func(ctx context.Context, t *Try), expect ...Expectation) *Scenario {
	return &Scenario{
		Name: name, Question: question, Fault: fault, Source: source,
		Tests:    []harness.Guarantee{harness.Fencing},
		Locks:    zooLocks,
		Expect:   expect,
		Deadline: 30 * time.Second,
		Prompt:   zooRequestPrompt,
		Arrival:  2 * zooRequestPrompt,
		Tries:    200,
		Try:      try,
	}
}

var outdated = Expectation{zooHistorical, []harness.Harm{harness.Stuck, harness.Stall, harness.LeftBehind, harness.TwoHolders, harness.Overtaken, harness.StaleWrite, harness.TokenFell},
	"it does not look whether its ticket is there, and loses wake-ups without any fault"}

var zooHolderDeleted = func() *Scenario {
	s := operatorScenario("zk-holder-ticket-deleted",
		"Is a holder told when an operator deletes its ticket?",
		"the ticket of the holder is deleted by another client, a second and a half after it was made",
		"docs of zkCli delete; Netflix/curator issue 9",
		func(ctx context.Context, t *Try) { operateOnQueue(ctx, t, 0) },
		Expectation{zooSessions, []harness.Harm{harness.TwoHolders}, "the holder and the next client are told by the same event, and either may be faster; the token refuses a late write"},
		outdated,
		Expectation{".*", []harness.Harm{harness.TwoHolders, harness.StaleWrite}, "it does not watch its own ticket"})
	s.Locks = zooQueues
	return s
}()

var zooWaiterDeleted = func() *Scenario {
	s := operatorScenario("zk-waiter-ticket-deleted",
		"Does a waiter get the lock whose ticket an operator has deleted, and alone?",
		"the ticket of the waiter is deleted by another client, a second and a half after it was made",
		"go-zookeeper/zk lock.go, which compares its own number with those that it lists",
		func(ctx context.Context, t *Try) { operateOnQueue(ctx, t, 1) },
		Expectation{"zk-(fair|curator|rw-curator|writelock|boolean-mutex)", []harness.Harm{harness.Overtaken}, "it finds that its ticket is gone when the one ahead goes, and queues again"},
		Expectation{zooSessions, nil, "it is told that its ticket is gone, and queues again"},
		outdated,
		Expectation{"go-zookeeper-lock", []harness.Harm{harness.TwoHolders, harness.StaleWrite, harness.Overtaken}, "it takes itself for the first if it lists no lower number, whether it finds its own or not"},
		Expectation{"curator-.*", []harness.Harm{harness.Stall, harness.Overtaken}, "it finds that its ticket is gone when the one ahead goes, and tries again"})
	s.Locks = zooQueues
	return s
}()

var zooPathDeleted = operatorScenario("zk-path-deleted",
	"Does a lock survive that an operator deletes its node with all tickets?",
	"all tickets of each lock and the node above them are deleted by another client, while clients hold and wait",
	"Netflix/curator issue 29; docs of zkCli deleteall",
	func(ctx context.Context, t *Try) {
		operate(ctx, t, "an operator deletes the lock", func(s *Subject, c *zk.Conn) { s.deleteAll(c, s.path()) })
	},
	Expectation{zooSessions, []harness.Harm{harness.TwoHolders}, "a holder of milliseconds does not watch its ticket yet; tokens rise all the same"},
	outdated,
	Expectation{".*", []harness.Harm{harness.TwoHolders, harness.StaleWrite, harness.Stall, harness.Stuck, harness.Overtaken, harness.LeftBehind}, "a holder does not watch its ticket, and a waiter does not look whether it is there"})

func (s *Subject) deleteAll(c *zk.Conn, path string) {
	for range 20 {
		names, _, err := c.Children(path)
		if errors.Is(err, zk.ErrNoNode) {
			return
		} else if err != nil {
			check(fmt.Errorf("chaos: %w", err))
		}
		for _, name := range names {
			s.deleteAll(c, path+"/"+name)
		}
		if err = c.Delete(path, -1); err == nil || errors.Is(err, zk.ErrNoNode) {
			return
		} else if !errors.Is(err, zk.ErrNotEmpty) {
			check(fmt.Errorf("chaos: %w", err))
		}
	}
	// all initial tickets are gone
}

var zooForeignNode = operatorScenario("zk-foreign-node",
	"Does a lock get on when there is a node of another program below it?",
	"another client makes a node below that of each lock, called 0-foreign",
	"apache/curator issue 564; Netflix/curator issue 307",
	func(ctx context.Context, t *Try) {
		operate(ctx, t, "a foreign node appears", func(s *Subject, c *zk.Conn) {
			_, err := c.Create(s.path()+"/0-foreign", nil, 0, zk.WorldACL(zk.PermAll))
			if errors.Is(err, zk.ErrNoNode) {
				return // between two tickets
			}
			check(err)
		})
	},
	Expectation{zooSessions, nil, "it counts tickets by their names, and leaves other nodes alone"},
	outdated,
	Expectation{"go-zookeeper-lock", []harness.Harm{harness.Stuck, harness.Stall, harness.LeftBehind}, "it fails at a name without a number, and leaves its ticket behind"},
	Expectation{"curator-.*", []harness.Harm{harness.Stuck, harness.Stall}, "it sorts all names, and waits for the foreign node to go"})
