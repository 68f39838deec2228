package chaos

import (
	"context"
	"sync/atomic"
	"time"

	"locklab/harness"
	"locklab/internal/faultproxy"
)

var hazardClientScenarios = table(Scenario{
	Family: "shared ZooKeeper client", Deadline: 90 * time.Second, Prompt: hazardPrompt, Tries: 100, Locks: zooLocks,
}, []Scenario{
	{Name: "two-of-a-client", Takes: 7,
		Question: "Do two goroutines of one client exclude each other, and does each get its turn?",
		Fault:    "none: behind a holder wait two goroutines of one client and then another client, and the holder releases the lock",
		Source:   "hazard B7: Apache zookeeper-recipes-lock, WriteLock.java, which takes the ticket of its session for its own; hazard B9: source article 004",
		Tests:    []harness.Guarantee{harness.Ordered},
		Expect: []Expectation{
			{"zk-writelock-historical", []harness.Harm{harness.Stall, harness.Stuck, harness.Overtaken}, "the second goroutine takes the ticket of the first for its own and has none when that has gone"},
			{"zk-boolean-mutex-historical", []harness.Harm{harness.TwoHolders, harness.Stall, harness.Stuck}, "the owner is the object, not the goroutine: both walk in, and the first to unlock frees the lock"},
			{".*", nil, "goroutines of a client are waiters like others"},
		},
		Try: queues(func(ctx context.Context, q *queue) {
			q.hold(ctx)
			first := q.open(ctx)
			second := first.Join(ctx)
			other := q.open(ctx)
			workers := []*Worker{first, second, other}
			var begun []<-chan error
			for _, w := range workers {
				begun = append(begun, w.Begin(ctx, 0))
				q.t.Sleep(ctx, hazardDelay) // it is surely in line
			}
			check(q.release(ctx))
			if q.allPass(ctx, workers, begun) {
				for _, h := range q.holders[1:] {
					h.Release(ctx)
				}
				q.left(ctx)
			}
		}),
	},
	{Name: "cost-of-waiting", Takes: 8,
		Question: "What does a waiter send while nothing happens?",
		Fault:    "none: a client waits for two seconds for a lock that another holds",
		Source:   "hazard B8: source article 004, otter DistributedLock, whose 60,000 ms are microseconds; source article 000 on polling",
		Expect: []Expectation{
			{"zk-(boolean-mutex|two-level)-historical", []harness.Harm{harness.Storm}, "it asks everything again every 60 ms, each time deeper in its stack and with one more watch"},
			{"zk-poll", []harness.Harm{harness.Storm}, "it lists the queue every 5 ms"},
			{".*", nil, "it waits for the event of a watch"},
		},
		Aims: []Aim{
			{"zk-(handoff|rw|semaphore|multi|cohort)", harness.FaultAim{Figure: "requests while it waits", Quantile: 1, Limit: 3, Text: "what keeps the session's lease alive"}},
		},
		Try: queues(func(ctx context.Context, q *queue) {
			q.hold(ctx)
			a := new(asked)
			w, _ := q.through(ctx, a.observe)
			done := must(q.waits(ctx, w))
			q.t.Sleep(ctx, 2*hazardDelay) // it watches
			before, began := a.requests.Load(), time.Now()
			q.t.Sleep(ctx, 2*time.Second)
			rate := float64(a.requests.Load()-before) / time.Since(began).Seconds()
			q.s.Figure("requests while it waits", "/s", rate)
			if rate > mostWhileWaiting {
				q.s.Show(harness.Storm, "%.0f requests a second while nothing happens", rate)
			}
			check(q.release(ctx))
			q.passes(ctx, w, done)
		}),
	},
	// requests are under test, not time
	{Name: "eight-of-a-client", Takes: 17, Tries: 30, Prompt: hazardPatience,
		Question: "What does a release cost if eight goroutines of one client wait?",
		Fault:    "none: eight goroutines of one client lock and unlock as fast as they can for two seconds",
		Source:   "CURATOR-716, many threads on one InterProcessMutex; source article 001, the herd effect",
		Locks:    "zk-(handoff|fair|curator|herd|cohort|two-level|boolean-mutex)|curator-(mutex|mutex-shared)",
		Expect: []Expectation{
			{"curator-mutex-shared", []harness.Harm{harness.Storm}, "every event wakes all threads that wait at the object, and each lists the queue again"},
			{"zk-herd", []harness.Harm{harness.Storm}, "every waiter watches the list, and lists again at each arrival and each departure"},
			{".*", nil, "a release wakes one waiter"},
		},
		Aims: []Aim{
			{"zk-handoff", harness.FaultAim{Figure: "requests per acquisition", Quantile: 1, Limit: 6, Text: "six requests"}},
			{"zk-cohort", harness.FaultAim{Figure: "requests per acquisition", Quantile: 1, Limit: 2, Text: "two requests"}},
		},
		Try: queues(func(ctx context.Context, q *queue) {
			a := new(asked)
			first, _ := q.through(ctx, a.observe)
			workers := first.group(ctx, 8)
			for _, w := range workers {
				w.Loop(ctx, Loop{Quiet: true, Think: 5 * time.Millisecond})
			}
			q.t.Sleep(ctx, 500*time.Millisecond) // all of them wait
			before, sent := q.s.grants(), a.requests.Load()
			q.t.Sleep(ctx, 1500*time.Millisecond)
			grants := q.s.grants() - before
			if grants == 0 {
				return // that is a stall
			}
			each := float64(a.requests.Load()-sent) / float64(grants)
			q.s.Figure("requests per acquisition", "", each)
			if each > mostPerAcquisition {
				q.s.Show(harness.Storm, "more than %d requests for an acquisition and its release", mostPerAcquisition)
			}
		}),
	},
})

type asked struct{ requests atomic.Int64 }

func (a *asked) observe(m faultproxy.Sighting) {
	if m.Dir == faultproxy.Request && m.Op != "ping" && m.Op != "connect" {
		a.requests.Add(1)
	}
}

// mostWhileWaiting is the limit of requests per second of a waiter that does not storm;
// keeping a session's lease alive takes two.
const mostWhileWaiting = 8

// mostPerAcquisition is the limit of requests for an acquisition and its release among
// eight contenders: the queues need at most five.
const mostPerAcquisition = 7
