package chaos

import (
	"context"
	"strings"
	"sync/atomic"
	"time"

	"locklab/harness"
	"locklab/harness/oracle"
	"locklab/harness/result"
	"locklab/internal/faultproxy"
)

var hazardWatchScenarios = table(Scenario{
	Family: "ZooKeeper watch", Deadline: 90 * time.Second, Prompt: hazardPrompt, Tries: 100, Locks: hazardWatchers,
}, []Scenario{
	{Name: "late-watch", Takes: 7,
		Question: "Does a waiter sleep for ever if the ticket ahead goes before it is watched?",
		Fault:    "the holder releases the lock while the waiter's request to watch its ticket is on the way",
		Source:   "hazard B1: source article 001 and Apache zookeeper-recipes-lock, WriteLock.java, which ignore that the ticket is gone",
		Expect: []Expectation{
			{"zk-(fair|writelock)-historical", []oracle.Anomaly{oracle.Stall, oracle.Stuck}, "it asks whether the ticket exists and does not read the answer: nothing wakes it again"},
			{".*", nil, "it lists again if the ticket that it was to watch is gone"},
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
		Fault:    "the holder releases the lock while the list that the waiter has asked for is on the way",
		Source:   "hazard B2: source article 001, which fails if the second list does not say what the first did",
		Locks:    hazardWatchers + "|zk-(semaphore|herd|poll)",
		Expect: []Expectation{
			{"zk-fair-historical", []oracle.Anomaly{oracle.Misled}, "it lists twice and takes it for an error that it has become the first meanwhile"},
			{"zk-writelock-historical", []oracle.Anomaly{oracle.Stall, oracle.Stuck}, "by the list a ticket is ahead, and it does not see that there is none to watch"},
			{".*", nil, "a list is an old one by the time it is read, and it watches or lists again"},
		},
		Try: queues(func(ctx context.Context, q *queue) {
			w, done := q.releaseBefore(ctx, "the waiter's list is on the way", faultproxy.Reply, func(m faultproxy.Sighting) bool {
				r, ok := m.Body.(*faultproxy.ZooReply)
				return ok && strings.HasPrefix(m.Op, "getChildren") && len(r.Children) > len(q.holders)
			})
			if err, came := q.ends(ctx, done, q.wait()); came && err != nil {
				q.s.Show(oracle.Misled, "Lock of a lock that was free failed: %v", err)
				q.insists(ctx, w)
			} else if came {
				w.Release(ctx)
			}
		}),
	},
	{Name: "middle-waiter-killed", Takes: 19,
		Question: "Does the waiter behind one that dies take the lock, or miss its turn?",
		Fault:    "of two waiters the first one's process is killed (SIGKILL), and when its ticket has gone the holder releases the lock",
		Source:   "source article 002, the waiter in the middle; hazard B3: source article 001, which then polls every 3 s in the event thread",
		Tests:    []result.Guarantee{result.Recovery}, Locks: "zk-.*|go-zookeeper-lock|curator-(mutex|mutex-shared|rw)",
		Expect: []Expectation{
			{"zk-persistent", []oracle.Anomaly{oracle.Stall, oracle.Stuck}, "the ticket of the dead waiter stays, and all behind it wait for ever"},
			{"zk-fair-historical", []oracle.Anomaly{oracle.Stall}, "its watch has fired, and it polls every three seconds instead of watching the next ticket ahead"},
			{".*", nil, "it is woken, lists, and watches the next ticket ahead"},
		},
		Try: func(ctx context.Context, t *Try) {
			dies := t.Host()
			of := t.queuesAt(func(v *harness.Variant) harness.Endpoint { return must(t.At(ctx, v)) })
			type last struct {
				*queue
				done <-chan error
				had  int // tickets except the middle one's
			}
			lasts := gather(t, func(s *Subject) last {
				q := of(s)
				q.hold(ctx)
				q.waits(ctx, dies.Open(ctx, s, q.at))
				w, had := q.open(ctx), len(q.tickets())
				return last{q, q.waits(ctx, w), had}
			})
			dies.Kill()
			t.Each(func(s *Subject) {
				l := lasts[s]
				wait, cancel := context.WithTimeout(ctx, 2*SessionTimeout)
				defer cancel()
				t.Until(wait, "the ticket to go", func() bool { return len(l.tickets()) <= l.had }) // zk-persistent's ticket stays
				t.Sleep(ctx, hazardDelay)
				l.holders[0].Release(ctx)
				l.ends(ctx, l.done, max(hazardPoll, l.wait()))
			})
		},
	},
	{Name: "waiter-reset", Takes: 9, Prompt: DefaultPrompt,
		Question: "Does a waiter whose connection breaks take that for the end of the holder?",
		Fault:    "the connection of the waiter is reset, and the holder releases the lock when the waiter is connected again",
		Source:   "hazard B5: source articles 001 and 004, whose watchers take every event for a release; hazard B12",
		Expect: []Expectation{
			{"zk-fair-historical", []oracle.Anomaly{oracle.Stall}, "the event ends its watch, and it polls every three seconds from then on"},
			{"zk-(boolean-mutex|two-level)-historical", []oracle.Anomaly{oracle.Stall, oracle.Stuck, oracle.Misled}, "the watcher's error is kept for good, and its ticket stays in line"},
			{".*", nil, "watches outlive connections, and a ticket its client's session"},
		},
		Try: queues(func(ctx context.Context, q *queue) {
			q.hold(ctx)
			w, p, done := q.waiter(ctx)
			connects := p.Seen("connect")
			q.s.Fault("the waiter's connection is reset")
			p.Reset()
			q.back(ctx, p, connects)
			q.release(ctx)
			if err, came := q.ends(ctx, done, max(hazardPoll, q.wait())); came && err != nil {
				q.locks(ctx, w)
			}
		}),
	},
	{Name: "spent-watch", Takes: 6,
		Question: "Does a waiter miss its turn if its one-shot watch was spent on something else?",
		Fault:    "an operator writes to the holder's ticket, which fires the waiter's watch, and later the holder releases the lock",
		Source:   "ZooKeeper Programmer's Guide, watches are one-time triggers; hazard B3: source article 001",
		Expect: []Expectation{
			{"zk-fair-historical", []oracle.Anomaly{oracle.Stall}, "any event ends its watch, and it polls every three seconds from then on"},
			{".*", nil, "it looks at the queue and watches again, or its tickets cannot be written to by others"},
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
			q.ends(ctx, done, max(hazardPoll, q.wait()))
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
