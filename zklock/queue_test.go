package zklock_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/go-zookeeper/zk"

	"locklab/harness"
	"locklab/internal/backend"
	"locklab/internal/faultproxy"
	"locklab/peers"
	"locklab/zklock"
	"locklab/zklock/lab"
)

func TestQueue(t *testing.T) {
	runParallel(t, []serverTest{
		{"requests alone", requestsAlone},
		{"requests behind others", requestsBehindOthers},
		{"waiters give up again and again", watchesShared},
		{"containers", checkContainers},
	})
}

// requestsAlone: the requests of each kind, and of a Mutex whose node is unusual.
func requestsAlone(t *testing.T, at harness.Endpoint) {
	see, c := dialRaw(t, at), dialServer(t, at, zklock.ClientOptions{})
	expect := func(what string, f taker, each uint64, prepare func()) {
		unlockLease(t, acquireLock(t, f)) // makes the parents
		prepare()
		for range 2 {
			unlockLease(t, acquireLock(t, f)) // one watches the node of the lock
		}
		got := countCost(func() {
			for range 10 {
				unlockLease(t, acquireLock(t, f))
			}
		}, c)
		if got.Requests != 10*each || got.Notifications > 0 && what != "semaphore v2" { // that watches the list
			t.Errorf("%s: 10 acquisitions cost %+v, want %d requests each", what, got, each)
		}
	}
	for _, k := range kinds {
		expect(k.name, k.lock(c, newPath()).Lock, k.alone, func() {})
	}
	closed, shared := c.Mutex(newPath(), zklock.Options{}), c.Mutex(newPath(), zklock.Options{})
	expect("a node that cannot be written", closed.Lock, 2, func() { setACL(t, see, closed.Path(), zk.WorldACL(zk.PermAll&^zk.PermWrite)) })
	expect("a foreign child", shared.Lock, 2, func() { createNode(t, see, shared.Path()+"/foreign", nil, zk.FlagEphemeral) })
}

func watchesShared(t *testing.T, at harness.Endpoint) {
	holder, c, see, path := dialServer(t, at, zklock.ClientOptions{}), dialServer(t, at, zklock.ClientOptions{}), dialRaw(t, at), newPath()
	m := c.Mutex(path, zklock.Options{})
	l := lockNow(t, holder.Mutex(path, zklock.Options{}))
	const waiters = 10
	var start harness.Counts
	for k := range waiters + 1 {
		if k == 1 { // the first does not know yet that there are others
			start = counts(c)
		}
		ctx, cancel := context.WithCancel(t.Context())
		got := startWaiting(t, ctx, m, see, 2)
		cancel()
		expectError(t, (<-got).err, context.Canceled)
		awaitQueue(t, see, path, 1)
	}
	// Each creates, lists and deletes; the first watched.
	if got := counts(c).Sub(start).Requests; got > 3*waiters {
		t.Errorf("%d waiters that gave up cost %d requests, want at most %d", waiters, got, 3*waiters)
	}
	if names, err := zklock.ListBehind(holder, path); len(names) != 1 || err != nil {
		t.Errorf("a list that begins behind an older one is %q, %v, want the ticket", names, err)
	}
	handOver(t, l, startWaiting(t, t.Context(), m, see, 2)) // on the same watch
	expectEqual(t, "watch events", counts(c).Sub(start).Notifications, 1)
}

// containers: a node does not show whether it is a container, so the test checks the requests.
func checkContainers(t *testing.T, at harness.Endpoint) {
	p := newProxy(t, at)
	c := dialServer(t, p.at, zklock.ClientOptions{})
	for _, container := range []bool{false, true} {
		unlockLease(t, lockNow(t, c.Mutex(newPath()+"/a/b", zklock.Options{Container: container})))
		if n := p.Seen("createContainer"); n > 0 != container || container && n != 5 { // including existing ones
			t.Errorf("%d containers were asked for, want 5: %t", n, container)
		}
	}
}

func variant(t *testing.T, name string) *harness.Variant {
	t.Helper()
	all := slices.Concat(lab.Suite, peers.Suite)
	i := slices.IndexFunc(all, func(v *harness.Variant) bool { return v.Name == name })
	if i < 0 {
		t.Fatalf("no lock %q", name)
	}
	return all[i]
}

func newKey() string { return newPath()[len("/locklab/"):] }

func connectVariant(t *testing.T, v *harness.Variant, at harness.Endpoint, key string) harness.Remote {
	t.Helper()
	r, err := v.Remote(contextWithin(t, 3*patience), at, key) // it may start Java
	requireNoError(t, err)
	t.Cleanup(func() { r.Close() })
	return r
}

func session(t *testing.T, r harness.Remote) harness.Session {
	t.Helper()
	s, err := r.Join(t.Context(), 0)
	requireNoError(t, err)
	return s
}

// requestsBehindOthers checks the traffic of an acquisition with four contenders: alone, plus two
// requests for each wait, some of which occur. A ticket ahead that goes before it is watched
// costs two without a notification.
func requestsBehindOthers(t *testing.T, at harness.Endpoint) {
	alone := map[string]float64{"zk-fair": 3, "zk-boolean-mutex": 3, "zk-two-level": 3, "zk-two-level-local-first": 3, "zk-cohort": 3,
		"zk-writelock": 5} // it checks its parent and its ticket each time
	for _, v := range correctVariants() {
		all, key := make([]contestant, 4), newKey()
		for i := range all {
			r := connectVariant(t, v, at, key)
			all[i] = contestant{session(t, r).Lock, r.(interface{ Counts() harness.Counts }).Counts}
		}
		requests, notifications := contendRounds(t, all, 25)
		more, ok := requests-alone[v.Name]-2*notifications, true
		switch v.Name {
		case "zk-semaphore", "zk-semaphore-v2":
			ok = requests <= 12
		case "zk-poll":
			ok = notifications == 0
		case "zk-herd": // every waiter gets an event for every other's arrival and departure
			ok = notifications >= 2
		default:
			ok = alone[v.Name] == 0 || more >= -0.05 && more <= 1 && notifications >= 0.2 && notifications <= 1
		}
		if !ok {
			t.Errorf("%s costs %.2f requests and %.2f notifications for each of 4 contenders", v.Name, requests, notifications)
		}
	}
}

// A contestant is a client of a lock.
type contestant struct {
	lock   func(context.Context) (harness.Lease, error)
	counts func() harness.Counts
}

// contendRounds lets clients queue again at once. It returns the traffic of an acquisition in that many
// rounds of all clients, after three others.
func contendRounds(t *testing.T, all []contestant, rounds int) (requests, notifications float64) {
	t.Helper()
	var mu sync.Mutex
	var acquisitions int
	var spent, before harness.Counts
	from, to := 3*len(all), (3+rounds)*len(all)
	note := func() (again bool) {
		mu.Lock()
		defer mu.Unlock()
		if acquisitions++; acquisitions == from || acquisitions == to {
			before, spent = spent, harness.Counts{}
			for _, c := range all {
				spent = spent.Add(c.counts())
			}
		}
		return acquisitions < to+2*len(all)
	}
	var wg sync.WaitGroup
	for _, c := range all {
		wg.Go(func() {
			for again := true; again; {
				l := acquireLock(t, c.lock)
				again = note()
				unlockLease(t, l)
			}
		})
	}
	wg.Wait()
	spent = spent.Sub(before)
	n := float64(rounds * len(all))
	return float64(spent.Requests) / n, float64(spent.Notifications) / n
}

func correctVariants() []*harness.Variant {
	return slices.DeleteFunc(slices.Clone(lab.Suite), func(v *harness.Variant) bool { return !v.Status.Competes() })
}

func counts(c *zklock.Client) harness.Counts { return harness.Counts(c.Stats()) }

const (
	fewLeft  = math.MaxInt32 - 2
	halfUsed = 1<<30 + 1<<10 // a number at which a release recreates the node
)

// TestNumbersEnd runs locks whose counter of sequential nodes is nearly used up.
func TestNumbersEnd(t *testing.T) {
	t.Parallel()
	counters := map[string]int32{
		"/end": 0, "/end/refused": fewLeft, "/end/foreign": fewLeft, "/end/early": halfUsed, "/end/hidden": fewLeft,
		"/end/closed": 0, "/end/closed/lock": fewLeft,
	}
	tests := []serverTest{
		{"refused", refusesNumbers},
		{"foreign child", foreignChildStays},
		{"early", renewsEarly},
		{"no right to delete", mayNotDelete},
		{"no right to see the ACL", mayNotSeeACL},
	}
	for i, k := range kinds {
		if k.reads {
			continue
		}
		path := fmt.Sprintf("/end/kind%d", i)
		queues := map[string][]string{"multi": {"-a", "-b"}, "semaphore v2": {"/locks", "/leases"}}[k.name]
		if counters[path] = 0; queues == nil {
			queues = []string{""}
		}
		for _, dir := range queues {
			counters[path+dir] = fewLeft
		}
		tests = append(tests, serverTest{k.name, func(t *testing.T, at harness.Endpoint) { k.perform(t, at, path, endOfNumbers) }})
	}
	runTogether(t, startServer(t, backend.EnsembleOptions{Counters: counters}), tests)
}

func endOfNumbers(t *testing.T, s *stage) {
	var r rush
	var wg sync.WaitGroup
	for range 4 {
		f := s.taker(t)
		wg.Go(func() {
			for range 3 {
				r.visit(t, contextWithin(t, patience), f, true)
			}
		})
	}
	wg.Wait()
	expectEqual(t, "acquisitions", r.acquisitions.Load(), 12)
}

// refusesNumbers: no ticket is granted near the end; then the node is recreated.
func refusesNumbers(t *testing.T, at harness.Endpoint) {
	const path = "/end/refused"
	see, p := dialRaw(t, at), newProxy(t, at)
	m := newMutex(t, p.at, path)
	p.Inject(faultproxy.Fault{Do: faultproxy.HoldBack, Match: func(m faultproxy.Message) bool {
		return m.Op == "getACL" && errorOf(see.Set(path, []byte("new"), -1)) == nil
	}})
	other := createNode(t, see, path+"/_c_0123456789abcdef-lock-", nil, zk.FlagEphemeralSequential)
	expectError(t, lockError(t.Context(), m.TryLock), zklock.ErrExhausted, zklock.ErrNotAcquired)
	waitUntil(t, "Lock is refused", func() bool { // its time may end before the server has answered
		err := lockError(contextWithin(t, aWhile), m.Lock)
		return errors.Is(err, zklock.ErrExhausted) && errors.Is(err, zklock.ErrNotAcquired) && errors.Is(err, context.DeadlineExceeded)
	})
	waits := lockBehind(t.Context(), m.Lock)
	expectWaiting(t, waits)
	awaitQueue(t, see, path, 1)
	deleteNode(t, see, other)
	unlockLease(t, awaitLease(t, waits))
	data, _, _ := see.Get(path)
	expectEqual(t, "data set just before the node is recreated", string(data), "new")
}

func foreignChildStays(t *testing.T, at harness.Endpoint) {
	const path = "/end/foreign"
	createNode(t, dialRaw(t, at), path+"/inner", nil, 0)
	requireExhausted(t, at, path, nil)
}

func mayNotDelete(t *testing.T, at harness.Endpoint) {
	setACL(t, dialRaw(t, at), "/end/closed", zk.WorldACL(zk.PermAll&^zk.PermDelete))
	requireExhausted(t, at, "/end/closed/lock", zk.ErrNoAuth)
}

func mayNotSeeACL(t *testing.T, at harness.Endpoint) {
	acl := append(zk.DigestACL(zk.PermAdmin, user, password), zk.WorldACL(zk.PermAll&^zk.PermAdmin)...)
	setACL(t, dialRaw(t, at), "/end/hidden", acl)
	requireExhausted(t, at, "/end/hidden", nil)
}

func requireExhausted(t *testing.T, at harness.Endpoint, path string, why error) {
	t.Helper()
	ctx := contextWithin(t, patience)
	_, err := newMutex(t, at, path).Lock(ctx)
	if !errors.Is(err, zklock.ErrExhausted) || why != nil && !errors.Is(err, why) || ctx.Err() != nil {
		t.Errorf("Lock of %s = %v, want ErrExhausted and %v", path, err, why)
	}
}

// renewsEarly: a release recreates a free node long before the end, but none with a ticket.
func renewsEarly(t *testing.T, at harness.Endpoint) {
	const path = "/end/early"
	see := dialRaw(t, at)
	want := append(zk.DigestACL(zk.PermAll, user, password), zk.WorldACL(zk.PermAll&^zk.PermAdmin)...)
	setData(t, see, path, []byte("data"))
	setACL(t, see, path, want)
	c := dialServer(t, at, zklock.ClientOptions{Username: user, Password: password, ACL: zk.WorldACL(zk.PermAll)})
	m := c.Mutex(path, zklock.Options{})
	takeNumbered := func(want string) {
		l := lockNow(t, m)
		if !strings.HasSuffix(zklock.Node(l), want) {
			t.Fatalf("ticket %s, want number %s", zklock.Node(l), want)
		}
		unlockLease(t, l)
	}
	takeNumbered(fmt.Sprint(halfUsed))
	waitUntil(t, "the node is made again", func() bool {
		data, stat, err := see.Get(path)
		if err != nil || string(data) != "data" {
			t.Fatalf("the node of the lock has %q (%v)", data, err)
		}
		return stat.Cversion == 0
	})
	got, _, err := see.GetACL(path)
	if err != nil || len(got) != 2 || got[0].Scheme != want[0].Scheme || got[1] != want[1] {
		t.Errorf("the ACL is %v, %v, want %v", got, err, want)
	}
	takeNumbered("-0000000000")
}
