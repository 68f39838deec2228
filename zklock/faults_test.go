package zklock_test

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"locklab/harness"
	"locklab/harness/chaos"
	"locklab/internal/faultproxy"
	"locklab/internal/leaktest"
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
			tests = append(tests, serverTest{v.Name, func(t *testing.T, at harness.Endpoint) { testFaults(t, at, "", v) }})
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
			tests = append(tests, serverTest{v.Name, func(t *testing.T, at harness.Endpoint) { testFaults(t, at, follower, v) }})
		}
	}
	if len(tests) < 3 {
		t.Errorf("%d locks are tried", len(tests))
	}
	atOnce(t, at, tests)
}

// testFaults runs the trials of v at once: they mostly wait. A trial is repeated if the machine
// was too slow for it.
func testFaults(t *testing.T, at harness.Endpoint, via string, v *harness.Variant) {
	none := trial{v: v, via: via}
	for settle := aWhile; settle <= 8*aWhile && !slices.Equal(none.sent, steps[v.Name]); settle *= 2 {
		none.run(t, at, settle)
	}
	if !slices.Equal(none.sent, steps[v.Name]) {
		t.Errorf("an acquisition behind another client sends %q; add to steps the line\n\t%q: {%s},", none.sent, v.Name,
			strings.ReplaceAll(strings.Trim(fmt.Sprintf("%q", none.sent), "[]"), " ", ", "))
	}
	var tests []serverTest
	for _, op := range steps[v.Name] {
		for _, do := range []faultproxy.Action{faultproxy.LoseRequest, faultproxy.LoseReply} {
			tests = append(tests, serverTest{op + ", " + do.String(), func(t *testing.T, at harness.Endpoint) {
				tr := trial{v: v, via: via, op: op, do: do}
				for settle := aWhile; settle <= 8*aWhile && !tr.hit; settle *= 2 {
					tr.run(t, at, settle)
				}
				if !tr.hit {
					t.Errorf("the trial shows nothing: no %s was lost", op)
				}
			}})
		}
	}
	together(t, at, tests)
}

// A trial is a fault of one client of a lock behind another.
type trial struct {
	v   *harness.Variant
	via string // the server of the faulty client, "" for the other's
	op  string // the request at which the connection is lost; "" for none
	do  faultproxy.Action

	hit  bool     // the fault has happened
	sent []string // the requests of the faulty client's first acquisition
}

// run lets one client hold the lock and another queue behind it, for a time of settle, and get
// the lock despite the fault. Then both take it several times. Nothing is left behind.
func (tr *trial) run(t *testing.T, at harness.Endpoint, settle time.Duration) {
	key, see := newKey(), raw(t, at)
	path := "/locklab/" + key
	ops := make(chan string, 1000)
	p, err := faultproxy.New(cmp.Or(tr.via, at.Addrs[0][0]), faultproxy.ZooKeeper, faultproxy.Options{Observe: func(s faultproxy.Sighting) {
		if s.Dir == faultproxy.Request && strings.HasPrefix(s.Key, path) {
			select {
			case ops <- s.Op:
			default: // enough
			}
		}
	}})
	requireNoError(t, err)
	defer p.Close()
	through := at
	through.Addrs = [][]string{{p.Addr()}}
	clients := []harness.Remote{client(t, tr.v, through, key), client(t, tr.v, at, key)}
	faulty, other := session(t, clients[0]), session(t, clients[1])
	var r rush

	held := acquire(t, other.Lock)
	hit := make(<-chan struct{})
	if tr.op != "" {
		hit = p.Inject(faultproxy.Fault{Do: tr.do, Match: faultproxy.Below(path, tr.op)}).Done()
	}
	got := begins(t.Context(), faulty.Lock)
	select {
	case <-hit:
	case <-time.After(settle): // it comes later, with the release
	}
	time.Sleep(settle - aWhile)
	expectWaiting(t, got)
	tr.use(t, &r, held)
	tr.use(t, &r, awaitLease(t, got))
	tr.hit = isDone(hit)
	first := make(map[string]bool)
	for range len(ops) {
		first[<-ops] = true
	}
	tr.sent = slices.Sorted(maps.Keys(first))

	var wg sync.WaitGroup
	for _, s := range []harness.Session{faulty, other} {
		wg.Go(func() {
			for range 5 {
				tr.use(t, &r, acquire(t, s.Lock))
			}
		})
	}
	wg.Wait()
	awaitQueue(t, see, path, 0)
	for _, c := range clients {
		requireNoError(t, c.Close())
	}
	if there, _, err := see.Exists(path); there || err != nil {
		t.Errorf("after Close %s is there: %t, %v", path, there, err)
	}
}

// use visits the resource under a lease and unlocks it, with an error only after a lost reply.
func (tr *trial) use(t *testing.T, r *rush, l harness.Lease) {
	r.stay(t, l.Token(), true, func() bool { return true })
	replyLost := tr.op != "" && tr.do == faultproxy.LoseReply
	if err := l.Unlock(t.Context()); err != nil && !(replyLost && errors.Is(err, harness.ErrNotHeld)) {
		t.Errorf("unlock: %v", err)
	}
}

// TestCutOff: an answer of a server that is cut off does not prove a session alive.
func TestCutOff(t *testing.T) {
	t.Parallel()
	var wg sync.WaitGroup
	defer wg.Wait()
	for _, c := range []struct {
		name  string
		leads bool // the server that is cut off
		cut   func(e *chaos.Linked, server int)
	}{
		{"follower isolated", false, (*chaos.Linked).Isolate},
		{"leader half open", true, (*chaos.Linked).Depose},
	} {
		// Without t.Parallel: they wait most of the time, and would delay other tests.
		wg.Go(func() { t.Run(c.name, func(t *testing.T) { cutOffServer(t, c.leads, c.cut) }) })
	}
}

// cutOffServer cuts off one server of three, with ZooKeeper's sample ticks and limits.
func cutOffServer(t *testing.T, leads bool, cut func(e *chaos.Linked, server int)) {
	e, err := chaos.StartLinked(t.Context())
	requireStarted(t, e, err)
	leaktest.Own(t)
	addrs := e.Server().Endpoint().Addrs[0]
	server := leader(t, e.Server())
	if !leads {
		server = (server + 1) % len(addrs)
	}
	see := raw(t, harness.Endpoint{Kind: harness.KindZooKeeper, Addrs: [][]string{addrs[server : server+1]}})
	cut(e, server)
	proofs(t, see, leads)
}

// proofs: answers of a server that is cut off prove nothing, and it leaves writes unanswered.
func proofs(t *testing.T, c *wirezk.Conn, leads bool) {
	before := c.Proof()
	var wg sync.WaitGroup
	for name, path := range map[string]string{"succeeds": "/", "fails": "/nothing"} {
		wg.Go(func() {
			_, err := c.Multi(&zk.CheckVersionRequest{Path: path, Version: -1})
			if !errors.Is(err, zk.ErrConnectionClosed) {
				t.Errorf("a multi of a check that %s is answered without a majority (%v)", name, err)
			}
		})
	}
	if leads {
		if _, err := c.Sync("/"); err != nil {
			t.Errorf("a leader that is cut off does not answer sync: %v: the test shows less than it did", err)
		}
	}
	time.Sleep(2 * time.Second)
	if p := c.Proof(); !p.Since.Equal(before.Since) || p.Unanswered.IsZero() {
		t.Errorf("at a server that is cut off the proof of the session has become %+v, from %+v", p, before)
	}
	wg.Wait()
}
