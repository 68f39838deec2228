package chaos

import (
	"context"
	"time"

	"locklab/harness"
	"locklab/harness/oracle"
	"locklab/harness/result"
	"locklab/internal/faultproxy"
)

// hurtLinks makes three clients of each lock contend, the first n of them through a proxy
// each, and calls hurt with these.
func hurtLinks(n int, hurt func(ctx context.Context, s *Subject, ps wire)) func(context.Context, *Try) {
	return func(ctx context.Context, t *Try) {
		at := must(t.At(ctx, t.Subjects[0].Variant))
		of, connect := t.link(at, n)
		c := contend(ctx, t, at, connect)
		t.random(ctx, tick)
		t.Each(func(s *Subject) { hurt(ctx, s, of[s]) })
		t.Over("nothing is done to connections any more")
		c.finish(ctx, t.Now(), t.scenario.Prompt+500*time.Millisecond)
	}
}

func (t *Try) link(at harness.Endpoint, n int) (map[*Subject]wire, func(*Subject, int) harness.Endpoint) {
	of := make(map[*Subject]wire)
	for _, s := range t.Subjects {
		for range n {
			_, ps := t.Through(at)
			of[s] = append(of[s], ps...)
		}
	}
	return of, func(s *Subject, i int) harness.Endpoint {
		via := at
		if i < n {
			via.Addrs = [][]string{{of[s][i].Addr()}}
		}
		return via
	}
}

// forAWhile makes a fault of a client's connections that lasts for d.
func forAWhile(what string, d time.Duration, fault func(p *faultproxy.Proxy, on bool)) func(context.Context, *Try) {
	return hurtLinks(1, func(ctx context.Context, s *Subject, ps wire) {
		s.Fault("%s", what)
		fault(ps[0], true)
		sleep(ctx, d)
		fault(ps[0], false)
	})
}

// late delays what goes through the proxies by d and up to jitter more, in both directions.
func (w wire) late(d, jitter time.Duration, seed uint64) {
	for i, p := range w {
		for _, way := range []faultproxy.Direction{faultproxy.Request, faultproxy.Reply} {
			p.Delay(way, d)
			p.Jitter(way, jitter, seed+uint64(i))
		}
	}
}

var linkExpected = []Expectation{
	{zooSessions, nil, "it looks up what became of its requests, removes tickets that no client needs, and its lease ends by its own clock"},
	{"zk-persistent", []oracle.Anomaly{oracle.Stuck, oracle.Stall, oracle.LeftBehind}, "a ticket outlives the session of its client"},
	relics,
	{"go-zookeeper-lock", []oracle.Anomaly{oracle.Stuck, oracle.Stall, oracle.LeftBehind, oracle.TwoHolders}, "a request that fails leaves its ticket in the queue for as long as the session lives, and the end of a session is told when the client is connected again"},
	{"curator-.*", []oracle.Anomaly{oracle.Stall, oracle.LeftBehind, oracle.TwoHolders, oracle.Overtaken}, "its retries end after a second, and it counts a session from when it notices that a server is silent"},
}

const longerThanSession = SessionTimeout + 3*tick

var zooLinkScenarios = table(Scenario{
	Family: "ZooKeeper connection", Locks: zooLocks, Deadline: 30 * time.Second, Prompt: zooRequestPrompt, Arrival: 2 * zooRequestPrompt, Tries: 200,
	Tests:  []result.Guarantee{result.Recovery},
	Expect: linkExpected,
}, []Scenario{
	{Name: "zk-resets", Takes: 24,
		Question: "Does a lock survive a burst of broken connections?",
		Fault:    "24 connections of three clients of each lock are reset (RST) in three seconds, at random",
		Source:   "samuel/go-zookeeper issue 229; docker/libkv issue 156",
		Try: hurtLinks(3, func(ctx context.Context, s *Subject, ps wire) {
			const resets, within = 24, 3 * time.Second
			s.Fault("%d connections are reset", resets)
			for range resets {
				first := s.Rand.IntN(len(ps))
				for k := range ps {
					if p := ps[(first+k)%len(ps)]; p.Conns() > 0 {
						p.Reset()
						break
					}
				}
				sleep(ctx, within/resets)
			}
		}),
	},
	{Name: "zk-session-moved", Takes: 21,
		Question: "Does a lock survive that its client's session moves from server to server?",
		Fault:    "the connection of a client of each lock is reset three times, and each time it finds another of three servers",
		Source:   "reference row 14: ZooKeeper Programmer's Guide, ZooKeeper Sessions",
		Try: func(ctx context.Context, t *Try) {
			_, all := t.ensemble(ctx)
			one := all
			one.Addrs = [][]string{all.Addrs[0][:1]}
			of, connect := t.link(one, 1)
			c := contend(ctx, t, all, func(s *Subject, i int) harness.Endpoint {
				if i == 0 {
					return connect(s, i)
				}
				return all
			})
			for i := range 3 {
				t.random(ctx, tick)
				t.Fault("the session of a client moves")
				for _, ps := range of {
					ps[0].Redirect(all.Addrs[0][(i+1)%3])
					ps[0].Reset()
				}
				c.served(ctx, t.Now(), zooSession/2)
			}
			t.Over("sessions stay where they are")
			c.finish(ctx, t.Now(), zooRequestPrompt+500*time.Millisecond)
		},
	},
	{Name: "zk-silent-connection", Takes: 20,
		Question: "Does a lock survive that a connection of a client falls silent and stays open?",
		Fault:    "the connection of a client of each lock is forgotten on the way, as by a NAT: what is sent vanishes, and new connections are served",
		Source:   "ZOOKEEPER-1159; RFC 5382, 5",
		Try: forAWhile("a connection falls silent", SessionTimeout+2*tick, func(p *faultproxy.Proxy, on bool) {
			if on {
				p.Forget()
			}
		}),
	},
	{Name: "zk-replies-vanish", Takes: 20,
		Question: "Does a lock survive that a client hears nothing, and is heard?",
		Fault:    "what servers send to a client of each lock vanishes for longer than its session, on new connections too, and what it sends arrives",
		Source:   "Alquraan et al. 2018, An analysis of network-partitioning failures: simplex partitions",
		Expect: append([]Expectation{
			{zooSessions, []oracle.Anomaly{oracle.Stall}, "the server hears the client come back again and again, and keeps its session and its ticket, until it can remove that"},
		}, linkExpected[1:]...),
		Try: forAWhile("no reply reaches a client", longerThanSession, func(p *faultproxy.Proxy, on bool) { p.BlackHole(faultproxy.Reply, on) }),
	},
	{Name: "zk-requests-vanish", Takes: 19,
		Question: "Does a lock survive that a client is not heard, and hears?",
		Fault:    "what a client of each lock sends vanishes for longer than its session, on new connections too, and what servers send arrives",
		Source:   "Alquraan et al. 2018, An analysis of network-partitioning failures: simplex partitions",
		Try:      forAWhile("no request of a client arrives", longerThanSession, func(p *faultproxy.Proxy, on bool) { p.BlackHole(faultproxy.Request, on) }),
	},
	{Name: "zk-latency", Takes: 30, Prompt: 3 * SessionTimeout, // the event, a list and a contact, and before that a release
		Question: "Is a lock safe when each message takes a good part of the session timeout?",
		Fault:    "each message of a client of each lock takes a tenth of the session timeout and at random up to a fifth more, in both directions, for four seconds",
		Source:   "reference row 22: heartbeats that are late",
		Try: hurtLinks(1, func(ctx context.Context, s *Subject, ps wire) {
			s.Fault("messages of a client are slow")
			ps.late(SessionTimeout/10, SessionTimeout/5, s.Rand.Uint64())
			sleep(ctx, 2*SessionTimeout)
			ps.late(0, 0, 0)
		}),
	},
	{Name: "zk-session-expired", Takes: 20,
		Question: "Does a client get on after its session has ended?",
		Fault:    "the link of a client of each lock is cut in both directions for longer than its session, and then mended: it holds, waits, or is about to ask",
		Source:   "reference row 18; samuel/go-zookeeper issue 20; hazard B10",
		Try:      forAWhile("a client is cut off", longerThanSession, (*faultproxy.Proxy).Partition),
	},
})
