package chaos

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"locklab/harness"
	"locklab/harness/oracle"
	"locklab/harness/result"
	"locklab/internal/faultproxy"
)

var connScenarios = table(Scenario{
	Family: "Redis message lost or late", Locks: redisLocks, Deadline: 20 * time.Second, Tries: 200,
}, []Scenario{
	{Name: "acquire-reply-lost", Takes: 8, Short: true, Prompt: TTL / 2,
		Question: "Does a lost reply to an acquire leave the lock taken without a holder?",
		Fault:    "the server executes the first request of a TryLock, and then of a Lock, and its reply is lost with the connection (RST); another client asks for the lock afterwards",
		Source:   "go-redis retries three times by default, and SET NX then meets its own key",
		Expect: []Expectation{
			{"redis-token", []oracle.Anomaly{oracle.Stall, oracle.Stuck, oracle.Misled}, "the popped element is lost with the reply, and nothing brings it back"},
			{"redis-redisson12", []oracle.Anomaly{oracle.Stall, oracle.Stuck, oracle.Misled}, "the key has no time to live before the second request, which is not sent"},
			{"redis-setnx", []oracle.Anomaly{oracle.Stall, oracle.Misled}, "the client library repeats SET NX, which meets its own key and reports a taken lock"},
			{"rueidislock.*", []oracle.Anomaly{oracle.Stall, oracle.Misled}, "the client library repeats the script, which meets its own key and reports a taken lock"},
			{"bsm-redislock-.*", []oracle.Anomaly{oracle.Stall, oracle.Misled}, "it returns the error and does not undo the request: the key stays for its time to live"},
			{".*", nil, "the request is repeated or undone"},
		},
		Aims: []Aim{{redisRecommended, result.FaultAim{Figure: "orphans", Quantile: 1, Limit: 0, Text: "none"}}},
		Try:  loseReplies,
	},
	{Name: "release-reply-lost", Takes: 4, Prompt: 2 * TTL,
		Question: "Is the lock free, and no other client's lock freed, when the reply to a release is lost?",
		Fault:    "the server executes the last request of a release, and its reply is lost with the connection (RST), while other clients wait",
		Source:   "Redisson 4.7.0 writes the outcome of each release into a key for this case",
		Tests:    []result.Guarantee{result.Fencing},
		Expect: []Expectation{
			{"redis-token", []oracle.Anomaly{oracle.TwoHolders, oracle.StaleWrite, oracle.Overtaken}, "the element is pushed twice if the client repeats the request"},
			{"redis-redisson12", []oracle.Anomaly{oracle.Stall, oracle.Stuck}, "a waiter that asks for the time left just as the lock is freed takes the answer for a key without expiry (B21)"},
			{".*", nil, "a second release changes nothing"},
		},
		Try: perLock(2, func(ctx context.Context, t *Try, s *Subject, hosts []*Host) {
			w, wire := t.wired(ctx, hosts[0], s)
			for range 3 {
				t.plain(ctx, hosts[1], s).Loop(ctx, ordinary)
			}
			for range 5 {
				if w.Acquire(ctx, 2*TTL) != nil {
					return // the history has the reason
				}
				// A client may still listen for its turn, by BLPOP, when it has the lock.
				remove, hit := wire.inject(faultproxy.Fault{Match: about(s, "get", "pttl", "blpop")})
				s.Fault("reply to the release lost")
				if !errors.Is(w.Release(ctx), harness.ErrNotHeld) {
					hit()
				}
				remove()
			}
			t.Sleep(ctx, TTL/2)
		}),
	},
})

const (
	redisLocks = "redis-.*|redsync.*|bsm-redislock-.*|rueidislock.*"

	// redisKinds has one lock of each kind: locks that differ only in their pauses
	// would overload the machine when time matters.
	redisKinds = "redis-(queue|reentrant|redisson12|fair-redisson|poll-5ms|pubsub|unsafe|setnx|rw|semaphore|multi|redlock|cohort|token)|redsync-1ms|bsm-redislock-1ms|rueidislock.*"

	redisRecommended = "redis-(queue|reentrant|rw|semaphore|multi|cohort)"
)

func about(s *Subject, but ...string) func(faultproxy.Message) bool {
	return func(m faultproxy.Message) bool {
		words, _ := m.Body.([]string)
		return !slices.Contains(but, m.Op) && slices.ContainsFunc(words, func(w string) bool { return strings.Contains(w, s.Key) })
	}
}

// A wire is the proxies between a client and its servers.
type wire []*faultproxy.Proxy

func (t *Try) wired(ctx context.Context, h *Host, s *Subject) (*Worker, wire) {
	at, proxies := t.Through(t.At(ctx, s))
	return h.Open(ctx, s, at), proxies
}

func (t *Try) plain(ctx context.Context, h *Host, s *Subject) *Worker {
	return h.Open(ctx, s, t.At(ctx, s))
}

func (t *Try) holders(ctx context.Context, h *Host, s *Subject) []*Worker {
	return h.openEach(ctx, s, t.At(ctx, s))
}

func (w wire) each(f func(p *faultproxy.Proxy)) {
	for _, p := range w {
		f(p)
	}
}

func (w wire) partition(on bool) {
	w.each(func(p *faultproxy.Proxy) { p.Partition(on) })
}

// inject adds a fault to each server's proxy. remove removes the faults that have not hit
// yet. hit waits until one has, and fails if none does.
func (w wire) inject(f faultproxy.Fault) (remove, hit func()) {
	faults := result.Each(w, func(p *faultproxy.Proxy) *faultproxy.Injection { return p.Inject(f) })
	remove = func() {
		for _, i := range faults {
			i.Remove()
		}
	}
	hit = func() {
		end := time.After(TTL / 2) // a client may react before the hit is recorded
		if !slices.ContainsFunc(faults, func(i *faultproxy.Injection) bool {
			select {
			case <-i.Done():
				return true
			case <-end:
				return false
			}
		}) {
			check(errNoHit)
		}
	}
	return remove, hit
}

var errNoHit = errors.New("chaos: the request that was to be hit was not sent")

// warm makes the servers load the scripts.
func warm(ctx context.Context, ws ...*Worker) {
	for _, w := range ws {
		check(w.Acquire(ctx, 0))
		check(w.Release(ctx))
	}
}

// loseReplies loses one reply of an attempt: once of TryLock, once of Lock. The client
// releases any grant. Then another client asks.
var loseReplies = perLock(2, func(ctx context.Context, t *Try, s *Subject, hosts []*Host) {
	w, wire := t.wired(ctx, hosts[0], s)
	others := t.holders(ctx, hosts[1], s)
	warm(ctx, append(others, w)...)
	orphans := 0
	for i, acquire := range []func(context.Context, time.Duration) error{w.TryAcquire, w.Acquire} {
		remove, hit := wire.inject(faultproxy.Fault{Do: faultproxy.LoseReply, Match: about(s)})
		s.Fault("%v", faultproxy.LoseReply)
		err := acquire(ctx, TTL/2)
		remove()
		switch {
		case err == nil:
			w.Release(ctx)
		case i == 0:
			hit()
		}
		if !allGet(ctx, others) {
			orphans++
		}
	}
	s.Figure("orphans", "", float64(orphans))
})

func acquireAll(ctx context.Context, ws []*Worker) {
	for _, w := range ws {
		check(w.Acquire(ctx, 0))
	}
}

func releaseWithin(ctx context.Context, most time.Duration, ws []*Worker) {
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	releaseAll(ctx, ws)
}

// releaseAll returns errors that the histories have, too.
func releaseAll(ctx context.Context, ws []*Worker) (err error) {
	for _, w := range ws {
		err = errors.Join(err, w.Release(ctx))
	}
	return err
}

// allGet reports whether all clients could acquire a lock, as many together as it permits.
func allGet(ctx context.Context, ws []*Worker) bool {
	began := time.Now()
	got := 0
	for _, w := range ws {
		if w.Acquire(ctx, 3*TTL) == nil {
			got++
		}
	}
	free := got == len(ws) && time.Since(began) < TTL/2
	releaseAll(ctx, ws[:got])
	return free
}

var waiterScenarios = table(Scenario{
	Family: "waiter", Deadline: 40 * time.Second,
}, []Scenario{
	{Name: "wakeup-lost", Takes: 13, Tries: 200, Prompt: 2 * TTL, // the lease is four times as long
		Question: "Does a waiter soon get a free lock if the message of its release was lost?",
		Fault:    "the connections of the only waiter break, it cannot connect for 50 ms, and the holder releases meanwhile",
		Source:   "Redisson issues 3891, 4216, 5046, 5219: missed unlock messages; Redis documentation, Pub/Sub: at most once",
		Locks:    redisKinds + "|redis-rw-redisson",
		Expect: []Expectation{
			{"redis-redisson12", []oracle.Anomaly{oracle.Stall, oracle.Stuck}, "a lost message is not requested again: the waiter sleeps until the time in its reply, or for ever (B21)"},
			{"redis-(fair|rw)-redisson", []oracle.Anomaly{oracle.Stall, oracle.Stuck}, "a waiter asks again when the lease in its reply is over"},
			{"redis-token|rueidislock.*|bsm-redislock-.*", []oracle.Anomaly{oracle.Stall, oracle.Stuck, oracle.TwoHolders}, "the attempt fails with its connection, or the grant in its reply is lost"},
			{".*", nil, "after its subscription or pop breaks, a waiter asks again"},
		},
		Aims: []Aim{{redisRecommended, result.FaultAim{Figure: "lost wake-ups", Quantile: 1, Limit: 0, Text: "none"}}},
		Try: perLock(2, func(ctx context.Context, t *Try, s *Subject, hosts []*Host) {
			at := t.At(ctx, s)
			at.Lease = 4 * TTL // the cost of a lost wake-up
			holders := hosts[0].openEach(ctx, s, at)
			through, proxies := t.Through(at)
			w := hosts[1].Open(ctx, s, through)
			warm(ctx, append(holders, w)...)
			lost := 0
			for range 3 {
				if t.loseWakeup(ctx, s, holders, w, proxies) > 2*TTL {
					lost++
				}
			}
			s.Figure("lost wake-ups", "", float64(lost))
		}),
	},
	{Name: "waiter-crash", Takes: 8, Tries: 100, Prompt: TTL / 2,
		Question: "Does the queue continue, in order, when a waiter in its middle has died?",
		Fault:    "the process of the second of three waiters is killed (SIGKILL), and the holder releases",
		Source:   "the history of the well: any member may leave the queue; Redisson issues 1104, 2278, 3730",
		Tests:    []result.Guarantee{result.Ordered, result.Recovery}, Locks: queueLocks,
		Expect: queueExpect,
		Aims:   []Aim{{redisRecommended, result.FaultAim{Figure: "window", Quantile: 1, Limit: float64(TTL + TTL/10), Text: "lease + 10 %"}}},
		Try: func(ctx context.Context, t *Try) {
			hosts := t.Hosts(4)
			t.around(hosts[2].Kill, func(s *Subject) func() {
				served := t.line(ctx, hosts, s)
				return func() {
					releaseAll(ctx, s.holders)
					served(outlived(s.Variant) + 2*TTL)
				}
			})
		},
	},
	{Name: "many-waiters", Takes: 14, Alone: true, Tries: 3, Deadline: 90 * time.Second, Prompt: 5 * time.Second,
		Question: "Are a thousand waiters served, all of them and in order?",
		Fault:    "a thousand workers of four clients, in four processes, wait for a held lock, which is then released",
		Source:   "row 23 of the usual list of failures of locks: herds, and an order that holds only for a few waiters",
		Tests:    []result.Guarantee{result.Ordered}, Locks: "redis-(queue|rw|semaphore|multi|cohort|reentrant|fair-redisson|poll-100ms)|zk-(handoff|curator|herd|rw|semaphore|cohort)|go-zookeeper-lock",
		Expect: []Expectation{
			{"go-zookeeper-lock", []oracle.Anomaly{oracle.Stall, oracle.Stuck, oracle.Overtaken}, "each worker lists the whole queue, and a request for a place in it waits behind all the lists of its client"},
			{".*", []oracle.Anomaly{oracle.Stall, oracle.Stuck}, "a thousand waiters take long on a busy machine"},
		},
		Aims: []Aim{{redisRecommended + "|zk-(handoff|rw|semaphore|cohort)", result.FaultAim{Figure: "served", Quantile: 0, Least: true, Limit: manyWaiters, Text: "all"}}},
		Try:  perLock(4, many),
	},
})

// loseWakeup makes the holders release while the waiter is unreachable. It returns the
// time from the end of that until the waiter has the lock.
func (t *Try) loseWakeup(ctx context.Context, s *Subject, holders []*Worker, w *Worker, wire wire) time.Duration {
	for _, h := range holders {
		if h.Acquire(ctx, 5*TTL) != nil {
			return 0 // the history has the reason
		}
	}
	waits := w.Begin(ctx, 5*TTL)
	t.Sleep(ctx, TTL/10)
	s.Fault("connections of the waiter broken")
	wire.each(func(p *faultproxy.Proxy) { p.Refuse(true); p.Reset() })
	releaseAll(ctx, holders)
	t.Sleep(ctx, 50*time.Millisecond)
	wire.each(func(p *faultproxy.Proxy) { p.Refuse(false) })
	s.Over("connections of the waiter broken")
	began := time.Now()
	if <-waits == nil {
		w.Release(ctx)
	}
	return time.Since(began)
}

const queueLocks = redisKinds + "|zk-(handoff|fair|curator|herd|rw|multi|cohort|persistent)|go-zookeeper-lock"

var queueExpect = []Expectation{
	{"redis-token", []oracle.Anomaly{oracle.Stall, oracle.Stuck, oracle.Overtaken}, "it has no lease, and a waiter joins the end of the line again every five seconds"},
	{"zk-persistent|redis-redisson12", []oracle.Anomaly{oracle.Stall, oracle.Stuck}, "nothing removes the traces of a dead client: no session, or a key without a time to live"},
	{"redis-fair-redisson", []oracle.Anomaly{oracle.Stall, oracle.Stuck}, "a dead waiter keeps its place for five minutes"},
	{"redis-.*|redsync.*|bsm-.*|rueidislock.*", []oracle.Anomaly{oracle.Stall}, "a lease, or the grant to a dead waiter, has to run out"},
	{".*", []oracle.Anomaly{oracle.Stall}, "the ticket of the dead waiter goes with its session"},
}

// line makes clients of the first process hold a lock, and one of each other process wait
// for it in order. served lets each waiter have the lock, and waits for that.
func (t *Try) line(ctx context.Context, hosts []*Host, s *Subject) (served func(most time.Duration)) {
	s.holders = t.holders(ctx, hosts[0], s)
	s.all = result.Each(hosts[1:], func(h *Host) *Worker { return t.plain(ctx, h, s) })
	acquireAll(ctx, s.holders)
	var granted []<-chan error
	for _, w := range s.all {
		granted = append(granted, w.Begin(ctx, 0))
		t.Sleep(ctx, oracle.DefaultArrival+50*time.Millisecond)
	}
	return func(most time.Duration) {
		done := make(chan bool, len(granted))
		for i, w := range s.all {
			w.pass(ctx, granted[i], done)
		}
		count(ctx, most, done, len(granted))
	}
}

func (w *Worker) pass(ctx context.Context, granted <-chan error, done chan<- bool) {
	w.Host.t.work.Go(func() {
		err := <-granted
		if err == nil {
			w.Release(ctx)
		}
		done <- err == nil
	})
}

func count(ctx context.Context, most time.Duration, done <-chan bool, n int) (got int) {
	for end := time.Now().Add(most); n > 0; n-- {
		if ok, _ := ends(ctx, done, time.Until(end)); ok {
			got++
		}
	}
	return got
}

const manyWaiters = 1000

func many(ctx context.Context, t *Try, s *Subject, hosts []*Host) {
	holders := t.holders(ctx, hosts[0], s)
	acquireAll(ctx, holders)
	served := make(chan bool, manyWaiters)
	for _, h := range hosts {
		workers := t.plain(ctx, h, s).group(ctx, manyWaiters/len(hosts))
		for _, w := range workers { // at once: the order within a group is unknown
			w.pass(ctx, w.Begin(ctx, 0), served)
		}
		t.Sleep(ctx, 3*oracle.DefaultArrival)
	}
	t.Sleep(ctx, TTL/2)
	s.Fault("the holder releases to many waiters")
	releaseAll(ctx, holders)
	began := now()
	got := count(ctx, t.scenario.Deadline, served, manyWaiters)
	s.Figure("drained", "ms", float64(now()-began)/1e6)
	s.Figure("served", "", float64(got))
	if got < manyWaiters {
		s.ShowTimed(oracle.Stuck, began, now(), time.Duration(now()-began)/2, "%d of %d were served", got, manyWaiters)
	}
}
