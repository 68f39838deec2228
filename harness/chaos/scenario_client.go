package chaos

import (
	"context"
	"errors"
	"slices"
	"time"

	"locklab/harness"
	"locklab/harness/oracle"
	"locklab/harness/result"
)

var clientScenarios = table(Scenario{
	Family: "holder", Locks: remoteLocks, Deadline: 20 * time.Second, Tries: 200,
}, []Scenario{
	{Name: "holder-pause", Takes: 23, Short: true, Prompt: 2 * SessionTimeout, // the holder has the lock until then
		Question: "May a holder that was paused for longer than its lease still write?",
		Fault:    "the process of the holder is stopped (SIGSTOP) until the next client has held the lock; then the holder writes before it checks its lease",
		Source:   "Kleppmann 2016, How to do distributed locking; Burrows 2006, The Chubby lock service, 2.4",
		Tests:    []result.Guarantee{result.Fencing},
		Expect: []Expectation{
			{"redis-token", []oracle.Anomaly{oracle.Stall}, "it has no lease: the next client waits until the holder continues"},
			{"zk-persistent", []oracle.Anomaly{oracle.Stall}, "its ticket outlives the session: the next client waits until the holder continues"},
			{zooSessions + "|" + redisFenced, []oracle.Anomaly{oracle.TwoHolders}, "no lease can notify a process that does not run; the token lets the resource refuse its write"},
			{".*", []oracle.Anomaly{oracle.TwoHolders, oracle.StaleWrite}, "no lease can notify a process that does not run, and there is no token to refuse its write"},
		},
		Try: func(ctx context.Context, t *Try) {
			hosts := t.pairs(ctx, t.shared(ctx), t.shared(ctx))
			t.random(ctx, TTL/2)
			hosts[0].Pause()
			began := t.Now()
			t.Each(func(s *Subject) {
				s.AwaitGrant(ctx, outlived(s.Variant), began)
			})
			t.Sleep(ctx, 5*ordinary.Hold)
			hosts[0].Resume()
			t.Each(func(s *Subject) {
				for _, w := range s.holders {
					check(w.Write(ctx))
				}
				releaseWithin(ctx, TTL/2, s.holders) // fails if the lock is lost, after ten seconds with Curator
				t.Sleep(ctx, 5*ordinary.Hold)
			})
		},
	},
	{Name: "holder-crash", Takes: 20, Short: true, Prompt: TTL / 4,
		Question: "How long is a lock taken after its holder has crashed?",
		Fault:    "the process of the holder is killed (SIGKILL)",
		Source:   "Hunt et al. 2010, ZooKeeper, 2.4; the lease of Gray & Cheriton 1989",
		Tests:    []result.Guarantee{result.Recovery},
		Expect: []Expectation{
			{"redis-token|zk-persistent|redis-redisson12", []oracle.Anomaly{oracle.Stall, oracle.Stuck}, "it has no lease and no session, so nothing ends the hold of a dead holder"},
			{".*", []oracle.Anomaly{oracle.Stall}, "the lease or the session of the dead holder has to run out"},
		},
		Aims: []Aim{
			{redisRecommended, result.FaultAim{Figure: "window", Quantile: 1, Limit: float64(TTL + TTL/10), Text: "lease + 10 %"}},
			{zooRecommended, result.FaultAim{Figure: "window", Quantile: 1, Limit: float64(SessionTimeout + 2*tick), Text: "session timeout + 2 ticks"}},
		},
		Try: func(ctx context.Context, t *Try) {
			hosts := t.pairs(ctx, t.shared(ctx), t.shared(ctx))
			t.random(ctx, TTL/2)
			hosts[0].Kill()
			began := t.Now()
			t.Each(func(s *Subject) {
				s.AwaitGrant(ctx, 2*outlived(s.Variant), began)
			})
		},
	},
})

// pairs makes workers of the first process hold each lock, while a worker of the second
// process waits for it and then loops.
func (t *Try) pairs(ctx context.Context, holders, next func(*Subject) harness.Endpoint) []*Host {
	hosts := t.Hosts(2)
	t.Each(func(s *Subject) {
		s.holders, s.next = hosts[0].openEach(ctx, s, holders(s)), hosts[1].Open(ctx, s, next(s))
		s.all = append(slices.Clone(s.holders), s.next)
	})
	t.Each(func(s *Subject) { s.begin(ctx) })
	return hosts
}

func (h *Host) openEach(ctx context.Context, s *Subject, at harness.Endpoint) (ws []*Worker) {
	for range max(1, s.Variant.Traits.Permits) {
		ws = append(ws, h.Open(ctx, s, at))
	}
	return ws
}

func (t *Try) shared(ctx context.Context) func(*Subject) harness.Endpoint {
	return func(s *Subject) harness.Endpoint { return t.At(ctx, s) }
}

// first fails soon: the other locks of the try must not wait for it.
func (w *Worker) first(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, firstGrant, errNotGranted)
	defer cancel()
	return w.Acquire(ctx, 0)
}

// firstGrant is long enough for a Java virtual machine that has just started.
const firstGrant = 10 * time.Second

var errNotGranted = errors.New("chaos: the lock, which is free, is not granted")

func (s *Subject) begin(ctx context.Context) {
	for _, w := range s.holders {
		check(w.first(ctx))
	}
	check(s.holders[0].Write(ctx))
	s.next.Loop(ctx, ordinary)
}

func (w *Worker) serve(ctx context.Context, most time.Duration, after int64) {
	w.Loop(ctx, ordinary)
	w.Lock.AwaitGrant(ctx, most, after)
	sleep(ctx, 5*ordinary.Hold)
}

var ordinary = Loop{Hold: 20 * time.Millisecond, Think: 20 * time.Millisecond, Random: true}

// outlived is the time after which the lease or session of a dead client has surely ended.
func outlived(lock *harness.Variant) time.Duration {
	if lock.Traits.Needs == harness.KindZooKeeper {
		return 2 * SessionTimeout
	}
	return 2 * TTL
}

const tick = 500 * time.Millisecond

var readerScenarios = []*Scenario{
	{Family: "readers", Name: "readers-together", Takes: 8, Tries: 200, Deadline: 20 * time.Second, Prompt: 2 * TTL,
		Question: "Do the readers of a client that wait behind a writer enter together when it leaves?",
		Fault:    "none: three readers of one client wait for a writer of another, which releases the lock; each reader stays until all are inside, for a second at most",
		NoFault:  true,
		Source:   "Redisson issues 1542 and 1458: readers that waited behind a writer took turns; release notes of Redisson 3.8.2",
		Locks:    "redis-(rw|rw-redisson)|zk-(rw|rw-curator)|curator-rw",
		Expect: []Expectation{
			{"redis-rw-redisson", []oracle.Anomaly{oracle.Stall}, "a message wakes one waiter of a client, and the next waiter wakes when that reader leaves"},
			{"redis-rw", nil, "a release admits all adjacent readers of the queue"},
			{".*", nil, "readers wait for the ticket of the writer, and not for each other"},
		},
		Aims: []Aim{{"redis-rw|zk-rw", result.FaultAim{Figure: "readers inside together", Quantile: 0, Least: true, Limit: readers, Text: "all"}}},
		Try: perLock(2, func(ctx context.Context, t *Try, s *Subject, hosts []*Host) {
			at := t.At(ctx, s)
			if at.Kind == harness.KindRedis {
				at.Lease = 4 * TTL // after that a waiter asks again on its own
			}
			writer := hosts[0].Open(ctx, s, at)
			rs := hosts[1].Open(ctx, s, at).group(ctx, readers)
			check(writer.Acquire(ctx, 0))
			in, left, leave := make(chan bool, len(rs)), make(chan bool, len(rs)), make(chan struct{})
			for _, r := range rs {
				t.work.Go(func() {
					defer func() { left <- true }()
					if r.AcquireShared(ctx) == nil {
						in <- true
						select {
						case <-leave:
						case <-ctx.Done():
						}
						r.Release(ctx)
					}
				})
			}
			t.Sleep(ctx, 400*time.Millisecond) // so that they surely wait
			began := now()
			check(writer.Release(ctx))
			n := count(ctx, TTL, in, len(rs))
			s.Figure("readers inside together", "", float64(n))
			if n < len(rs) {
				s.ShowTimed(oracle.Stall, began, now(), TTL/2, "%d of %d readers were in %v after the writer had left", n, len(rs), TTL)
			}
			close(leave)
			count(ctx, 5*TTL, left, len(rs))
		}),
	},
}

const readers = 3
