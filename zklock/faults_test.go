package zklock_test

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"golang.org/x/sync/errgroup"

	"locklab/harness"
	"locklab/internal/faultproxy"
	wirezk "locklab/internal/wire/zookeeper"
)

// steps are the requests of each lock for an acquisition behind another client. The connection
// is lost at each of them.
var steps = map[string][]string{
	"zk-handoff":               {"create", "getChildren2", "getData", "multi"},
	"zk-fair":                  {"create", "delete", "getChildren2", "getData"},
	"zk-herd":                  {"create", "delete", "getChildren2"},
	"zk-curator":               {"create", "delete", "getChildren2", "getData"},
	"zk-rw":                    {"create", "getChildren2", "getData", "multi"},
	"zk-rw-curator":            {"create", "delete", "getChildren2", "getData"},
	"zk-two-level":             {"create", "delete", "getChildren2", "getData"},
	"zk-two-level-local-first": {"create", "delete", "getChildren2", "getData"},
	"zk-cohort":                {"create", "delete", "getChildren2", "getData"},
	"zk-poll":                  {"create", "delete", "getChildren2"},
	"zk-writelock":             {"create", "delete", "exists", "getChildren2"},
	"zk-boolean-mutex":         {"create", "delete", "exists", "getChildren2"},
}

// TestKinds covers locks with several holders or nodes, which do not fit a trial.
var notTried = []string{"zk-semaphore", "zk-semaphore-v2", "zk-multi"}

// TestFaults loses the connection at every step of every lock's protocol, before the server gets
// the request and after it has executed it.
func TestFaults(t *testing.T) {
	t.Parallel()
	at := endpoint(t)
	var tests []serverTest
	for _, v := range correct() {
		if !slices.Contains(notTried, v.Name) {
			tests = append(tests, serverTest{v.Name, func(t *testing.T, at harness.Endpoint) { testFaults(t, at, "", v, steps[v.Name]) }})
		}
	}
	atOnce(t, at, tests)
}

// TestFaultsAtFollower is TestFaults with the faulty client at a follower, which may lag.
func TestFaultsAtFollower(t *testing.T) {
	t.Parallel()
	server := ensemble(t)
	at := server.Endpoint()
	leading := leader(t, server)
	follower := at.Addrs[0][(leading+1)%len(at.Addrs[0])]
	at.Addrs = [][]string{at.Addrs[0][leading : leading+1]}
	var tests []serverTest
	for _, v := range correct() {
		if slices.Contains([]string{"zk-handoff", "zk-rw", "zk-cohort"}, v.Name) {
			tests = append(tests, serverTest{v.Name, func(t *testing.T, at harness.Endpoint) { testFaults(t, at, follower, v, steps[v.Name]) }})
		}
	}
	if len(tests) < 3 {
		t.Errorf("%d locks are tried", len(tests))
	}
	atOnce(t, at, tests)
}

// testFaults runs the trials of v, with requests ops, at once: they mostly wait.
func testFaults(t *testing.T, at harness.Endpoint, via string, v *harness.Variant, ops []string) {
	var sent []string
	for settle := aWhile; settle <= 8*aWhile && !slices.Equal(sent, ops); settle *= 2 {
		none := newTrial(at, v) // again if the machine was too slow for the last
		none.via, none.settle = via, settle
		if err := none.run(t.Context()); err != nil {
			t.Fatalf("without a fault: %v", err)
		}
		sent = none.sent()
	}
	if !slices.Equal(sent, ops) {
		t.Errorf("an acquisition behind another client sends %q; add to steps the line\n\t%q: {%s},", sent, v.Name,
			strings.ReplaceAll(strings.Trim(fmt.Sprintf("%q", sent), "[]"), " ", ", "))
	}
	var wg sync.WaitGroup
	for _, op := range ops {
		for _, do := range []faultproxy.Action{faultproxy.LoseRequest, faultproxy.LoseReply} {
			wg.Go(func() {
				err := errNoFault
				for settle := aWhile; errors.Is(err, errNoFault) && settle <= 8*aWhile; settle *= 2 {
					tr := newTrial(at, v) // again if the machine was too slow for the last
					tr.op, tr.do, tr.settle, tr.via = op, do, settle, via
					err = tr.run(t.Context())
				}
				if err != nil {
					t.Errorf("%s, %s: %v", op, do, err)
				}
			})
		}
	}
	wg.Wait()
}

// A trial is a fault of one client of a lock while another contends.
// It has many fields because a trial is one row of a table.
type trial struct {
	at  harness.Endpoint
	via string // the server of the faulty client, "" for at's
	v   *harness.Variant
	key string
	op  string // the request at which the connection is lost; "" for none
	do  faultproxy.Action

	patience time.Duration
	settle   time.Duration   // time for a to queue
	a, b     harness.Session // a loses its connection, b does not
	see      *wirezk.Conn
	inside   atomic.Int32 // holders

	mu   sync.Mutex
	last uint64          // token
	ops  map[string]bool // of the first acquisition
	over bool            // the first acquisition
}

func newTrial(at harness.Endpoint, v *harness.Variant) *trial {
	return &trial{at: at, v: v, key: "faults-" + rand.Text(), patience: patience, settle: aWhile, ops: make(map[string]bool)}
}

func (tr *trial) path() string { return "/locklab/" + tr.key }

func (tr *trial) observe(s faultproxy.Sighting) {
	if s.Dir == faultproxy.Request && strings.HasPrefix(s.Key, tr.path()) {
		tr.mu.Lock()
		defer tr.mu.Unlock()
		if !tr.over {
			tr.ops[s.Op] = true
		}
	}
}

func (tr *trial) sent() []string {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	return slices.Sorted(maps.Keys(tr.ops))
}

func (tr *trial) run(ctx context.Context) (err error) {
	ctx, cancel := context.WithTimeout(ctx, tr.patience)
	defer cancel()
	p, err := faultproxy.New(cmp.Or(tr.via, tr.at.Addrs[0][0]), faultproxy.ZooKeeper, faultproxy.Options{Observe: tr.observe})
	if err != nil {
		return err
	}
	defer p.Close()
	if tr.see, err = wirezk.Connect(ctx, tr.at, wirezk.Options{}); err != nil {
		return err
	}
	defer tr.see.Close()
	through := tr.at
	through.Addrs = [][]string{{p.Addr()}}
	var leave []func() error
	for _, join := range []struct {
		at harness.Endpoint
		s  *harness.Session
	}{{through, &tr.a}, {tr.at, &tr.b}} {
		r, err := tr.v.Remote(ctx, join.at, tr.key)
		if err != nil {
			return err
		}
		if *join.s, err = r.Join(ctx, len(leave)); err != nil {
			return errors.Join(err, r.Close())
		}
		leave = append(leave, func() error { return errors.Join((*join.s).Close(), r.Close()) })
	}
	err = tr.timeline(ctx, p)
	for _, f := range leave {
		err = errors.Join(err, f())
	}
	if err != nil {
		return err
	}
	if names, _, err := tr.see.Children(tr.path()); !errors.Is(err, zk.ErrNoNode) {
		return fmt.Errorf("after Close %s is there, with %q (%v)", tr.path(), names, err)
	}
	return nil
}

// errNoFault is the result of a trial without its fault.
var errNoFault = errors.New("the trial shows nothing")

// timeline: b holds, a queues behind it and gets the lock despite a fault; both continue.
func (tr *trial) timeline(ctx context.Context, p *faultproxy.Proxy) error {
	held, err := tr.enter(ctx, tr.b)
	if err != nil {
		return fmt.Errorf("before the fault: %w", err)
	}
	hit := make(<-chan struct{})
	if tr.op != "" {
		hit = p.Inject(faultproxy.Fault{Do: tr.do, Match: faultproxy.Below(tr.path(), tr.op)}).Done()
	}
	got := make(chan error, 1)
	go func() { got <- tr.acquire(ctx, tr.a) }()
	select {
	case <-hit:
	case <-time.After(tr.settle): // it comes later, with the release
	}
	var early error
	select {
	case early = <-got:
		got <- early
		if tr.v.Traits.Permits > 1 {
			early = nil
			break
		}
		early = fmt.Errorf("the second holder's hold was over before the first left (%v)", early)
	case <-time.After(tr.settle):
	}
	if err := errors.Join(early, tr.leave(ctx, held), <-got); err != nil {
		return err
	}
	tr.mu.Lock()
	tr.over = true
	tr.mu.Unlock()
	if tr.op != "" {
		if !isDone(hit) {
			return fmt.Errorf("%w: no %s was lost", errNoFault, tr.op)
		}
	}
	return tr.after(ctx)
}

func (tr *trial) after(ctx context.Context) error {
	var g errgroup.Group
	for _, s := range []harness.Session{tr.a, tr.b} {
		g.Go(func() error {
			for range 5 {
				if err := tr.acquire(ctx, s); err != nil {
					return fmt.Errorf("after the fault: %w", err)
				}
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	for {
		names, _, err := tr.see.Children(tr.path())
		if err != nil && !errors.Is(err, zk.ErrNoNode) {
			return err
		}
		if len(names) == 0 {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("none wants the lock, and there is still %q", names)
		case <-time.After(5 * time.Millisecond):
		}
	}
}

func (tr *trial) acquire(ctx context.Context, s harness.Session) error {
	l, err := tr.enter(ctx, s)
	if err != nil {
		return err
	}
	time.Sleep(2 * time.Millisecond)
	return tr.leave(ctx, l)
}

func (tr *trial) enter(ctx context.Context, s harness.Session) (harness.Lease, error) {
	l, err := s.Lock(ctx)
	if err != nil {
		return nil, err
	}
	if n := tr.inside.Add(1); n > int32(max(1, tr.v.Traits.Permits)) {
		err = fmt.Errorf("%d hold the lock at once", n)
	}
	tr.mu.Lock()
	defer tr.mu.Unlock()
	if tr.v.Traits.Fenced && l.Token() <= tr.last {
		err = errors.Join(err, fmt.Errorf("token %d after %d", l.Token(), tr.last))
	}
	tr.last = l.Token()
	return l, err
}

func (tr *trial) leave(ctx context.Context, l harness.Lease) error {
	tr.inside.Add(-1)
	replyLost := tr.op != "" && tr.do == faultproxy.LoseReply
	if err := l.Unlock(ctx); err != nil && !(replyLost && errors.Is(err, harness.ErrNotHeld)) {
		return fmt.Errorf("unlock: %w", err)
	}
	return nil
}
