package chaos

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/go-zookeeper/zk"

	"locklab/harness"
	"locklab/harness/oracle"
	"locklab/harness/result"
	"locklab/internal/faultproxy"
)

// hazardScenarios test known defects of published ZooKeeper locks. A good lock does not notice
// their faults: a ticket that disappears, a second goroutine, a foreign node.
var hazardScenarios = slices.Concat(hazardWatchScenarios, hazardTicketScenarios, hazardClientScenarios, hazardNestedScenarios)

const (
	// hazardRelics run published code on the plain client library.
	hazardRelics = "zk-(fair|writelock|boolean-mutex|two-level)-historical"

	hazardTries = "zk-(handoff|fair|curator|herd|rw|rw-curator|semaphore|semaphore-v2|multi|two-level|two-level-local-first|cohort|poll|persistent|writelock|boolean-mutex|boolean-mutex-historical|two-level-historical)|curator-.*"

	// hazardWatchers have waiters that watch another client's ticket.
	hazardWatchers = "zk-(handoff|fair|curator|rw|rw-curator|multi|two-level|two-level-local-first|cohort|persistent|writelock|boolean-mutex)|" + hazardRelics + "|go-zookeeper-lock|curator-(mutex|mutex-shared|rw)"
)

const (
	// hazardPrompt is how long a lock may stay free here: nothing has to expire, and
	// a failure lasts longer.
	hazardPrompt = 2 * time.Second

	// hazardWait is the time limit for an event that may never happen, and
	// hazardPatience for one that happens in any case: a busy machine is not stuck.
	hazardWait     = hazardPrompt + hazardPrompt/4
	hazardPatience = 15 * time.Second

	// hazardSession is the timeout of sessions that must not expire: the servers
	// grant up to 20 ticks.
	hazardSession = 8 * time.Second

	// hazardPoll is the time limit for a client that polls every three seconds.
	hazardPoll = 3500 * time.Millisecond

	// hazardDelay is the latency of a slow connection: longer than the events during it.
	hazardDelay = 300 * time.Millisecond
)

// A queue is the clients of one lock in one process, and their nodes on the server.
type queue struct {
	t    *Try
	s    *Subject
	host *Host
	at   harness.Endpoint
	see  *zk.Conn

	holders []*Worker // as many as the lock has permits
}

// queues calls f for every lock concurrently in one process, on servers that all tries
// share. Its sessions are too long to expire.
func queues(f func(ctx context.Context, q *queue)) func(context.Context, *Try) {
	return perLock(1, func(ctx context.Context, t *Try, s *Subject, hosts []*Host) {
		at := t.At(ctx, s)
		at.SessionTimeout = hazardSession
		f(ctx, t.queue(s, hosts[0], at))
	})
}

func (t *Try) queue(s *Subject, host *Host, at harness.Endpoint) *queue {
	q := &queue{t: t, s: s, host: host, at: at}
	if at.Kind == harness.KindZooKeeper {
		q.see = t.ZooKeeper(at.Addrs[0])
	}
	return q
}

func (q *queue) open(ctx context.Context) *Worker { return q.host.Open(ctx, q.s, q.at) }

func (q *queue) hold(ctx context.Context) {
	q.holders = q.host.openEach(ctx, q.s, q.at)
	acquireAll(ctx, q.holders)
}

func (q *queue) through(ctx context.Context, see func(faultproxy.Sighting)) (*Worker, *faultproxy.Proxy) {
	p := q.t.proxy(q.at.Addrs[0][0], faultproxy.ZooKeeper, see)
	at := q.at
	at.Addrs = [][]string{{p.Addr()}}
	return q.host.Open(ctx, q.s, at), p
}

func (q *queue) release(ctx context.Context) { check(q.holders[0].Release(ctx)) }

func (q *queue) waits(ctx context.Context, w *Worker) <-chan error {
	before := len(q.tickets())
	done := w.Begin(ctx, 0)
	q.until(ctx, "ticket", func() bool { return len(q.tickets()) > before || len(done) > 0 })
	return done
}

func (q *queue) wait() time.Duration {
	if len(q.t.scenario.Expected(q.s.Variant.Name).Anomalies) > 0 {
		return hazardWait
	}
	return hazardPatience
}

func (q *queue) until(ctx context.Context, what string, done func() bool) {
	if !poll(ctx, hazardPatience, done) {
		check(fmt.Errorf("chaos: no %s in %v", what, hazardPatience))
	}
}

func ends[T any](ctx context.Context, done <-chan T, wait time.Duration) (v T, came bool) {
	select {
	case v = <-done:
		return v, true
	case <-time.After(wait):
	case <-ctx.Done():
	}
	return v, false
}

func (q *queue) passes(ctx context.Context, w *Worker, done <-chan error) bool {
	if err, came := ends(ctx, done, q.wait()); !came || err != nil {
		return false
	}
	q.t.Sleep(ctx, 20*time.Millisecond)
	w.Release(ctx)
	return true
}

func (q *queue) insists(ctx context.Context, w *Worker) (had bool, err error) {
	for end := time.Now().Add(q.wait()); time.Now().Before(end) && ctx.Err() == nil; {
		again, came := ends(ctx, w.Begin(ctx, 0), time.Until(end))
		switch {
		case came && again == nil:
			q.t.Sleep(ctx, 20*time.Millisecond)
			w.Release(ctx)
			return true, err
		case !came:
			return false, err
		}
		err = again
		q.t.Sleep(ctx, 200*time.Millisecond)
	}
	return false, err
}

func (q *queue) tickets() []string {
	paths, _ := q.s.tickets(q.see)
	return paths
}

// left reports tickets that remain although no client holds or waits.
func (q *queue) left(ctx context.Context) {
	var names []string
	if !poll(ctx, q.wait(), func() bool { names = q.tickets(); return len(names) == 0 }) && len(names) > 0 {
		q.s.Show(oracle.LeftBehind, "%q", names)
	}
}

func (q *queue) back(ctx context.Context, p *faultproxy.Proxy, connects int) {
	q.until(ctx, "new connection", func() bool { return p.Seen("connect") > connects })
	q.t.Sleep(ctx, hazardDelay)
}

func (s *Subject) grants() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.history.grants
}

var hazardClientScenarios = table(Scenario{
	Family: "shared ZooKeeper client", Deadline: 90 * time.Second, Prompt: hazardPrompt, Tries: 100, Locks: zooLocks,
}, []Scenario{
	{Name: "foreign-child", Takes: 11, Family: "ZooKeeper node",
		Question: "Does a foreign node among the tickets block the lock?",
		Fault:    "an operator creates a node 0-foreign among the tickets of the lock",
		Source:   "Curator issue 564, Netflix/curator 29; go-zookeeper v1.0.4, parseSeq",
		Expect: []Expectation{
			{"go-zookeeper-lock|zk-fair-historical", []oracle.Anomaly{oracle.Stall, oracle.Stuck, oracle.LeftBehind, oracle.Misled}, "it cannot read a number from the name, and every Lock fails"},
			{"curator-.*", []oracle.Anomaly{oracle.Stall, oracle.Stuck}, "it takes every node for a ticket, and this one sorts first or counts as a lease"},
			{".*", nil, "it looks only at the names of its tickets"},
		},
		Try: queues(func(ctx context.Context, q *queue) {
			w := q.open(ctx)
			other := q.open(ctx)
			check(w.Acquire(ctx, 0))
			dirs := slices.DeleteFunc(must(below(q.see, q.s.path())), ticketName.MatchString)
			check(w.Release(ctx))
			for _, dir := range dirs {
				// It disappears with the session at the end of the try.
				must(q.see.Create(dir+"/0-foreign", nil, zk.FlagEphemeral, zk.WorldACL(zk.PermAll)))
			}
			q.s.Fault("a foreign node is made")
			for _, w := range []*Worker{w, other} {
				if q.locks(ctx, w) {
					continue
				}
				if n := len(q.tickets()); n > 0 {
					q.s.Show(oracle.LeftBehind, "%d tickets of calls that have failed", n)
				}
			}
		}),
	},
	{Name: "two-of-a-client", Takes: 7,
		Question: "Do two goroutines of one client exclude each other, and does each get its turn?",
		Fault:    "none: two goroutines of one client and then another client wait for a holder, which releases the lock",
		NoFault:  true,
		Source:   "hazard B7: Apache zookeeper-recipes-lock, WriteLock.java, which takes the ticket of its session for its own; hazard B9: source article 004",
		Tests:    []result.Guarantee{result.Ordered},
		Expect: []Expectation{
			{"zk-writelock-historical", []oracle.Anomaly{oracle.Stall, oracle.Stuck, oracle.Overtaken}, "the second goroutine takes the ticket of the first for its own and has no ticket when that is gone"},
			{"zk-boolean-mutex-historical", []oracle.Anomaly{oracle.TwoHolders, oracle.Stall, oracle.Stuck}, "the owner is the object, not the goroutine: both enter, and the first to unlock frees the lock"},
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
			q.release(ctx)
			if q.allPass(ctx, workers, begun) {
				releaseAll(ctx, q.holders[1:])
				q.left(ctx)
			}
		}),
	},
	{Name: "cost-of-waiting", Takes: 8,
		Question: "What does a waiter send while nothing happens?",
		Fault:    "none: a client waits for two seconds for a lock that another holds",
		NoFault:  true,
		Source:   "hazard B8: source article 004, otter DistributedLock, whose 60,000 ms are microseconds; source article 000 on polling",
		Expect: []Expectation{
			{"zk-(boolean-mutex|two-level)-historical", []oracle.Anomaly{oracle.Storm}, "it repeats all requests every 60 ms, each time deeper in its stack and with one more watch"},
			{"zk-poll", []oracle.Anomaly{oracle.Storm}, "it lists the queue every 5 ms"},
			{".*", nil, "it waits for the event of a watch"},
		},
		Aims: []Aim{{zooRecommended, result.FaultAim{Figure: "requests while it waits", Quantile: 1, Limit: 3, Text: "requests that keep the session's lease alive"}}},
		Try: queues(func(ctx context.Context, q *queue) {
			q.hold(ctx)
			w, requests := q.counted(ctx)
			done := q.waits(ctx, w)
			q.t.Sleep(ctx, 2*hazardDelay) // it watches
			before, began := requests(), time.Now()
			q.t.Sleep(ctx, 2*time.Second)
			rate := float64(requests()-before) / time.Since(began).Seconds()
			q.s.Figure("requests while it waits", "/s", rate)
			if rate > mostWhileWaiting {
				q.s.Show(oracle.Storm, "%.0f requests a second while nothing happens", rate)
			}
			q.release(ctx)
			q.passes(ctx, w, done)
		}),
	},
	{Name: "eight-of-a-client", Takes: 17, Tries: 30, Prompt: hazardPatience, // requests are under test, not time
		Question: "What does a release cost if eight goroutines of one client wait?",
		Fault:    "none: eight goroutines of one client lock and unlock as fast as they can for two seconds",
		NoFault:  true,
		Source:   "CURATOR-716, many threads on one InterProcessMutex; source article 001, the herd effect",
		Locks:    "zk-(handoff|fair|curator|herd|cohort|two-level|boolean-mutex)|curator-(mutex|mutex-shared)",
		Expect: []Expectation{
			{"curator-mutex-shared", []oracle.Anomaly{oracle.Storm}, "every event wakes all threads that wait at the object, and each lists the queue again"},
			{"zk-herd", []oracle.Anomaly{oracle.Storm}, "every waiter watches the list, and lists again at each arrival and each departure"},
			{".*", nil, "a release wakes one waiter"},
		},
		Aims: []Aim{
			{"zk-handoff", result.FaultAim{Figure: "requests per acquisition", Quantile: 1, Limit: 6, Text: "six requests"}},
			{"zk-cohort", result.FaultAim{Figure: "requests per acquisition", Quantile: 1, Limit: 2, Text: "two requests"}},
		},
		Try: queues(func(ctx context.Context, q *queue) {
			first, requests := q.counted(ctx)
			for _, w := range first.group(ctx, 8) {
				w.Loop(ctx, Loop{Quiet: true, Think: 5 * time.Millisecond})
			}
			q.t.Sleep(ctx, 500*time.Millisecond) // all of them wait
			before, sent := q.s.grants(), requests()
			q.t.Sleep(ctx, 1500*time.Millisecond)
			grants := q.s.grants() - before
			if grants == 0 {
				return // that is a stall
			}
			each := float64(requests()-sent) / float64(grants)
			q.s.Figure("requests per acquisition", "", each)
			if each > mostPerAcquisition {
				q.s.Show(oracle.Storm, "more than %d requests for an acquisition and its release", mostPerAcquisition)
			}
		}),
	},
	{Name: "lock-after-expiry", Takes: 27, Prompt: 2 * SessionTimeout,
		Question: "Does a client whose session has expired take itself for the owner?",
		Fault:    "the holder is cut off until its session has expired and the next client holds the lock; then it reconnects and locks",
		Source:   "hazard B10: source article 004, whose isOwner remembers; source article 004 on sessions that time out; CURATOR-206",
		Expect: []Expectation{
			{"zk-persistent", []oracle.Anomaly{oracle.Stall, oracle.Stuck}, "its ticket outlives the session, and blocks all"},
			{hazardRelics, []oracle.Anomaly{oracle.TwoHolders, oracle.StaleWrite, oracle.Stall, oracle.Stuck}, "the holder gets no notice that its session has expired; a lock that remembers its ticket enters with it"},
			{"go-zookeeper-lock", []oracle.Anomaly{oracle.TwoHolders, oracle.StaleWrite}, "it notices the end of its session only after it has reconnected"},
			{"curator-.*", []oracle.Anomaly{oracle.TwoHolders, oracle.StaleWrite}, "Curator counts the session from the loss of the connection, and the server from the last packet: LOST may come late"},
			{".*", nil, "its lease ends before the session, and it locks with a new ticket"},
		},
		Try: perLock(1, func(ctx context.Context, t *Try, s *Subject, hosts []*Host) {
			q := t.queue(s, hosts[0], t.At(ctx, s))
			q.hold(ctx)
			q.release(ctx)
			w, p := q.through(ctx, nil)
			next := q.open(ctx)
			check(w.Acquire(ctx, 0))
			done := q.waits(ctx, next)
			q.s.Fault("the holder is cut off")
			p.Refuse(true)
			p.Partition(true)
			err, came := ends(ctx, done, 2*SessionTimeout+q.wait())
			connects := p.Seen("connect")
			p.Refuse(false)
			p.Partition(false)
			if !came || err != nil {
				return
			}
			q.back(ctx, p, connects)
			again := w.Begin(ctx, 0) // while the next one holds the lock
			err, came = ends(ctx, again, time.Second)
			next.Release(ctx)
			if came && err != nil {
				_, err = q.insists(ctx, w)
				q.s.Note("Lock after the session expired: %v", err)
			} else if !came {
				q.passes(ctx, w, again)
			}
		}),
	},
})

func (q *queue) counted(ctx context.Context) (*Worker, func() int64) {
	var n atomic.Int64
	w, _ := q.through(ctx, func(m faultproxy.Sighting) {
		if m.Dir == faultproxy.Request && m.Op != "ping" && m.Op != "connect" {
			n.Add(1)
		}
	})
	return w, n.Load
}

// mostWhileWaiting is the limit of requests per second of a waiter that does not storm;
// keeping a session's lease alive takes two.
const mostWhileWaiting = 8

// mostPerAcquisition is the limit of requests for an acquisition and its release among
// eight contenders: the queues need at most five.
const mostPerAcquisition = 7
