package chaos

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"

	"locklab/harness"
	"locklab/harness/oracle"
	"locklab/internal/faultproxy"
)

// hazardScenarios test known defects of published ZooKeeper locks. A good lock does not notice
// their faults: a ticket that disappears, a second goroutine, a foreign node.
var hazardScenarios = slices.Concat(hazardWatchScenarios, hazardTicketScenarios, hazardNodeScenarios, hazardClientScenarios, hazardNestedScenarios)

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
	return func(ctx context.Context, t *Try) {
		of := t.queuesAt(func(v *harness.Variant) harness.Endpoint {
			at := must(t.At(ctx, v))
			at.SessionTimeout = hazardSession
			return at
		})
		t.Each(func(s *Subject) { f(ctx, of(s)) })
	}
}

// queuesAt starts a process, and returns a function that returns the queue of a lock.
func (t *Try) queuesAt(at func(*harness.Variant) harness.Endpoint) func(s *Subject) *queue {
	host := t.Host()
	see := sync.OnceValue(func() *zk.Conn {
		i := slices.IndexFunc(t.Subjects, func(s *Subject) bool { return s.Variant.Traits.Needs == harness.KindZooKeeper })
		return t.ZooKeeper(at(t.Subjects[i].Variant).Addrs[0])
	})
	return func(s *Subject) *queue {
		q := &queue{t: t, s: s, host: host, at: at(s.Variant)}
		if q.at.Kind == harness.KindZooKeeper {
			q.see = see()
		}
		return q
	}
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

func (q *queue) ends(ctx context.Context, done <-chan error, wait time.Duration) (err error, came bool) {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case err := <-done:
		return err, true
	case <-timer.C:
		return nil, false
	case <-ctx.Done():
		return nil, false
	}
}

// passes waits until w, which began with done, has the lock and releases it after a
// moment. It reports whether w had it.
func (q *queue) passes(ctx context.Context, w *Worker, done <-chan error) bool {
	if err, came := q.ends(ctx, done, q.wait()); !came || err != nil {
		return false
	}
	q.t.Sleep(ctx, 20*time.Millisecond)
	w.Release(ctx)
	return true
}

func (q *queue) insists(ctx context.Context, w *Worker) (had bool, err error) {
	for end := time.Now().Add(q.wait()); time.Now().Before(end) && ctx.Err() == nil; {
		again, came := q.ends(ctx, w.Begin(ctx, 0), time.Until(end))
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

// nodes returns the paths of all nodes of the lock, parents first.
func (q *queue) nodes() []string {
	paths, _ := below(q.see, q.s.path())
	return paths
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

// back waits until the client behind p has reconnected, and has had time to act on that.
func (q *queue) back(ctx context.Context, p *faultproxy.Proxy, connects int) {
	q.until(ctx, "new connection", func() bool { return p.Seen("connect") > connects })
	q.t.Sleep(ctx, hazardDelay)
}

func (s *Subject) grants() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.history.grants
}
