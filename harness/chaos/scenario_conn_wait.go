package chaos

import (
	"context"
	"strings"
	"time"

	"locklab/harness"
	"locklab/harness/oracle"
	"locklab/internal/faultproxy"
)

var waiterScenarios = []*Scenario{wakeupLost, waiterCrash, waiterHolderCrash, manyWaiters}

const wakeups = 3

var wakeupLost = &Scenario{
	Name:     "wakeup-lost",
	Question: "Does a waiter get a free lock soon when the message that it is free was lost?",
	Fault:    "the connections of the only waiter break, it cannot connect for 50 ms, and the holder releases meanwhile",
	Source:   "Redisson issues 3891, 4216, 5046, 5219: missed unlock messages; Redis documentation, Pub/Sub: at most once",
	Locks:    redisKinds + "|redis-rw-redisson",
	Expect: []Expectation{
		{"redis-redisson12", []harness.Harm{harness.Stall, harness.Stuck}, "a message that was lost is not asked for: the waiter sleeps until the time that it was told, or for ever (B21)"},
		{"redis-(fair|rw)-redisson", []harness.Harm{harness.Stall, harness.Stuck}, "a waiter asks again when the lease that it was told of is over"},
		{"redis-token|rueidislock.*|bsm-redislock-.*", []harness.Harm{harness.Stall, harness.Stuck, harness.TwoHolders}, "the attempt fails with its connection, or what it was given is gone"},
		{".*", nil, "a subscription or a pop that breaks makes its waiter ask again"},
	},
	Deadline: 40 * time.Second,
	Prompt:   2 * TTL, // the lease is four times as long
	Tries:    200,
	Aims:     []Aim{{redisRecommended, harness.FaultAim{Figure: "lost wake-ups", Quantile: 1, Limit: 0, Text: "none"}}},
	Try: func(ctx context.Context, t *Try) {
		hosts := t.Hosts(2)
		t.Each(func(s *Subject) {
			at := must(t.At(ctx, s.Variant))
			at.Lease = 4 * TTL // the cost of a lost wake-up
			var holders []*Worker
			for range max(1, s.Variant.Traits.Permits) {
				w := hosts[0].Open(ctx, s, at)
				holders = append(holders, w)
			}
			w, wire := t.wiredTo(ctx, hosts[1], s, at)
			check(warm(ctx, append(holders, w)...))
			lost := 0
			for range wakeups {
				if t.loseWakeup(ctx, s, holders, w, wire) > 2*TTL {
					lost++
				}
			}
			s.Figure("lost wake-ups", "", float64(lost))
		})
	},
}

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
	for _, h := range holders {
		h.Release(ctx)
	}
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
	{"redis-token", []harness.Harm{harness.Stall, harness.Stuck, harness.Overtaken}, "it has no lease, and a waiter joins the end of the line again every second"},
	{"zk-persistent|redis-redisson12", []harness.Harm{harness.Stall, harness.Stuck}, "nothing ends what a dead client leaves: no session, or a key without an end"},
	{"redis-fair-redisson", []harness.Harm{harness.Stall, harness.Stuck}, "a dead waiter keeps its place for five minutes"},
	{"redis-.*|redsync.*|bsm-.*|rueidislock.*", []harness.Harm{harness.Stall}, "a lease, or the grant to a dead waiter, has to run out"},
	{".*", []harness.Harm{harness.Stall}, "the ticket of the dead waiter goes with its session"},
}

// crash makes three clients wait in order and kills the second. It also kills the holder
// if holder is set; otherwise the holder releases.
func crash(holder bool) func(ctx context.Context, t *Try) {
	return func(ctx context.Context, t *Try) {
		hosts := t.Hosts(4)
		of := make(map[*Subject]*line)
		for _, s := range t.Subjects {
			of[s] = new(line)
		}
		t.Each(func(s *Subject) { of[s].form(ctx, t, hosts, s) })
		hosts[2].Kill()
		if holder {
			hosts[0].Kill()
		}
		t.Each(func(s *Subject) {
			if !holder {
				for _, w := range of[s].holders {
					w.Release(ctx)
				}
			}
			of[s].served(ctx, outlived(s.Variant)+2*TTL)
		})
	}
}

type line struct {
	holders, waiters []*Worker
	granted          []<-chan error
}

func (l *line) form(ctx context.Context, t *Try, hosts []*Host, s *Subject) {
	l.holders = t.holders(ctx, hosts[0], s)
	for _, h := range hosts[1:] {
		w := t.plain(ctx, h, s)
		l.waiters = append(l.waiters, w)
	}
	for _, w := range l.holders {
		check(w.Acquire(ctx, 0))
	}
	for _, w := range l.waiters {
		l.granted = append(l.granted, w.Begin(ctx, 0))
		t.Sleep(ctx, oracle.DefaultArrival+50*time.Millisecond)
	}
}

func (l *line) served(ctx context.Context, most time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	done := make(chan bool, len(l.waiters))
	for i, w := range l.waiters {
		w.Host.t.work.Go(func() {
			select {
			case err := <-l.granted[i]:
				if err == nil {
					w.Release(ctx)
				}
			case <-ctx.Done():
			}
			done <- true
		})
	}
	for range l.waiters {
		<-done
	}
}

var waiterCrash = &Scenario{
	Name:     "waiter-crash",
	Question: "Does the queue go on, in order, when a waiter in its middle has died?",
	Fault:    "the process of the second of three waiters is killed (SIGKILL), and the holder releases",
	Source:   "the story of the well: any member may leave the queue; Redisson issues 1104, 2278, 3730",
	Tests:    []harness.Guarantee{harness.Ordered, harness.Recovery},
	Locks:    queueLocks,
	Expect:   queueExpect,
	Deadline: 40 * time.Second,
	Prompt:   TTL / 2,
	Tries:    100,
	Aims: []Aim{
		{redisRecommended, harness.FaultAim{Figure: "window", Quantile: 1, Limit: float64(TTL + TTL/10), Text: "lease + 10 %"}},
	},
	Try: crash(false),
}

var waiterHolderCrash = &Scenario{
	Name:     "waiter-holder-crash",
	Question: "Does the queue go on, in order, when a waiter and the holder die together?",
	Fault:    "the processes of the holder and of the second of three waiters are killed (SIGKILL) at the same time; of a semaphore two permits would come free together, and its waiters in any order",
	Source:   "the story of the well; Redisson issues 2099, 2883",
	Tests:    []harness.Guarantee{harness.Ordered, harness.Recovery},
	Locks:    strings.ReplaceAll(queueLocks, "|semaphore", ""),
	Expect:   queueExpect,
	Deadline: 40 * time.Second,
	Prompt:   TTL / 2,
	Tries:    100,
	Aims: []Aim{
		{redisRecommended, harness.FaultAim{Figure: "window", Quantile: 1, Limit: float64(TTL + TTL/10), Text: "lease + 10 %"}},
	},
	Try: crash(true),
}

var manyWaiters = &Scenario{
	Name:     "many-waiters",
	Question: "Are a thousand waiters served, all of them and in order?",
	Fault:    "a thousand workers of four clients, in four processes, wait for a lock that is held, and then it is released",
	Source:   "row 23 of the usual list of failures of locks: herds, and orders that hold for few",
	Tests:    []harness.Guarantee{harness.Ordered},
	Locks:    "redis-(queue|rw|semaphore|multi|cohort|reentrant|fair-redisson|poll-100ms)|zk-(handoff|curator|herd|rw|semaphore|cohort)|go-zookeeper-lock",
	Expect: []Expectation{
		{"go-zookeeper-lock", []harness.Harm{harness.Stall, harness.Stuck, harness.Overtaken}, "each worker lists the whole queue, and a request for a place in it waits behind all the lists of its client"},
		{".*", []harness.Harm{harness.Stall, harness.Stuck}, "so many take their time on a busy machine"},
	},
	Deadline: 90 * time.Second,
	Prompt:   5 * time.Second,
	Alone:    true,
	Tries:    3,
	Aims: []Aim{
		{redisRecommended + "|zk-(handoff|rw|semaphore|cohort)", harness.FaultAim{Figure: "served", Quantile: 0, Least: true, Limit: crowdSize, Text: "all"}},
	},
	Try: func(ctx context.Context, t *Try) {
		t.Each(func(s *Subject) { t.many(ctx, s) })
	},
}

const crowdSize = 1000

func (t *Try) many(ctx context.Context, s *Subject) {
	hosts := t.Hosts(4)
	holders := t.holders(ctx, hosts[0], s)
	for _, w := range holders {
		check(w.Acquire(ctx, 0))
	}
	served := make(chan bool, crowdSize)
	for _, h := range hosts {
		workers := t.group(ctx, h, s, crowdSize/len(hosts))
		for _, w := range workers { // at once: the order within a group is unknown
			granted := w.Begin(ctx, 0)
			t.work.Go(func() {
				err := <-granted
				if err == nil {
					w.Release(ctx)
				}
				served <- err == nil
			})
		}
		t.Sleep(ctx, 3*oracle.DefaultArrival)
	}
	t.Sleep(ctx, TTL/2)
	s.Fault("the holder releases to a crowd")
	for _, w := range holders {
		w.Release(ctx)
	}
	s.drained(ctx, served)
}

func (s *Subject) drained(ctx context.Context, served <-chan bool) {
	began, got := now(), 0
	for range crowdSize {
		select {
		case ok := <-served:
			if ok {
				got++
			}
			continue
		case <-ctx.Done():
		}
		break
	}
	s.Figure("drained", "ms", float64(now()-began)/1e6)
	s.Figure("served", "", float64(got))
	if got < crowdSize {
		s.ShowTimed(harness.Stuck, began, now(), time.Duration(now()-began)/2, "%d of %d were served", got, crowdSize)
	}
}

func (t *Try) group(ctx context.Context, h *Host, s *Subject, n int) []*Worker {
	first := t.plain(ctx, h, s)
	workers := []*Worker{first}
	for len(workers) < n {
		w := first.Join(ctx)
		workers = append(workers, w)
	}
	return workers
}
