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
	"locklab/internal/backend"
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
	"it takes a lost connection for news of its predecessor, forgets tickets, and loses wake-ups without any fault"}

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
	server := must(t.Shared(ctx, "ensemble", func(ctx context.Context) (*backend.Server, error) {
		return backend.StartEnsembleOf(ctx, backend.EnsembleOptions{InitLimit: initLimit})
	}))
	at := server.Endpoint()
	at.SessionTimeout = zooSession
	return server, at
}

// A contenders is the clients of each lock in a try.
type contenders struct {
	t       *Try
	at      harness.Endpoint // of all servers
	hosts   []*Host
	workers map[*Subject][]*Worker
}

// busy is the loop of contenders: few acquisitions, since many locks share two processors.
var busy = Loop{Hold: 30 * time.Millisecond, Think: 60 * time.Millisecond, Random: true}

// contend makes three clients of each lock, or more for several permits, lock and unlock.
// Client i connects to via(s, i), or if via is nil to at. contend waits until each has had the
// lock, or for a while.
func contend(ctx context.Context, t *Try, at harness.Endpoint, via func(s *Subject, i int) harness.Endpoint) *contenders {
	if via == nil {
		via = func(*Subject, int) harness.Endpoint { return at }
	}
	c := &contenders{t: t, at: at, hosts: t.Hosts(2)}
	c.workers = gather(t, func(s *Subject) (ws []*Worker) {
		for i := range 2 + max(1, s.Variant.Traits.Permits) {
			ws = append(ws, c.hosts[i%2].Open(ctx, s, via(s, i)))
		}
		return ws
	})
	began := t.Now()
	t.Each(func(s *Subject) {
		for _, w := range c.workers[s] {
			w.Loop(ctx, busy)
		}
	})
	c.served(ctx, began, 2*time.Second)
	return c
}

// hold makes a client of each lock hold it, and another wait for it and then loop.
func hold(ctx context.Context, t *Try, holders, others harness.Endpoint) (*contenders, map[*Subject]*pair) {
	hosts, of := t.pairs(ctx, func(*Subject) (_, _ harness.Endpoint) { return holders, others })
	c := &contenders{t: t, at: others, hosts: hosts, workers: make(map[*Subject][]*Worker)}
	for s, p := range of {
		c.workers[s] = append(slices.Clone(p.holders), p.next)
	}
	return c, of
}

// served waits, up to most, until each live worker has been granted its lock later than after.
func (c *contenders) served(ctx context.Context, after int64, most time.Duration) {
	c.t.Each(func(s *Subject) {
		poll(ctx, most, func() bool { return s.served(c.workers[s], after) })
	})
}

func (c *contenders) finish(ctx context.Context, after int64, most time.Duration) {
	c.served(ctx, after, most)
	c.settle(ctx)
}

// settle ends the judged part and the loops, and shows the tickets that remain of clients
// that neither hold nor wait.
func (c *contenders) settle(ctx context.Context) {
	c.t.Conclude()
	waiting := c.t.StopAll(ctx)
	conn := c.t.ZooKeeper(c.at.Addrs[0])
	c.t.Each(func(s *Subject) {
		var left []string
		if !poll(ctx, zooLeft, func() bool {
			left = must(s.tickets(conn))
			return len(left) <= waiting[s]
		}) {
			s.Show(oracle.LeftBehind, "%d tickets of %d clients, of which %d wait", len(left), len(c.workers[s]), waiting[s])
		}
	})
}

func (s *Subject) served(workers []*Worker, after int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, w := range workers {
		if s.history.latest[w.ID] <= after && w.Host.runs() {
			return false
		}
	}
	return true
}

func (h *Host) runs() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.gone == nil && !h.stopped
}

// zooLeft is how long an unneeded ticket may remain: a client that was without a server
// removes it once it has one.
const zooLeft = 2 * time.Second

// ticketName matches the server's number at the end of a name.
var ticketName = regexp.MustCompile(`-?[0-9]{10,}$`)

// tickets returns the paths of a lock's tickets, in the order of their numbers.
func (s *Subject) tickets(c *zk.Conn) (paths []string, err error) {
	all, err := below(c, s.path())
	for _, path := range all {
		if ticketName.MatchString(path) {
			paths = append(paths, path)
		}
	}
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
