package chaos

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"locklab/harness"
	"locklab/harness/oracle"
	"locklab/harness/result"
	"locklab/internal/backend"
	"locklab/internal/faultproxy"
)

var hazardTicketScenarios = table(Scenario{
	Family: "ZooKeeper ticket", Deadline: 90 * time.Second, Prompt: hazardPrompt, Tries: 100, Locks: zooLocks,
}, []Scenario{
	{Name: "negative-session", Takes: 13, Tries: 30,
		Question: "Does a lock work if the numbers of sessions are negative?",
		Fault:    "none: the servers have the numbers 128 to 130 in their ensemble, which makes the numbers of all sessions negative",
		NoFault:  true,
		Source:   "hazard B4: source article 001, which splits the name of a ticket at each '-'; SessionTrackerImpl.initializeNextSessionId of ZooKeeper",
		Expect: []Expectation{
			{"zk-fair-historical", []oracle.Anomaly{oracle.Stall, oracle.Stuck, oracle.Misled}, "its tickets are named by the session, and it reads the wrong part of the name"},
			{".*", nil, "it reads the sequence number at the end of the name"},
		},
		Try: perLock(1, func(ctx context.Context, t *Try, s *Subject, hosts []*Host) {
			at := t.Shared(ctx, "negative sessions", ensembleOf(backend.EnsembleOptions{First: 128})).Endpoint()
			at.SessionTimeout = hazardSession
			q := t.queue(s, hosts[0], at)
			q.until(ctx, "session", func() bool { return q.see.SessionID() != 0 })
			if q.see.SessionID() > 0 {
				check(errors.New("chaos: the number of a session is not negative"))
			}
			for range 2 {
				if had, err := q.insists(ctx, q.open(ctx)); err != nil {
					s.Show(oracle.Misled, "Lock of a free lock failed (it was granted later: %t): %v", had, err)
				}
			}
		}),
	},
	{Name: "kept-error", Takes: 13, Prompt: 2 * hazardPrompt,
		Question: "Does one lost reply spoil every later Lock?",
		Fault:    "the reply to the creation of the ticket is lost with its connection; later this client and another one lock",
		Source:   "hazards B6 and B12: source article 004, whose ticket without an owner blocks all, and whose error is never cleared",
		Expect: []Expectation{
			{"zk-(boolean-mutex|two-level)-historical", []oracle.Anomaly{oracle.Stall, oracle.Stuck, oracle.LeftBehind, oracle.Misled}, "it does not search for the ticket of the lost reply, and keeps the error for ever"},
			{"zk-fair-historical", []oracle.Anomaly{oracle.Stall, oracle.Stuck, oracle.LeftBehind}, "it does not search for the ticket of the lost reply, which stays in the queue while the session lives"},
			{"zk-writelock-historical", []oracle.Anomaly{oracle.Stall, oracle.Stuck, oracle.LeftBehind}, "it finds its ticket by a bare name, and takes the path of the same ticket for one ahead (hazard B7)"},
			{".*", nil, "a client finds its ticket by a unique name, and uses or removes it"},
		},
		Try: queues(func(ctx context.Context, q *queue) {
			w, p := q.through(ctx, nil)
			lost := p.Inject(faultproxy.Fault{Match: makesTicket})
			q.s.Fault("a reply is lost")
			first, came := ends(ctx, w.Begin(ctx, 0), 2*q.wait())
			q.until(ctx, "lost reply", func() bool { return closed(lost.Done()) })
			if came && first == nil {
				w.Release(ctx)
			}
			q.until(ctx, "connection", func() bool { return p.Conns() > 0 })
			q.t.Sleep(ctx, hazardDelay)
			q.locks(ctx, w)
			q.clean(ctx, q.open(ctx))
		}),
	},
	{Name: "failed-try", Takes: 5,
		Question: "Does a TryLock that fails leave something that blocks others?",
		Fault:    "a client tries a lock that another holds; then the holder releases it, and others lock it, also a worker of the client that tried",
		Source:   "hazards B11 and B13: source article 004; twitter commons 99, zk-ruby 49",
		Locks:    hazardTries,
		Expect: []Expectation{
			{"zk-boolean-mutex-historical", []oracle.Anomaly{oracle.Stall, oracle.Stuck, oracle.LeftBehind}, "its ticket stays in the queue and reaches the front without an owner"},
			{"zk-two-level-historical", []oracle.Anomaly{oracle.Stall, oracle.Stuck, oracle.LeftBehind}, "its ticket stays in the queue, and the local lock stays taken"},
			{".*", nil, "it removes its ticket, and releases the local lock"},
		},
		Try: queues(func(ctx context.Context, q *queue) {
			q.hold(ctx)
			tries := q.open(ctx)
			beside := tries.Join(ctx)
			other := q.open(ctx)
			switch err := tries.TryAcquire(ctx, 0); {
			case err == nil:
				q.s.Note("TryLock was granted a lock that was held")
			case !errors.Is(err, harness.ErrNotAcquired):
				check(err)
			}
			check(releaseAll(ctx, q.holders))
			q.s.Fault("TryLock has failed, and the lock is released")
			q.clean(ctx, other)
			q.clean(ctx, beside)
		}),
	},
	{Name: "late-cancel", Takes: 9,
		Question: "Does a Lock that is given up in its last step leave the lock taken?",
		Fault:    "the holder releases the lock, and the waiter gives up before it is notified",
		Source:   "Curator: InterProcessSemaphoreV2, CURATOR-462 and issue 600, an interrupted acquisition leaves a node",
		Expect: []Expectation{
			{"curator-semaphore-mutex", []oracle.Anomaly{oracle.Stall, oracle.Stuck, oracle.LeftBehind}, "a thread that is interrupted while it removes the ticket of the inner mutex forgets its lease node, which lives as long as the session"},
			{".*", nil, "a Lock that is given up removes the nodes that it made"},
		},
		Try: queues(func(ctx context.Context, q *queue) {
			q.hold(ctx)
			w, p, done := q.waiter(ctx)
			p.Delay(faultproxy.Reply, 2*hazardDelay)
			check(releaseAll(ctx, q.holders))
			// The mutex around leases is released when a lease is acquired.
			poll(ctx, hazardPatience, func() bool {
				names, _, err := q.see.Children(q.s.path() + "/locks")
				return err != nil || len(names) == 0
			})
			q.s.Fault("the lock is released, and the waiter gives up")
			p.Delay(faultproxy.Reply, 0) // messages in transit keep their delay
			check(w.Stop(ctx))
			if err, came := ends(ctx, done, q.wait()); came && err == nil {
				w.Release(ctx)
			}
			q.clean(ctx, q.open(ctx))
		}),
	},
	{Name: "lost-release", Takes: 9, Prompt: 2 * hazardPrompt, // it reconnects after a second, and retries later
		Question: "Does a release that never reaches the server leave the lock taken?",
		Fault:    "the request that releases the lock is lost with its connection; the client reconnects, and others lock",
		Source:   "hazard B15: source article 004; CURATOR-678, release during connection loss",
		Expect: []Expectation{
			{hazardRelics, []oracle.Anomaly{oracle.Stall, oracle.Stuck, oracle.LeftBehind}, "it forgets its ticket when the request fails, and the ticket lives as long as the session"},
			{"go-zookeeper-lock", []oracle.Anomaly{oracle.Stall, oracle.Stuck, oracle.LeftBehind}, "Unlock returns the error of the connection, and its ticket lives as long as the session"},
			{".*", nil, "the ticket is removed when the connection is back"},
		},
		Try: queues(func(ctx context.Context, q *queue) {
			q.hold(ctx)
			// The one to cut off is the last.
			q.release(ctx)
			w, p := q.through(ctx, nil)
			beside := w.Join(ctx)
			check(w.Acquire(ctx, 0))
			other := q.open(ctx)
			connects := p.Seen("connect")
			lost := p.Inject(faultproxy.Fault{Do: faultproxy.LoseRequest, Match: faultproxy.Op("delete", "setData", "multi")})
			released := make(chan error, 1)
			q.t.work.Go(func() { released <- w.Release(ctx) })
			q.until(ctx, "lost request", func() bool { return closed(lost.Done()) })
			q.s.Fault("the request of the release is lost")
			q.back(ctx, p, connects)
			if err, came := ends(ctx, released, q.wait()); came && err != nil {
				q.s.Note("Unlock: %v", err)
			}
			releaseAll(ctx, q.holders[1:])
			q.clean(ctx, other, beside)
		}),
	},
})

// clean makes workers have the lock in turn, and shows tickets that none of them has.
func (q *queue) clean(ctx context.Context, workers ...*Worker) {
	begun := result.Each(workers, func(w *Worker) <-chan error { return w.Begin(ctx, 0) })
	if q.allPass(ctx, workers, begun) {
		q.left(ctx)
	} else if names := q.tickets(); len(names) > len(workers) {
		q.s.Show(oracle.LeftBehind, "%q, with at most %d clients in line", names, len(workers))
	}
}

func (q *queue) locks(ctx context.Context, w *Worker) bool {
	had, err := q.insists(ctx, w)
	if !had && err != nil {
		q.s.Show(oracle.Misled, "Lock of a free lock still fails: %v", err)
		return false
	}
	return true
}

// waiter makes a client behind a proxy wait for the lock, and watch what is ahead.
func (q *queue) waiter(ctx context.Context) (*Worker, *faultproxy.Proxy, <-chan error) {
	w, p := q.through(ctx, nil)
	done := q.waits(ctx, w)
	q.t.Sleep(ctx, hazardDelay)
	return w, p, done
}

func (q *queue) allPass(ctx context.Context, workers []*Worker, begun []<-chan error) bool {
	passed := make(chan bool, len(workers))
	for i, w := range workers {
		q.t.work.Go(func() { passed <- q.passes(ctx, w, begun[i]) })
	}
	return count(ctx, q.t.scenario.Deadline, passed, len(workers)) == len(workers)
}

func makesTicket(m faultproxy.Message) bool {
	r, ok := m.Body.(*faultproxy.ZooRequest)
	if !ok {
		return false
	}
	return r.Sequential() || slices.ContainsFunc(r.Ops, func(o faultproxy.ZooRequest) bool {
		return o.Sequential()
	})
}

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

var hazardWatchScenarios = table(Scenario{
	Family: "ZooKeeper watch", Deadline: 90 * time.Second, Prompt: hazardPrompt, Tries: 100, Locks: hazardWatchers,
}, []Scenario{
	{Name: "late-watch", Takes: 7,
		Question: "Does a waiter sleep for ever if the ticket ahead is deleted before it is watched?",
		Fault:    "the holder releases the lock while the waiter's request to watch its ticket is in transit",
		Source:   "hazard B1: source article 001 and Apache zookeeper-recipes-lock, WriteLock.java, which ignore that the ticket is gone",
		Expect: []Expectation{
			{"zk-(fair|writelock)-historical", []oracle.Anomaly{oracle.Stall, oracle.Stuck}, "it asks whether the ticket exists and does not read the answer: nothing wakes it again"},
			{".*", nil, "it lists again if the ticket to watch is gone"},
		},
		Try: queues(func(ctx context.Context, q *queue) {
			w, done := q.releaseBefore(ctx, "the waiter asks to watch the ticket ahead", faultproxy.Request, func(m faultproxy.Sighting) bool {
				return (m.Op == "exists" || m.Op == "getData") && ticketName.MatchString(m.Key)
			})
			q.passes(ctx, w, done)
		}),
	},
	{Name: "late-list", Takes: 6,
		Question: "Does Lock fail if it becomes the first while it reads the list of tickets?",
		Fault:    "the holder releases the lock while the list for the waiter is in transit",
		Source:   "hazard B2: source article 001, which fails if the second list differs from the first",
		Locks:    hazardWatchers + "|zk-(semaphore|herd|poll)",
		Expect: []Expectation{
			{"zk-fair-historical", []oracle.Anomaly{oracle.Misled}, "it lists twice, and fails if it has become the first in between"},
			{"zk-writelock-historical", []oracle.Anomaly{oracle.Stall, oracle.Stuck}, "the list has a ticket ahead, and it does not notice that this ticket is gone"},
			{".*", nil, "it takes any list for outdated, and watches or lists again"},
		},
		Try: queues(func(ctx context.Context, q *queue) {
			w, done := q.releaseBefore(ctx, "the waiter's list is on the way", faultproxy.Reply, func(m faultproxy.Sighting) bool {
				r, ok := m.Body.(*faultproxy.ZooReply)
				return ok && strings.HasPrefix(m.Op, "getChildren") && len(r.Children) > len(q.holders)
			})
			if err, came := ends(ctx, done, q.wait()); came && err != nil {
				q.s.Show(oracle.Misled, "Lock of a lock that was free failed: %v", err)
				q.insists(ctx, w)
			} else if came {
				w.Release(ctx)
			}
		}),
	},
	{Name: "middle-waiter-killed", Takes: 19,
		Question: "Does the waiter behind one that dies take the lock, or miss its turn?",
		Fault:    "the process of the first of two waiters is killed (SIGKILL), and when its ticket is gone, the holder releases the lock",
		Source:   "source article 002, the waiter in the middle; hazard B3: source article 001, which then polls every 3 s in the event thread",
		Tests:    []result.Guarantee{result.Recovery}, Locks: "zk-.*|go-zookeeper-lock|curator-(mutex|mutex-shared|rw)",
		Expect: []Expectation{
			{"zk-persistent", []oracle.Anomaly{oracle.Stall, oracle.Stuck}, "the ticket of the dead waiter stays, and all behind it wait for ever"},
			{"zk-fair-historical", []oracle.Anomaly{oracle.Stall}, "its watch has fired, and it polls every three seconds instead of watching the next ticket ahead"},
			{".*", nil, "it is woken, lists, and watches the next ticket ahead"},
		},
		Try: func(ctx context.Context, t *Try) {
			hosts := t.Hosts(2)
			t.around(hosts[1].Kill, func(s *Subject) func() {
				q := t.queue(s, hosts[0], t.At(ctx, s))
				q.hold(ctx)
				q.waits(ctx, hosts[1].Open(ctx, s, q.at))
				w, had := q.open(ctx), len(q.tickets())
				done := q.waits(ctx, w)
				return func() {
					poll(ctx, 2*SessionTimeout, func() bool { return len(q.tickets()) <= had }) // zk-persistent's ticket stays
					t.Sleep(ctx, hazardDelay)
					q.holders[0].Release(ctx)
					ends(ctx, done, max(hazardPoll, q.wait()))
				}
			})
		},
	},
	{Name: "waiter-reset", Takes: 9, Prompt: DefaultPrompt,
		Question: "Does a waiter take its broken connection for a release of the holder?",
		Fault:    "the connection of the waiter is reset, and the holder releases the lock when the waiter has reconnected",
		Source:   "hazard B5: source articles 001 and 004, whose watchers take every event for a release; hazard B12",
		Expect: []Expectation{
			{"zk-fair-historical", []oracle.Anomaly{oracle.Stall}, "the event ends its watch, and it polls every three seconds from then on"},
			{"zk-(boolean-mutex|two-level)-historical", []oracle.Anomaly{oracle.Stall, oracle.Stuck, oracle.Misled}, "it keeps the error of its watcher for ever, and its ticket stays in the queue"},
			{".*", nil, "watches and tickets outlive the connection"},
		},
		Try: queues(func(ctx context.Context, q *queue) {
			q.hold(ctx)
			w, p, done := q.waiter(ctx)
			connects := p.Seen("connect")
			q.s.Fault("the waiter's connection is reset")
			p.Reset()
			q.back(ctx, p, connects)
			q.release(ctx)
			if err, came := ends(ctx, done, max(hazardPoll, q.wait())); came && err != nil {
				q.locks(ctx, w)
			}
		}),
	},
	{Name: "spent-watch", Takes: 6,
		Question: "Does a waiter miss its turn if another event has used up its one-shot watch?",
		Fault:    "an operator writes to the holder's ticket, which fires the waiter's watch, and later the holder releases the lock",
		Source:   "ZooKeeper Programmer's Guide, watches are one-time triggers; hazard B3: source article 001",
		Expect: []Expectation{
			{"zk-fair-historical", []oracle.Anomaly{oracle.Stall}, "any event ends its watch, and it polls every three seconds from then on"},
			{".*", nil, "it reads the queue and watches again, or others cannot write to its tickets"},
		},
		Try: queues(func(ctx context.Context, q *queue) {
			q.hold(ctx)
			held := q.tickets()
			w := q.open(ctx)
			done := q.waits(ctx, w)
			q.t.Sleep(ctx, hazardDelay) // it watches
			for _, path := range held {
				if _, err := q.see.Set(path, []byte("operator"), -1); err != nil {
					q.s.Note("a ticket could not be written to: %v", err)
				}
			}
			q.s.Fault("the data of the holder's ticket is written")
			q.t.Sleep(ctx, hazardDelay)
			q.release(ctx)
			ends(ctx, done, max(hazardPoll, q.wait()))
		}),
	},
})

// releaseBefore makes a client wait for the lock, and releases the lock while a matching
// message of the client is delayed.
func (q *queue) releaseBefore(ctx context.Context, what string, way faultproxy.Direction, match func(faultproxy.Sighting) bool) (*Worker, <-chan error) {
	q.hold(ctx)
	var seen atomic.Bool
	w, p := q.through(ctx, func(m faultproxy.Sighting) {
		if m.Dir == way && match(m) {
			seen.Store(true)
		}
	})
	p.Delay(way, hazardDelay)
	done := w.Begin(ctx, 0)
	q.until(ctx, "sign that "+what, seen.Load)
	q.s.Fault("%s, and the lock is released", what)
	q.release(ctx)
	p.Delay(way, 0)
	return w, done
}
