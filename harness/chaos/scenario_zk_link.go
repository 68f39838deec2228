package chaos

import (
	"context"
	"time"

	"locklab/harness"
	"locklab/internal/faultproxy"
)

var zooLinkScenarios = []*Scenario{zooResets, zooSessionMoved, zooSilent, zooDeaf, zooMute, zooLatency, zooExpired}

type clientLinks map[*Subject][]*faultproxy.Proxy

func (t *Try) link(at harness.Endpoint, n int) (clientLinks, func(*Subject, int) (harness.Endpoint, error)) {
	of := make(clientLinks)
	for _, s := range t.Subjects {
		for range n {
			_, ps := must2(t.Through(at))
			of[s] = append(of[s], ps...)
		}
	}
	return of, func(s *Subject, i int) (harness.Endpoint, error) {
		via := at
		if i < n {
			via.Addrs = [][]string{{of[s][i].Addr()}}
		}
		return via, nil
	}
}

func hurtLinks(ctx context.Context, t *Try, n int, hurt func(ctx context.Context, s *Subject, ps []*faultproxy.Proxy)) {
	at := must(t.At(ctx, t.Subjects[0].Variant))
	of, connect := t.link(at, n)
	c := contend(ctx, t, 3, connect)
	t.Sleep(ctx, time.Duration(t.Rand.Int64N(int64(tick))))
	t.Each(func(s *Subject) {
		hurt(ctx, s, of[s])
	})
	t.Over("nothing is done to connections any more")
	c.served(ctx, t.Now(), t.scenario.Prompt+500*time.Millisecond)
	c.settle(ctx, at)
}

var linkExpected = []Expectation{
	{zooSessions, nil, "it looks up what became of its requests, removes tickets that no client needs, and its lease ends by its own clock"},
	{"zk-persistent", []harness.Harm{harness.Stuck, harness.Stall, harness.LeftBehind}, "a ticket outlives the session of its client"},
	{zooHistorical, []harness.Harm{harness.Stuck, harness.Stall, harness.LeftBehind, harness.TwoHolders, harness.Overtaken, harness.StaleWrite, harness.TokenFell}, "it takes a lost connection for news of its predecessor, forgets tickets, and loses wake-ups without any fault"},
	{"go-zookeeper-lock", []harness.Harm{harness.Stuck, harness.Stall, harness.LeftBehind, harness.TwoHolders}, "a request that fails leaves its ticket in the queue for as long as the session lives, and the end of a session is told when the client is connected again"},
	{"curator-.*", []harness.Harm{harness.Stall, harness.LeftBehind, harness.TwoHolders, harness.Overtaken}, "its retries end after a second, and it counts a session from when it notices that a server is silent"},
}

func linkScenario(name, question, fault, source string, try func(ctx context.Context, t *Try)) *Scenario {
	return &Scenario{
		Name: name, Question: question, Fault: fault, Source: source,
		Tests:    []harness.Guarantee{harness.Recovery},
		Locks:    zooLocks,
		Expect:   linkExpected,
		Deadline: 30 * time.Second,
		Prompt:   zooRequestPrompt,
		Arrival:  2 * zooRequestPrompt,
		Tries:    200,
		Try:      try,
	}
}

var zooResets = linkScenario("zk-resets",
	"Does a lock survive a burst of broken connections?",
	"24 connections of three clients of each lock are reset (RST) in three seconds, at random",
	"samuel/go-zookeeper issue 229; docker/libkv issue 156",
	func(ctx context.Context, t *Try) {
		const resets, within = 24, 3 * time.Second
		picks := make([]int, resets)
		for i := range picks {
			picks[i] = t.Rand.IntN(3)
		}
		hurtLinks(ctx, t, 3, func(ctx context.Context, s *Subject, ps []*faultproxy.Proxy) {
			s.Fault("%d connections are reset", resets)
			for _, i := range picks {
				for k := range ps {
					if p := ps[(i+k)%len(ps)]; p.Conns() > 0 {
						p.Reset()
						break
					}
				}
				t.Sleep(ctx, within/resets)
			}
		})
	})

var zooSessionMoved = linkScenario("zk-session-moved",
	"Does a lock survive that its client's session moves from server to server?",
	"the connection of a client of each lock is reset three times, and each time it finds another of three servers",
	"reference row 14: ZooKeeper Programmer's Guide, ZooKeeper Sessions",
	func(ctx context.Context, t *Try) {
		_, all := t.ensemble(ctx)
		one := all
		one.Addrs = [][]string{all.Addrs[0][:1]}
		of, connect := t.link(one, 1)
		c := contend(ctx, t, 3, func(s *Subject, i int) (harness.Endpoint, error) {
			if i == 0 {
				return connect(s, i)
			}
			return all, nil
		})
		for i := range 3 {
			t.Sleep(ctx, time.Duration(t.Rand.Int64N(int64(tick))))
			t.Fault("the session of a client moves")
			for _, ps := range of {
				ps[0].Redirect(all.Addrs[0][(i+1)%3])
				ps[0].Reset()
			}
			c.served(ctx, t.Now(), zooSession/2)
		}
		t.Over("sessions stay where they are")
		c.served(ctx, t.Now(), zooRequestPrompt+500*time.Millisecond)
		c.settle(ctx, all)
	})

var zooSilent = linkScenario("zk-silent-connection",
	"Does a lock survive that a connection of a client falls silent and stays open?",
	"the connection of a client of each lock is forgotten on the way, as by a NAT: what is sent vanishes, and new connections are served",
	"ZOOKEEPER-1159; RFC 5382, 5",
	func(ctx context.Context, t *Try) {
		hurtLinks(ctx, t, 1, func(ctx context.Context, s *Subject, ps []*faultproxy.Proxy) {
			s.Fault("a connection falls silent")
			ps[0].Forget()
			t.Sleep(ctx, SessionTimeout+2*tick)
		})
	})

func oneWay(d faultproxy.Direction) func(ctx context.Context, t *Try) {
	return func(ctx context.Context, t *Try) {
		hurtLinks(ctx, t, 1, func(ctx context.Context, s *Subject, ps []*faultproxy.Proxy) {
			s.Fault("one direction of a connection is gone")
			ps[0].BlackHole(d, true)
			t.Sleep(ctx, SessionTimeout+3*tick)
			ps[0].BlackHole(d, false)
		})
	}
}

var zooDeaf = func() *Scenario {
	s := linkScenario("zk-replies-vanish",
		"Does a lock survive that a client hears nothing, and is heard?",
		"what servers send to a client of each lock vanishes for longer than its session, on new connections too, and what it sends arrives",
		"Alquraan et al. 2018, An analysis of network-partitioning failures: simplex partitions",
		oneWay(faultproxy.Reply))
	s.Expect = append([]Expectation{
		{zooSessions, []harness.Harm{harness.Stall}, "the server hears the client come back again and again, and keeps its session and its ticket, until it can remove that"},
	}, linkExpected[1:]...)
	return s
}()

var zooMute = linkScenario("zk-requests-vanish",
	"Does a lock survive that a client is not heard, and hears?",
	"what a client of each lock sends vanishes for longer than its session, on new connections too, and what servers send arrives",
	"Alquraan et al. 2018, An analysis of network-partitioning failures: simplex partitions",
	oneWay(faultproxy.Request))

var zooLatency = func() *Scenario {
	s := linkScenario("zk-latency",
		"Is a lock safe when each message takes a good part of the session timeout?",
		"each message of a client of each lock takes a tenth of the session timeout and at random up to a fifth more, in both directions, for four seconds",
		"reference row 22: heartbeats that are late",
		func(ctx context.Context, t *Try) {
			hurtLinks(ctx, t, 1, func(ctx context.Context, s *Subject, ps []*faultproxy.Proxy) {
				s.Fault("messages of a client are slow")
				for _, d := range []faultproxy.Direction{faultproxy.Request, faultproxy.Reply} {
					ps[0].Delay(d, SessionTimeout/10)
					ps[0].Jitter(d, SessionTimeout/5, t.Seed)
				}
				t.Sleep(ctx, 2*SessionTimeout)
				for _, d := range []faultproxy.Direction{faultproxy.Request, faultproxy.Reply} {
					ps[0].Delay(d, 0)
					ps[0].Jitter(d, 0, 0)
				}
			})
		})
	s.Prompt = 3 * SessionTimeout // the event, a list and a contact, and before that a release
	return s
}()

var zooExpired = linkScenario("zk-session-expired",
	"Does a client get on after its session has ended?",
	"the link of a client of each lock is cut in both directions for longer than its session, and then mended: it holds, waits, or is about to ask",
	"reference row 18; samuel/go-zookeeper issue 20; hazard B10",
	func(ctx context.Context, t *Try) {
		hurtLinks(ctx, t, 1, func(ctx context.Context, s *Subject, ps []*faultproxy.Proxy) {
			s.Fault("a client is cut off")
			ps[0].Partition(true)
			t.Sleep(ctx, SessionTimeout+3*tick)
			ps[0].Partition(false)
		})
	})
