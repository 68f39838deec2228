package zklock_test

import (
	"context"
	"crypto/rand"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"locklab/harness"
	"locklab/internal/faultproxy"
	"locklab/internal/require"
	wirezk "locklab/internal/wire/zookeeper"
	"locklab/zklock"
)

// patience bounds the wait for an expected event; aWhile is the wait for the absence of one.
const (
	patience = 30 * time.Second
	aWhile   = 200 * time.Millisecond
)

type serverTest struct {
	name string
	run  func(*testing.T, harness.Endpoint)
}

// runTogether runs up to 16 tests at once, more than t.Parallel would: they wait most of the time.
// More would keep a server with one processor from renewing their sessions.
func runTogether(t *testing.T, at harness.Endpoint, tests []serverTest) {
	slots := make(chan struct{}, 16)
	var wg sync.WaitGroup
	defer wg.Wait()
	for _, test := range tests {
		wg.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			t.Run(test.name, func(t *testing.T) { test.run(t, at) })
		})
	}
}

func runParallel(t *testing.T, tests []serverTest) {
	t.Helper()
	t.Parallel()
	runTogether(t, endpoint(t), tests)
}

func contextWithin(t *testing.T, d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

// dialServer connects a client for the duration of t. With the default session timeout it does not
// guard its tickets for three seconds: most tests count requests, on possibly slow machines.
func dialServer(t *testing.T, at harness.Endpoint, o zklock.ClientOptions) *zklock.Client {
	t.Helper()
	c, err := zklock.Dial(contextWithin(t, patience), at.Addrs[0], o)
	requireNoError(t, err)
	t.Cleanup(func() { c.Close() })
	if o.SessionTimeout == 0 {
		zklock.Relax(c)
	}
	return c
}

func newMutex(t *testing.T, at harness.Endpoint, path string) *zklock.Mutex {
	t.Helper()
	return dialServer(t, at, zklock.ClientOptions{}).Mutex(path, zklock.Options{})
}

func dialRaw(t *testing.T, at harness.Endpoint) *wirezk.Conn {
	t.Helper()
	c, err := wirezk.Connect(contextWithin(t, patience), at, wirezk.Options{})
	requireNoError(t, err)
	t.Cleanup(c.Close)
	return c
}

var root = "/locklab/zklock-test-" + rand.Text()

const user, password = "locklab", "secret"

func newPath() string { return root + "/" + rand.Text() }

func listQueue(t *testing.T, c *wirezk.Conn, path string) []string {
	t.Helper()
	names, _, err := c.Children(path)
	if err != nil && !errors.Is(err, zk.ErrNoNode) {
		t.Fatal(err)
	}
	number := func(name string) string { return name[max(0, len(name)-10):] }
	slices.SortFunc(names, func(a, b string) int { return strings.Compare(number(a), number(b)) })
	return names
}

func awaitQueue(t *testing.T, c *wirezk.Conn, path string, n int) []string {
	t.Helper()
	var names []string
	waitUntil(t, "the queue has the right length", func() bool {
		names = listQueue(t, c, path)
		return len(names) == n
	})
	return names
}

func waitUntil(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not within %v: %s", patience, what)
		}
	}
}

func lockNow(t *testing.T, m *zklock.Mutex) *zklock.Lease {
	t.Helper()
	return acquireLock(t, m.Lock)
}

func unlockLease(t *testing.T, l harness.Lease) {
	t.Helper()
	requireNoError(t, l.Unlock(t.Context()))
}

var requireNoError = require.NoError

func expectError(t *testing.T, err error, want ...error) {
	t.Helper()
	for _, w := range want {
		if !errors.Is(err, w) {
			t.Errorf("error %v, want %v", err, w)
		}
	}
}

func expectEqual[T comparable](t *testing.T, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

func errorOf[T any](_ T, err error) error { return err }

func lockError(ctx context.Context, lock taker) error { return errorOf(lock(ctx)) }

// handOver unlocks held, and requires that the waiters get the lock with rising tokens, each when
// the holder before unlocks it and not earlier.
func handOver[L harness.Lease](t *testing.T, held L, waiters ...<-chan outcome[L]) {
	t.Helper()
	for _, w := range waiters {
		expectWaiting(t, w)
		unlockLease(t, held)
		l := awaitLease(t, w)
		expectRisingTokens(t, held, l)
		held = l
	}
	unlockLease(t, held)
}

func expectRisingTokens[L harness.Lease](t *testing.T, leases ...L) {
	t.Helper()
	for i, l := range leases[1:] {
		if l.Token() <= leases[i].Token() {
			t.Errorf("token %d after %d", l.Token(), leases[i].Token())
		}
	}
}

func createNode(t *testing.T, see *wirezk.Conn, path string, data []byte, flags int32) string {
	t.Helper()
	name, err := see.Create(path, data, flags, zk.WorldACL(zk.PermAll))
	requireNoError(t, err)
	return name
}

func setData(t *testing.T, see *wirezk.Conn, path string, data []byte) {
	t.Helper()
	_, err := see.Set(path, data, -1)
	requireNoError(t, err)
}

func setACL(t *testing.T, see *wirezk.Conn, path string, acl []zk.ACL) {
	t.Helper()
	_, err := see.SetACL(path, acl, -1)
	requireNoError(t, err)
}

func deleteNode(t *testing.T, see *wirezk.Conn, path string) {
	t.Helper()
	requireNoError(t, see.Delete(path, -1))
}

type outcome[L any] struct {
	l   L
	err error
}

type result = outcome[*zklock.Lease]

func startWaiting(t *testing.T, ctx context.Context, m *zklock.Mutex, see *wirezk.Conn, n int) <-chan result {
	t.Helper()
	got := beginLock(ctx, m.Lock)
	awaitQueue(t, see, m.Path(), n)
	awaitQuiet(t, aWhile/4, zklock.ClientOf(m)) // it watches
	return got
}

func beginLock[L any](ctx context.Context, f func(context.Context) (L, error)) <-chan outcome[L] {
	got := make(chan outcome[L], 1)
	go func() {
		l, err := f(ctx)
		got <- outcome[L]{l, err}
	}()
	return got
}

func awaitQuiet(t *testing.T, while time.Duration, c *zklock.Client) {
	t.Helper()
	waitUntil(t, "the client asks nothing", func() bool {
		return countCost(func() { time.Sleep(while) }, c) == harness.Counts{}
	})
}

func awaitLease[L any](t *testing.T, got <-chan outcome[L]) L {
	t.Helper()
	select {
	case r := <-got:
		requireNoError(t, r.err)
		return r.l
	case <-time.After(patience):
		t.Fatal("the waiter does not get the lock")
		panic("unreachable")
	}
}

func expectWaiting[L any](t *testing.T, got <-chan outcome[L]) {
	t.Helper()
	select {
	case r := <-got:
		t.Fatalf("the waiter returned %v, %v", r.l, r.err)
	case <-time.After(aWhile):
	}
}

func expectLost(t *testing.T, l *zklock.Lease) {
	t.Helper()
	expectError(t, l.Unlock(t.Context()), zklock.ErrNotHeld)
	if !isDone(l.Done()) {
		t.Error("Done is open")
	}
	expectError(t, l.Err(), zklock.ErrLost)
	if until, ok := l.Deadline(); !ok || until.After(time.Now()) {
		t.Errorf("Deadline of a lost lease = %v, %t", until, ok)
	}
}

// A proxy can be silent (Partition) or break new connections at once (Refuse).
type proxy struct {
	*faultproxy.Proxy
	at   harness.Endpoint // the server, through the proxy
	lost *faultproxy.Injection
}

func newProxy(t *testing.T, at harness.Endpoint) *proxy {
	t.Helper()
	fp, err := faultproxy.New(at.Addrs[0][0], faultproxy.ZooKeeper, faultproxy.Options{})
	requireNoError(t, err)
	t.Cleanup(func() { fp.Close() })
	at.Addrs = [][]string{{fp.Addr()}}
	return &proxy{Proxy: fp, at: at}
}

func (p *proxy) cut() { p.Reset() }

func (p *proxy) disconnect() {
	p.Refuse(true)
	p.cut()
}

func (p *proxy) loseReply() { p.lose(faultproxy.Fault{Do: faultproxy.LoseReply}) }

func (p *proxy) lose(f faultproxy.Fault) {
	f.Match = func(m faultproxy.Message) bool { return m.Op != "ping" && m.Op != "connect" }
	p.lost = p.Inject(f)
}

func (p *proxy) replyLost() bool { return isDone(p.lost.Done()) }

func (p *proxy) requireReplyLost(t *testing.T) {
	t.Helper()
	if !p.replyLost() {
		t.Fatal("the test shows nothing: no reply was lost")
	}
}
