package chaos

import (
	"context"
	"sync/atomic"
	"time"

	"locklab/harness"
	"locklab/internal/faultproxy"
)

var hazardClientScenarios = []*Scenario{twoOfAClient, fiftyOfAClient, costOfWaiting, sharedObject, relock}

var twoOfAClient = &Scenario{
	Name:     "two-of-a-client",
	Question: "Do two goroutines of one client exclude each other, and does each get its turn?",
	Fault:    "none: behind a holder wait two goroutines of one client and then another client, and the holder releases the lock",
	Source:   "hazard B7: Apache zookeeper-recipes-lock, WriteLock.java, which takes the ticket of its session for its own; hazard B9: source article 004",
	Tests:    []harness.Guarantee{harness.Ordered},
	Locks:    zooLocks,
	Expect: []Expectation{
		{"zk-writelock-historical", []harness.Harm{harness.Stall, harness.Stuck, harness.Overtaken}, "the second goroutine takes the ticket of the first for its own and has none when that has gone"},
		{"zk-boolean-mutex-historical", []harness.Harm{harness.TwoHolders, harness.Stall, harness.Stuck}, "the owner is the object, not the goroutine: both walk in, and the first to unlock frees the lock"},
		{".*", nil, "goroutines of a client are waiters like others"},
	},
	Deadline: 90 * time.Second,
	Prompt:   hazardPrompt,
	Tries:    100,
	Try: func(ctx context.Context, t *Try) {
		t.queues(ctx, func(q *queue) {
			q.hold(ctx)
			first := q.open(ctx)
			second := first.Join(ctx)
			other := q.open(ctx)
			workers := []*Worker{first, second, other}
			var begun []<-chan error
			for _, w := range workers {
				begun = append(begun, w.Begin(ctx, 0))
				t.Sleep(ctx, hazardDelay) // it is surely in line
			}
			check(q.release(ctx))
			if q.allPass(ctx, workers, begun) {
				for _, h := range q.holders[1:] {
					h.Release(ctx)
				}
				q.left(ctx)
			}
		})
	},
}

var fiftyOfAClient = &Scenario{
	Name:     "fifty-of-a-client",
	Question: "Do fifty goroutines over one session get the lock once each, one at a time?",
	Fault:    "none: fifty goroutines of one client lock at the same time, and each stays for 2 to 4 ms",
	Source:   "source article 004, its test of 50 locks and 50 threads, which asserts nothing (hazard B16)",
	Locks:    "zk-(handoff|fair|curator|two-level|two-level-local-first|cohort|writelock|writelock-historical|boolean-mutex|boolean-mutex-historical|two-level-historical)|curator-(mutex|mutex-shared)",
	Expect: []Expectation{
		{"zk-writelock-historical", []harness.Harm{harness.Stall, harness.Stuck, harness.Overtaken}, "all goroutines of a session take one ticket for theirs (hazard B7)"},
		{"zk-boolean-mutex-historical", []harness.Harm{harness.TwoHolders, harness.Stall, harness.Stuck}, "the owner is the object: all fifty walk in (hazard B9)"},
		{".*", nil, "each has a ticket of its own, or a place in the line of its client"},
	},
	Deadline: 90 * time.Second,
	Prompt:   hazardPrompt,
	Tries:    100,
	Try: func(ctx context.Context, t *Try) {
		t.queues(ctx, func(q *queue) {
			const goroutines = 50
			first := q.open(ctx)
			workers := []*Worker{first}
			for len(workers) < goroutines {
				w := first.Join(ctx)
				workers = append(workers, w)
			}
			began := t.Now()
			done := make(chan bool, goroutines)
			var last, held atomic.Int64 // when the last one left, and how long all held
			for i, w := range workers {
				stay := 2*time.Millisecond + time.Duration(i*37%goroutines)*2*time.Millisecond/goroutines
				t.work.Go(func() {
					err, came := q.ends(ctx, w.Begin(ctx, 0), 2*q.wait())
					if came && err == nil {
						t.Sleep(ctx, stay)
						w.Release(ctx)
						held.Add(int64(stay))
						last.Store(t.Now())
					}
					done <- came && err == nil
				})
			}
			all := true
			for range workers {
				all = <-done && all
			}
			if all {
				q.s.Figure("beyond the holds, per goroutine", "ms", float64(last.Load()-began-held.Load())/goroutines/1e6)
				q.left(ctx)
			}
		})
	},
}

type asked struct{ requests atomic.Int64 }

func (a *asked) observe(m faultproxy.Sighting) {
	if m.Dir == faultproxy.Request && m.Op != "ping" && m.Op != "connect" {
		a.requests.Add(1)
	}
}

// mostWhileWaiting is the limit of requests per second of a waiter that does not storm;
// keeping a session's lease alive takes two.
const mostWhileWaiting = 8

var costOfWaiting = &Scenario{
	Name:     "cost-of-waiting",
	Question: "What does a waiter send while nothing happens?",
	Fault:    "none: a client waits for two seconds for a lock that another holds",
	Source:   "hazard B8: source article 004, otter DistributedLock, whose 60,000 ms are microseconds; source article 000 on polling",
	Locks:    zooLocks,
	Expect: []Expectation{
		{"zk-(boolean-mutex|two-level)-historical", []harness.Harm{harness.Storm}, "it asks everything again every 60 ms, each time deeper in its stack and with one more watch"},
		{"zk-poll", []harness.Harm{harness.Storm}, "it lists the queue every 5 ms"},
		{".*", nil, "it waits for the event of a watch"},
	},
	Deadline: 90 * time.Second,
	Prompt:   hazardPrompt,
	Tries:    100,
	Aims: []Aim{
		{"zk-(handoff|rw|semaphore|multi|cohort)", harness.FaultAim{Figure: "requests while it waits", Quantile: 1, Limit: 3, Text: "what keeps the session's lease alive"}},
	},
	Try: func(ctx context.Context, t *Try) {
		t.queues(ctx, func(q *queue) {
			q.hold(ctx)
			a := new(asked)
			w, _ := q.through(ctx, a.observe)
			done := must(q.waits(ctx, w))
			t.Sleep(ctx, 2*hazardDelay) // it watches
			before, began := a.requests.Load(), time.Now()
			t.Sleep(ctx, 2*time.Second)
			rate := float64(a.requests.Load()-before) / time.Since(began).Seconds()
			q.s.Figure("requests while it waits", "/s", rate)
			if rate > mostWhileWaiting {
				q.s.Show(harness.Storm, "%.0f requests a second while nothing happens", rate)
			}
			check(q.release(ctx))
			q.passes(ctx, w, done)
		})
	},
}

// mostPerAcquisition is the limit of requests for an acquisition and its release among
// eight contenders: the queues need at most five.
const mostPerAcquisition = 7

var sharedObject = &Scenario{
	Name:     "eight-of-a-client",
	Question: "What does a release cost if eight goroutines of one client wait?",
	Fault:    "none: eight goroutines of one client lock and unlock as fast as they can for two seconds",
	Source:   "CURATOR-716, many threads on one InterProcessMutex; source article 001, the herd effect",
	Locks:    "zk-(handoff|fair|curator|herd|cohort|two-level|boolean-mutex)|curator-(mutex|mutex-shared)",
	Expect: []Expectation{
		{"curator-mutex-shared", []harness.Harm{harness.Storm}, "every event wakes all threads that wait at the object, and each lists the queue again"},
		{"zk-herd", []harness.Harm{harness.Storm}, "every waiter watches the list, and lists again at each arrival and each departure"},
		{".*", nil, "a release wakes one waiter"},
	},
	Deadline: 90 * time.Second,
	Prompt:   hazardPatience, // requests are under test, not time
	Tries:    30,
	Aims: []Aim{
		{"zk-handoff", harness.FaultAim{Figure: "requests per acquisition", Quantile: 1, Limit: 6, Text: "six requests"}},
		{"zk-cohort", harness.FaultAim{Figure: "requests per acquisition", Quantile: 1, Limit: 2, Text: "two requests"}},
	},
	Try: func(ctx context.Context, t *Try) {
		t.queues(ctx, func(q *queue) {
			a := new(asked)
			first, _ := q.through(ctx, a.observe)
			workers := []*Worker{first}
			for len(workers) < 8 {
				w := first.Join(ctx)
				workers = append(workers, w)
			}
			for _, w := range workers {
				w.Loop(ctx, Loop{Quiet: true, Think: 5 * time.Millisecond})
			}
			t.Sleep(ctx, 500*time.Millisecond) // all of them wait
			before, sent := q.s.grants(), a.requests.Load()
			t.Sleep(ctx, 1500*time.Millisecond)
			grants := q.s.grants() - before
			if grants == 0 {
				return // that is a stall
			}
			each := float64(a.requests.Load()-sent) / float64(grants)
			q.s.Figure("requests per acquisition", "", each)
			if each > mostPerAcquisition {
				q.s.Show(harness.Storm, "more than %d requests for an acquisition and its release", mostPerAcquisition)
			}
		})
	},
}

var relock = &Scenario{
	Name:     "lock-after-expiry",
	Question: "Does a client whose session has expired take itself for the owner?",
	Fault:    "the holder is cut off until its session has expired and the next client holds the lock; connected again, it locks",
	Source:   "hazard B10: source article 004, whose isOwner remembers; source article 004 on sessions that time out; CURATOR-206",
	Locks:    zooLocks,
	Expect: []Expectation{
		{"zk-persistent", []harness.Harm{harness.Stall, harness.Stuck}, "its ticket outlives the session, and blocks all"},
		{hazardRelics, []harness.Harm{harness.TwoHolders, harness.StaleWrite, harness.Stall, harness.Stuck}, "nothing tells the holder that its session has expired; those that remember their ticket walk in by it"},
		{"go-zookeeper-lock", []harness.Harm{harness.TwoHolders, harness.StaleWrite}, "it hears that its session has expired when it is connected again"},
		{"curator-.*", []harness.Harm{harness.TwoHolders, harness.StaleWrite}, "Curator counts the session from when it loses the connection, and the server from what it heard last: LOST may come late"},
		{".*", nil, "its lease is over before the session is, and what it locks is a new ticket"},
	},
	Deadline: 90 * time.Second,
	Prompt:   2 * SessionTimeout,
	Tries:    100,
	Try: func(ctx context.Context, t *Try) {
		t.shortQueues(ctx, func(q *queue) {
			q.hold(ctx)
			check(q.release(ctx))
			w, p := q.through(ctx, nil)
			next := q.open(ctx)
			check(w.Acquire(ctx, 0))
			done := must(q.waits(ctx, next))
			q.s.Fault("the holder is cut off")
			p.Refuse(true)
			p.Partition(true)
			err, came := q.ends(ctx, done, 2*SessionTimeout+q.wait())
			connects := p.Seen("connect")
			p.Refuse(false)
			p.Partition(false)
			if !came || err != nil {
				return
			}
			q.back(ctx, p, connects)
			again := w.Begin(ctx, 0) // while the next one holds the lock
			err, came = q.ends(ctx, again, time.Second)
			next.Release(ctx)
			if came && err != nil {
				_, err = q.insists(ctx, w)
				q.s.Note("Lock after the session expired: %v", err)
			} else if !came {
				q.passes(ctx, w, again)
			}
		})
	},
}
