package chaos

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"

	"locklab/harness"
	"locklab/harness/oracle"
	"locklab/harness/result"
	"locklab/internal/backend"
	"locklab/internal/faultproxy"
)

var zooScenarios = slices.Concat(zooLeaderScenarios, zooCutScenarios, zooRequestScenarios, zooLinkScenarios, zooOperatorScenarios)

const (
	// zooSessions use the client of zklock. Its leases count from writes that a
	// majority has committed, and it removes tickets of failed requests.
	zooSessions = "zk-(handoff|fair|curator|herd|rw|rw-curator|semaphore|semaphore-v2|multi|two-level|two-level-local-first|cohort|poll|writelock|boolean-mutex)"

	zooRecommended = "zk-(handoff|rw|semaphore|multi|cohort)"

	zooHistorical = "zk-(persistent|fair-historical|writelock-historical|boolean-mutex-historical|two-level-historical)"
)

var relics = Expectation{zooHistorical, []oracle.Anomaly{oracle.Stuck, oracle.Stall, oracle.LeftBehind, oracle.TwoHolders, oracle.Overtaken, oracle.StaleWrite, oracle.TokenFell},
	"it takes a lost connection for an event of its predecessor, forgets tickets, and loses wake-ups without any fault"}

// zooSession is the session timeout of clients of an ensemble: longer than its servers
// need to detect a hanging leader and to elect another.
const zooSession = 4 * time.Second

// zooPrompt is how long clients of an ensemble may wait for a free lock: the aim for a
// leader that hangs.
const zooPrompt = zooSession + time.Second

// initLimit is the number of ticks that an elected leader waits for a majority: the cost
// of a failed vote. Two seconds are plenty with almost no data.
const initLimit = 4

func (t *Try) ensemble(ctx context.Context) (*backend.Server, harness.Endpoint) {
	server := t.Shared(ctx, "ensemble", ensembleOf(backend.EnsembleOptions{InitLimit: initLimit}))
	at := server.Endpoint()
	at.SessionTimeout = zooSession
	return server, at
}

// busy is the loop of clients that contend: few acquisitions, since many locks share two processors.
var busy = Loop{Hold: 30 * time.Millisecond, Think: 60 * time.Millisecond, Random: true}

// contend makes three clients of each lock, or more for several permits, lock and unlock. It
// waits until each has had the lock, or for a while.
func contend(ctx context.Context, t *Try, at harness.Endpoint) []*Host {
	return contendVia(ctx, t, func(*Subject, int) harness.Endpoint { return at })
}

// contendVia is contend with client i of s connected to via(s, i).
func contendVia(ctx context.Context, t *Try, via func(s *Subject, i int) harness.Endpoint) []*Host {
	hosts := t.Hosts(2)
	t.Each(func(s *Subject) {
		for i := range 2 + max(1, s.Variant.Traits.Permits) {
			s.all = append(s.all, hosts[i%2].Open(ctx, s, via(s, i)))
		}
	})
	began := t.Now()
	t.Each(func(s *Subject) {
		for _, w := range s.all {
			w.Loop(ctx, busy)
		}
	})
	t.served(ctx, began, 2*time.Second)
	return hosts
}

func hold(ctx context.Context, t *Try, holders, others harness.Endpoint) []*Host {
	return t.pairs(ctx, func(*Subject) harness.Endpoint { return holders }, func(*Subject) harness.Endpoint { return others })
}

func (t *Try) served(ctx context.Context, after int64, most time.Duration) {
	t.Each(func(s *Subject) {
		poll(ctx, most, func() bool { return s.served(after) })
	})
}

func (t *Try) finish(ctx context.Context, at harness.Endpoint, after int64, most time.Duration) {
	t.served(ctx, after, most)
	t.settle(ctx, at)
}

// settle ends the judged part and the loops, and shows the tickets that remain of clients
// that neither hold nor wait.
func (t *Try) settle(ctx context.Context, at harness.Endpoint) {
	t.Conclude()
	waiting := t.StopAll(ctx)
	conn := t.ZooKeeper(at.Addrs[0])
	t.Each(func(s *Subject) {
		var left []string
		if !poll(ctx, zooLeft, func() bool {
			left = must(s.tickets(conn))
			return len(left) <= waiting[s]
		}) && len(left) > waiting[s] { // else the deadline is over
			s.Show(oracle.LeftBehind, "%d tickets of %d clients, of which %d wait", len(left), len(s.all), waiting[s])
		}
	})
}

func (s *Subject) served(after int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !slices.ContainsFunc(s.all, func(w *Worker) bool {
		return s.history.latest[w.ID] <= after && w.Host.runs()
	})
}

func (h *Host) runs() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	n := len(h.pauses)
	return !closed(h.done) && (n == 0 || h.pauses[n-1].to > 0)
}

// zooLeft is how long an unneeded ticket may remain: a client that was without a server
// removes it once it has one.
const zooLeft = 2 * time.Second

// ticketName matches the server's number at the end of a name.
var ticketName = regexp.MustCompile(`-?[0-9]{10,}$`)

func (s *Subject) tickets(c *zk.Conn) ([]string, error) {
	paths, err := below(c, s.path())
	paths = slices.DeleteFunc(paths, func(path string) bool { return !ticketName.MatchString(path) })
	slices.SortFunc(paths, func(a, b string) int { return strings.Compare(a[len(a)-10:], b[len(b)-10:]) })
	return paths, err
}

// below returns path and all paths below it, parents first, without nodes that disappear.
func below(c *zk.Conn, path string) (paths []string, err error) {
	names, _, err := c.Children(path)
	if errors.Is(err, zk.ErrNoNode) {
		return nil, nil
	} else if err != nil {
		return nil, fmt.Errorf("chaos: %w", err)
	}
	paths = append(paths, path)
	for _, name := range names {
		more, err := below(c, path+"/"+name)
		if paths = append(paths, more...); err != nil {
			return paths, err
		}
	}
	return paths, nil
}

func (s *Subject) path() string {
	if s.Variant.Name == "zk-fair-historical" { // it splits names at each '-'
		return "/locklab/" + strings.ReplaceAll(s.Key, "-", "_")
	}
	return "/locklab/" + s.Key
}

// hurtLinks makes three clients of each lock contend, the first n of them through a proxy
// each, and calls hurt with these.
func hurtLinks(n int, hurt func(ctx context.Context, s *Subject, ps wire)) func(context.Context, *Try) {
	return func(ctx context.Context, t *Try) {
		at := t.At(ctx, t.Subjects[0])
		contendVia(ctx, t, t.link(at, n))
		t.random(ctx, tick)
		t.Each(func(s *Subject) { hurt(ctx, s, s.links) })
		t.Over("nothing is done to connections any more")
		t.finish(ctx, at, t.Now(), t.scenario.Prompt+500*time.Millisecond)
	}
}

// link puts n proxies in front of at for each lock, and returns the address for client i.
func (t *Try) link(at harness.Endpoint, n int) func(s *Subject, i int) harness.Endpoint {
	for _, s := range t.Subjects {
		for range n {
			_, ps := t.Through(at)
			s.links = append(s.links, ps...)
		}
	}
	return func(s *Subject, i int) harness.Endpoint {
		via := at
		if i < n {
			via.Addrs = [][]string{{s.links[i].Addr()}}
		}
		return via
	}
}

func forAWhile(what string, d time.Duration, fault func(p *faultproxy.Proxy, on bool)) func(context.Context, *Try) {
	return hurtLinks(1, func(ctx context.Context, s *Subject, ps wire) {
		s.Fault("%s", what)
		fault(ps[0], true)
		sleep(ctx, d)
		fault(ps[0], false)
	})
}

func (w wire) late(d, jitter time.Duration) {
	for _, p := range w {
		for _, way := range []faultproxy.Direction{faultproxy.Request, faultproxy.Reply} {
			p.Delay(way, d)
			p.Jitter(way, jitter)
		}
	}
}

var linkExpected = []Expectation{
	{zooSessions, nil, "it looks up the outcome of its requests, removes tickets that no client needs, and its lease ends by its own clock"},
	{"zk-persistent", []oracle.Anomaly{oracle.Stuck, oracle.Stall, oracle.LeftBehind}, "a ticket outlives the session of its client"},
	relics,
	{"go-zookeeper-lock", []oracle.Anomaly{oracle.Stuck, oracle.Stall, oracle.LeftBehind, oracle.TwoHolders}, "a request that fails leaves its ticket in the queue for as long as the session lives, and the client learns of the end of a session when it is connected again"},
	{"curator-.*", []oracle.Anomaly{oracle.Stall, oracle.LeftBehind, oracle.TwoHolders, oracle.Overtaken}, "its retries end after a second, and it counts a session from when it notices that a server is silent"},
}

const longerThanSession = SessionTimeout + 3*tick

var zooLinkScenarios = table(Scenario{
	Family: "ZooKeeper connection", Locks: zooLocks, Deadline: 30 * time.Second, Prompt: zooRequestPrompt, Arrival: 2 * zooRequestPrompt, Tries: 200,
	Tests:  []result.Guarantee{result.Recovery},
	Expect: linkExpected,
}, []Scenario{
	{Name: "zk-resets", Takes: 24,
		Question: "Does a lock tolerate a burst of broken connections?",
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
		Question: "Does a lock tolerate a session that moves from server to server?",
		Fault:    "the connection of a client of each lock is reset three times, and each time it finds another of three servers",
		Source:   "reference row 14: ZooKeeper Programmer's Guide, ZooKeeper Sessions",
		Try: func(ctx context.Context, t *Try) {
			_, all := t.ensemble(ctx)
			one := all
			one.Addrs = [][]string{all.Addrs[0][:1]}
			connect := t.link(one, 1)
			contendVia(ctx, t, func(s *Subject, i int) harness.Endpoint {
				if i == 0 {
					return connect(s, i)
				}
				return all
			})
			for i := range 3 {
				t.random(ctx, tick)
				t.Fault("the session of a client moves")
				for _, s := range t.Subjects {
					s.links[0].Redirect(all.Addrs[0][(i+1)%3])
					s.links[0].Reset()
				}
				t.served(ctx, t.Now(), zooSession/2)
			}
			t.Over("sessions stay where they are")
			t.finish(ctx, all, t.Now(), zooRequestPrompt+500*time.Millisecond)
		},
	},
	{Name: "zk-silent-connection", Takes: 20,
		Question: "Does a lock tolerate a connection that falls silent and stays open?",
		Fault:    "the network forgets the connection of a client of each lock, as a NAT may: its messages vanish, and new connections work",
		Source:   "ZOOKEEPER-1159; RFC 5382, 5",
		Try: forAWhile("a connection falls silent", SessionTimeout+2*tick, func(p *faultproxy.Proxy, on bool) {
			if on {
				p.Forget()
			}
		}),
	},
	{Name: "zk-replies-vanish", Takes: 20,
		Question: "Does a lock tolerate a client that can send and not receive?",
		Fault:    "messages from servers to a client of each lock vanish for longer than its session, on new connections too, and its own messages arrive",
		Source:   "Alquraan et al. 2018, An analysis of network-partitioning failures: simplex partitions",
		Expect: append([]Expectation{
			{zooSessions, []oracle.Anomaly{oracle.Stall}, "the server sees the client connect again and again, and keeps its session and its ticket, until the client can remove the ticket"},
		}, linkExpected[1:]...),
		Try: forAWhile("no reply reaches a client", longerThanSession, func(p *faultproxy.Proxy, on bool) { p.BlackHole(faultproxy.Reply, on) }),
	},
	{Name: "zk-requests-vanish", Takes: 19,
		Question: "Does a lock tolerate a client that can receive and not send?",
		Fault:    "messages from a client of each lock vanish for longer than its session, on new connections too, and messages from servers arrive",
		Source:   "Alquraan et al. 2018, An analysis of network-partitioning failures: simplex partitions",
		Try:      forAWhile("no request of a client arrives", longerThanSession, func(p *faultproxy.Proxy, on bool) { p.BlackHole(faultproxy.Request, on) }),
	},
	{Name: "zk-latency", Takes: 30, Prompt: 3 * SessionTimeout, // the event, a list and a contact, and before that a release
		Question: "Is a lock safe when each message takes a good part of the session timeout?",
		Fault:    "each message of a client of each lock takes a tenth of the session timeout and at random up to a fifth more, in both directions, for four seconds",
		Source:   "reference row 22: heartbeats that are late",
		Try: hurtLinks(1, func(ctx context.Context, s *Subject, ps wire) {
			s.Fault("messages of a client are slow")
			ps.late(SessionTimeout/10, SessionTimeout/5)
			sleep(ctx, 2*SessionTimeout)
			ps.late(0, 0)
		}),
	},
	{Name: "zk-session-expired", Takes: 20,
		Question: "Does a client recover after its session has ended?",
		Fault:    "the link of a client of each lock is cut in both directions for longer than its session, and then restored; the client holds, waits, or is about to ask",
		Source:   "reference row 18; samuel/go-zookeeper issue 20; hazard B10",
		Try:      forAWhile("a client is cut off", longerThanSession, (*faultproxy.Proxy).Partition),
	},
})
