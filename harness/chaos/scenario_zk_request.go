package chaos

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"locklab/harness"
	"locklab/internal/faultproxy"
)

var zooRequestScenarios = []*Scenario{createReplyLost, deleteReplyLost, listReplyLost, readReplyLost, requestLost}

var (
	zooCreates = []string{"create", "create2", "createContainer", "createTTL"}
	zooDeletes = []string{"delete", "multi"} // a release with a handover is a multi
	zooLists   = []string{"getChildren", "getChildren2"}
	zooReads   = []string{"getData", "exists"}
)

func losesRequest(ctx context.Context, t *Try, do faultproxy.Action, ops []string) {
	at := must(t.At(ctx, t.Subjects[0].Variant))
	proxies := make(map[*Subject]*faultproxy.Proxy)
	for _, s := range t.Subjects {
		_, ps := must2(t.Through(at))
		proxies[s] = ps[0]
	}
	c := contend(ctx, t, 3, func(s *Subject, i int) (harness.Endpoint, error) {
		through := at
		if i == 0 {
			through.Addrs = [][]string{{proxies[s].Addr()}}
		}
		return through, nil
	})
	skip := t.Rand.IntN(3)
	began := t.Now()
	t.Each(func(s *Subject) {
		lost := proxies[s].Inject(faultproxy.Fault{Do: do, Match: s.asks(ops), Skip: skip})
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
	c.served(ctx, t.Now(), zooRequestPrompt+500*time.Millisecond)
	c.settle(ctx, at)
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

func requestExpected(stock ...Expectation) []Expectation {
	return slices.Concat([]Expectation{
		{zooSessions, nil, "what may have been done is looked up or done again on the next connection, and tickets that no client needs are removed"},
		{"zk-persistent", nil, "it is zk-fair with tickets that outlive sessions, and none ends here"},
		{zooHistorical, []harness.Harm{harness.Stuck, harness.Stall, harness.LeftBehind, harness.TwoHolders, harness.Overtaken, harness.StaleWrite, harness.TokenFell}, "it takes a lost connection for news of its predecessor, forgets tickets, and loses wake-ups without any fault"},
	}, stock, []Expectation{
		{"curator-semaphore-mutex", []harness.Harm{harness.Stall, harness.LeftBehind}, "a wait that is given up, as all are at the end, may leave it locked"},
		{"curator-.*", []harness.Harm{harness.Stall}, "it tries again, and removes tickets in the background until that succeeds"},
	})
}

func requestScenario(name, question, fault string, do faultproxy.Action, ops []string, expect []Expectation) *Scenario {
	return &Scenario{
		Name: name, Question: question, Fault: fault,
		Source:   "hazard B6; samuel/go-zookeeper issue 229; ZOOKEEPER-22; CURATOR-678",
		Tests:    []harness.Guarantee{harness.Recovery},
		Locks:    zooLocks,
		Expect:   expect,
		Deadline: 20 * time.Second,
		Prompt:   zooRequestPrompt,
		Arrival:  zooRequestPrompt,
		Tries:    200,
		Try:      func(ctx context.Context, t *Try) { losesRequest(ctx, t, do, ops) },
	}
}

var ghost = Expectation{"go-zookeeper-lock", []harness.Harm{harness.Stuck, harness.Stall, harness.LeftBehind}, "it returns the error and leaves its ticket in the queue, for as long as the session lives"}

var createReplyLost = requestScenario("zk-create-reply-lost",
	"Is a ticket found again whose maker never heard that it was made?",
	"the server makes the ticket of a client, and its answer is lost with the connection",
	faultproxy.LoseReply, zooCreates, requestExpected(Expectation{"go-zookeeper-lock", []harness.Harm{harness.Stuck, harness.Stall, harness.LeftBehind},
		"it looks for the ticket by the name in it, once, and leaves it in the queue if that fails"}))

var deleteReplyLost = requestScenario("zk-delete-reply-lost",
	"Is a release done whose client never heard of it?",
	"the server removes the ticket of a holder, or hands its lock over, and its answer is lost with the connection",
	faultproxy.LoseReply, zooDeletes, requestExpected(Expectation{"go-zookeeper-lock", []harness.Harm{harness.Stall, harness.LeftBehind, harness.Stuck},
		"a release that fails is not tried again"}))

var listReplyLost = requestScenario("zk-list-reply-lost",
	"Is a ticket removed whose client could not list the queue?",
	"the server lists the queue for a client, and its answer is lost with the connection",
	faultproxy.LoseReply, zooLists, requestExpected(ghost))

var readReplyLost = func() *Scenario {
	s := requestScenario("zk-read-reply-lost",
		"Is a ticket removed whose client could not watch the one ahead?",
		"the server reads the ticket ahead for a client and sets a watch, and its answer is lost with the connection; zk-herd, zk-poll and zk-fair-historical watch another way",
		faultproxy.LoseReply, zooReads, requestExpected(ghost))
	s.Locks = "zk-(handoff|fair|curator|rw|rw-curator|semaphore|semaphore-v2|multi|two-level|two-level-local-first|cohort|persistent|writelock|boolean-mutex|writelock-historical|boolean-mutex-historical)|go-zookeeper-lock|curator-.*"
	return s
}()

var requestLost = requestScenario("zk-request-lost",
	"Does a lock recover when the server never hears of a request?",
	"the connection of a client is lost before the server hears a request, of any kind",
	faultproxy.LoseRequest, slices.Concat(zooCreates, zooDeletes, zooLists, zooReads), requestExpected(ghost))
