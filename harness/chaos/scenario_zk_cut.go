package chaos

import (
	"context"
	"time"

	"locklab/harness"
	"locklab/internal/backend"
	"locklab/internal/faultproxy"
)

var zooCutScenarios = []*Scenario{isolatedFollower, isolatedFollowerFree, halfOpenLeader, halfOpenLeaderFree, zooHolderCutOff}

type bound struct {
	holders []*Worker
	next    *Worker
}

// sampleSession is the shortest session with the 2 s ticks of ZooKeeper's sample
// configuration.
const sampleSession = 4 * time.Second

// cutServerOff cuts a server with holders off from the others, and waits until the next
// client has had each lock or could have had it. If free is set, the clients of holders
// may move to other servers.
func cutServerOff(ctx context.Context, t *Try, leads, free bool) {
	var e *Linked
	_, err := t.Own(ctx, func(ctx context.Context) (server *backend.Server, err error) {
		if e, err = StartLinked(ctx, LinkedOptions{}); err != nil {
			return nil, err
		}
		return e.Server(), nil
	})
	if e != nil {
		t.Defer(func() { e.Stop() })
	}
	if err != nil {
		check(err)
	}
	server := must(e.Server().Leader(ctx))
	if !leads {
		server = t.follower(server)
	}
	locks := t.bind(ctx, e.Server().Endpoint(), server, free)
	t.Sleep(ctx, sampleSession/4+time.Duration(t.Rand.Int64N(int64(sampleSession/4)))) // every session is older than its lock
	began := t.Now()
	if leads {
		t.Fault("the leader is deposed and does not hear of it")
		e.Depose(server)
	} else {
		t.Fault("the follower is cut off from the others")
		e.Isolate(server)
	}
	wait, cancel := context.WithTimeout(ctx, cutOffWait)
	defer cancel()
	t.Each(func(s *Subject) {
		if s.AwaitGrant(wait, began) {
			t.Sleep(ctx, 500*time.Millisecond)
			return
		}
		if !free {
			return
		}
		for _, w := range locks[s].holders { // it has kept the lock
			w.Release(ctx)
		}
		t.Sleep(ctx, 500*time.Millisecond)
	})
}

// cutOffWait is the time after which the session of a client that is cut off has surely
// ended, with its two ticks and an election.
const cutOffWait = sampleSession + 5*time.Second

func (t *Try) bind(ctx context.Context, at harness.Endpoint, server int, free bool) map[*Subject]*bound {
	at.SessionTimeout = sampleSession
	there, others := at, at
	there.Addrs, others.Addrs = [][]string{{at.Addrs[0][server]}}, [][]string{nil}
	for i, addr := range at.Addrs[0] {
		if i != server {
			others.Addrs[0] = append(others.Addrs[0], addr)
		}
	}
	var away []*faultproxy.Proxy
	if free {
		elsewhere, proxies := must2(t.Through(others))
		away = proxies
		there.Addrs[0] = append(there.Addrs[0], elsewhere.Addrs[0]...)
	}
	for _, p := range away {
		p.Refuse(true) // until the clients are connected
	}
	var locks map[*Subject]*bound
	err := steps(func() { _, locks = hold(ctx, t, there, others) })
	for _, p := range away {
		p.Refuse(false)
	}
	check(err)
	return locks
}

func (b *bound) begin(ctx context.Context, s *Subject, hosts []*Host, at, others harness.Endpoint) {
	for range max(1, s.Variant.Traits.Permits) {
		w := hosts[0].Open(ctx, s, at)
		b.holders = append(b.holders, w)
		check(w.Acquire(ctx, 0))
	}
	b.next = hosts[1].Open(ctx, s, others)
	b.next.Loop(ctx, ordinary)
}

var believed = []Expectation{
	{zooSessions, nil, "its lease counts from writes that a majority has committed, so it ends before the session does"},
	{"zk-persistent", nil, "its ticket outlives the session: none can enter beside it"},
	{".*", []harness.Harm{harness.TwoHolders}, "the server answers pings, so the client takes the session to live that the others have ended"},
}

var toldBefore = []Aim{{zooSessions, harness.FaultAim{Figure: "margin", Quantile: 0, Least: true, Limit: 0, Text: "told before the next enters"}}}

func cutOffScenario(name, question, fault string, leads, free bool) *Scenario {
	return &Scenario{
		Name: name, Question: question, Fault: fault,
		Source:   "docs/decisions/0009-zk-contact.md; ZOOKEEPER-2678; Alquraan et al. 2018, An analysis of network-partitioning failures",
		Tests:    []harness.Guarantee{harness.Failover},
		Locks:    zooLocks,
		Expect:   believed,
		Deadline: 60 * time.Second,
		Prompt:   cutOffWait,
		Arrival:  cutOffWait,
		Tries:    30,
		Aims:     toldBefore,
		Try:      func(ctx context.Context, t *Try) { cutServerOff(ctx, t, leads, free) },
	}
}

var isolatedFollower = cutOffScenario("isolated-follower",
	"Is a holder whose server has lost the others told before the next client enters?",
	"the follower that holders are at is cut off from the others of three servers with the ticks of the sample configuration, and goes on answering pings; the clients know of no other server",
	false, false)

var isolatedFollowerFree = cutOffScenario("isolated-follower-free",
	"Does a holder whose server has lost the others move away in time, or is it told?",
	"the follower that holders are at is cut off from the others, and goes on answering pings; the clients may go to the other servers",
	false, true)

var halfOpenLeader = cutOffScenario("half-open-leader",
	"Is a holder at a leader that was deposed and does not know it told before the next client enters?",
	"the followers lose their connections to the leader, which does not hear of it, and elect another; the clients of holders know of no other server",
	true, false)

var halfOpenLeaderFree = cutOffScenario("half-open-leader-free",
	"Does a holder at a leader that was deposed and does not know it move away in time, or is it told?",
	"the followers lose their connections to the leader, which does not hear of it, and elect another; the clients of holders may go to the other servers",
	true, true)

var zooHolderCutOff = &Scenario{
	Name:     "zk-holder-cut-off",
	Question: "Is a holder that reaches no server told before the next client enters?",
	Fault:    "all that the holder and the server tell each other vanishes, and neither side hears of it; later that is over, and the holder locks again",
	Source:   "samuel/go-zookeeper issue 20; Burrows 2006, The Chubby lock service, 2.8",
	Tests:    []harness.Guarantee{harness.Failover, harness.Recovery},
	Locks:    zooLocks,
	Expect: []Expectation{
		{zooSessions, nil, "its lease ends by its own clock, a margin before the session"},
		{"zk-persistent", []harness.Harm{harness.Stuck, harness.Stall, harness.LeftBehind}, "its ticket outlives the session: the next waits until its owner is back"},
		{"curator-.*", []harness.Harm{harness.TwoHolders}, "it takes the session to be lost a session timeout after it has noticed, and the server ends it a timeout after the last packet"},
		{"zk-two-level-historical", []harness.Harm{harness.TwoHolders, harness.Stuck, harness.Misled}, "nothing tells it, and its local lock stays taken when a request fails, so that TryLock refuses a free lock"},
		{".*", []harness.Harm{harness.TwoHolders, harness.Stuck}, "it is told by the server, when it is connected again"},
	},
	Deadline: 30 * time.Second,
	Prompt:   2*SessionTimeout + 2*tick,
	Arrival:  3 * SessionTimeout,
	Tries:    200, Short: 1,
	Aims: append([]Aim{{zooRecommended, harness.FaultAim{Figure: "window", Quantile: 1, Limit: float64(SessionTimeout + time.Second), Text: "session timeout + 1 s"}}},
		toldBefore...),
	Try: func(ctx context.Context, t *Try) {
		at := must(t.At(ctx, t.Subjects[0].Variant))
		through, proxies := must2(t.Through(at))
		c, locks := hold(ctx, t, through, at)
		t.Sleep(ctx, SessionTimeout/2+time.Duration(t.Rand.Int64N(int64(SessionTimeout/2))))
		began := t.Now()
		t.Fault("the holder is cut off")
		for _, p := range proxies {
			p.Partition(true)
		}
		t.Each(func(s *Subject) {
			wait, cancel := context.WithTimeout(ctx, 2*SessionTimeout)
			defer cancel()
			s.AwaitGrant(wait, began)
		})
		t.Sleep(ctx, 500*time.Millisecond)
		for _, p := range proxies {
			p.Partition(false)
		}
		t.Over("the holder is connected again")
		again(ctx, t, locks, func(s *Subject) bool { return s.granted(began) })
		c.settle(ctx, at)
	},
}

func (b *bound) again(ctx context.Context, lost bool) {
	for _, w := range b.holders {
		release, cancel := context.WithTimeout(ctx, 2*time.Second)
		err := w.Release(release)
		cancel()
		if err == nil && lost {
			w.Lock.Show(harness.Misled, "the release of a lock that was lost returned no error")
		}
		// The loop begins when the release is over, after up to ten seconds with
		// Curator.
		begin, cancel := context.WithTimeout(ctx, time.Second)
		_ = w.loop(begin, ordinary)
		cancel()
	}
}

func again(ctx context.Context, t *Try, locks map[*Subject]*bound, lost func(*Subject) bool) {
	t.Each(func(s *Subject) {
		locks[s].again(ctx, lost(s))
	})
}
