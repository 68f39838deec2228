package zklock_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"locklab/harness"
	"locklab/internal/faultproxy"
	wirezk "locklab/internal/wire/zookeeper"
	"locklab/zklock"
)

// A take is the Lock of one client.
type take func(context.Context) (harness.Lease, error)

// turns are three holders of a lock, each behind the one before: of a client whose server is
// behind a proxy, and of another client.
type turns struct {
	name  string
	lost  []faultproxy.Action
	most  int // messages of the first client, each of which is lost in one test
	takes func(t *testing.T, see *wirezk.Conn, faulty, other harness.Endpoint, path string) [3]take
}

var (
	replies  = []faultproxy.Action{faultproxy.LoseReply}
	messages = []faultproxy.Action{faultproxy.LoseRequest, faultproxy.LoseReply}
)

var lossy = []turns{
	{"mutex", replies, 20, turnsOf(func(_ *testing.T, p pair) [3]taker { return [3]taker{p.m.Lock, p.n.Lock, p.m.Lock} })},
	{"a reader behind a writer", replies, 20, turnsOf(func(_ *testing.T, p pair) [3]taker { return [3]taker{p.v.Lock, p.w.Lock, p.v.RLock} })},
	{"a writer behind a reader", replies, 20, turnsOf(func(_ *testing.T, p pair) [3]taker { return [3]taker{p.v.Lock, p.w.RLock, p.v.Lock} })},
	{"the ticket ahead is asked for by its name", messages, 10, turnsOf(func(t *testing.T, p pair) [3]taker {
		byName(t, p.see, p.m, p.n)
		return [3]taker{p.n.Lock, p.m.Lock, p.n.Lock}
	})},
	{"the last turn was its own", messages, 6, turnsOf(func(t *testing.T, p pair) [3]taker {
		for range 3 {
			unlockLease(t, lockNow(t, p.m))
		}
		return [3]taker{p.m.Lock, p.n.Lock, p.n.Lock}
	})},
}

// A pair is a mutex and a reader-writer lock on one path, each of two clients.
type pair struct {
	see  *wirezk.Conn
	m, n *zklock.Mutex
	v, w *zklock.RWMutex
}

func turnsOf(open func(t *testing.T, p pair) [3]taker) func(*testing.T, *wirezk.Conn, harness.Endpoint, harness.Endpoint, string) [3]take {
	return func(t *testing.T, see *wirezk.Conn, faulty, other harness.Endpoint, path string) (takes [3]take) {
		c, d, o := dialServer(t, faulty, zklock.ClientOptions{}), dialServer(t, other, zklock.ClientOptions{}), zklock.Options{}
		for i, f := range open(t, pair{see, c.Mutex(path, o), d.Mutex(path, o), c.RWMutex(path, o), d.RWMutex(path, o)}) {
			takes[i] = func(ctx context.Context) (harness.Lease, error) { return f(ctx) }
		}
		return takes
	}
}

// turnsOfVariant lets the other client of a lock of the lab hold it first.
func turnsOfVariant(v *harness.Variant) turns {
	return turns{v.Name, messages, 6, func(t *testing.T, see *wirezk.Conn, faulty, other harness.Endpoint, path string) [3]take {
		t.Cleanup(func() { // the clients are closed
			if there, _, err := see.Exists(path); there || err != nil {
				t.Errorf("after Close %s is there: %t, %v", path, there, err)
			}
		})
		key := strings.TrimPrefix(path, "/locklab/")
		m, n := session(t, connectVariant(t, v, faulty, key)), session(t, connectVariant(t, v, other, key))
		return [3]take{n.Lock, m.Lock, n.Lock}
	}}
}

// TestFaults loses each request, or each reply and event, of the turns once: of locks of the
// lab with one holder and one node, and of the special cases of a Mutex and a RWMutex.
func TestFaults(t *testing.T) {
	t.Parallel()
	all := slices.Clone(lossy)
	for _, v := range correctVariants() {
		if !slices.Contains([]string{"zk-semaphore", "zk-semaphore-v2", "zk-multi"}, v.Name) { // see TestKinds
			all = append(all, turnsOfVariant(v))
		}
	}
	at := endpoint(t)
	loseMessages(t, at, at, all)
}

// TestFaultsAtFollower is TestFaults with the faulty client at a follower, which may lag.
func TestFaultsAtFollower(t *testing.T) {
	t.Parallel()
	server := ensemble(t)
	leading, leader, follower := leader(t, server), server.Endpoint(), server.Endpoint()
	addrs := leader.Addrs[0]
	leader.Addrs = [][]string{{addrs[leading]}}
	follower.Addrs = [][]string{{addrs[(leading+1)%len(addrs)]}}
	var all []turns
	for _, name := range []string{"zk-handoff", "zk-rw", "zk-cohort"} {
		all = append(all, turnsOfVariant(variant(t, name)))
	}
	loseMessages(t, follower, leader, all)
}

func loseMessages(t *testing.T, faulty, other harness.Endpoint, all []turns) {
	t.Helper()
	var tests []serverTest
	for _, turn := range all {
		for _, do := range turn.lost {
			for k := range turn.most {
				tests = append(tests, serverTest{fmt.Sprintf("%s, %s %d", turn.name, do, k), func(t *testing.T, _ harness.Endpoint) {
					turn.loseMessage(t, faulty, other, faultproxy.Fault{Do: do, Skip: k})
				}})
			}
		}
	}
	runTogether(t, other, tests)
}

// loseMessage requires that the turns come in order despite the fault, that both clients then
// take the lock several times, and that no ticket is left.
func (turn turns) loseMessage(t *testing.T, faulty, other harness.Endpoint, f faultproxy.Fault) {
	p, see, path := newProxy(t, faulty), dialRaw(t, other), newPath()
	takes := turn.takes(t, see, p.at, other, path)
	leave := func(l harness.Lease) {
		err := l.Unlock(t.Context())
		mayBeLost := f.Do == faultproxy.LoseReply && (errors.Is(err, harness.ErrNotHeld) || errors.Is(err, zklock.ErrNotHeld))
		if err != nil && !mayBeLost || l.Err() == nil {
			t.Errorf("Unlock = %v, and then Err = %v", err, l.Err())
		}
	}
	p.lose(f)
	leases := []harness.Lease{acquireLock(t, takes[0])}
	for i, f := range takes[1:] {
		next := beginLock(t.Context(), f)
		awaitQueue(t, see, path, 2)
		expectWaiting(t, next)
		leave(leases[i])
		leases = append(leases, awaitLease(t, next))
	}
	leave(leases[2])
	expectRisingTokens(t, leases...)
	var r rush
	var wg sync.WaitGroup
	for _, f := range takes[:2] {
		wg.Go(func() {
			for range 4 {
				l := acquireLock(t, f)
				r.stay(t, l.Token(), func() bool { return true })
				leave(l)
			}
		})
	}
	wg.Wait()
	awaitQueue(t, see, path, 0)
	if f.Skip < 4 && !p.replyLost() {
		t.Errorf("the test shows nothing: message %d was not lost", f.Skip)
	}
}

// TestHistorical shows the faults, by number, that failure scenarios do not show.
func TestHistorical(t *testing.T) {
	runParallel(t, []serverTest{
		{"writelock/B7 adopts a ticket", adoptsTicket},
		{"boolean-mutex/B8 asks 16 times a second", asksTooOften},
		{"boolean-mutex/B10 owns after the session", ownsAfterSession},
	})
}

// adoptsTicket: the second lock of a session makes no ticket, and waits for the first one's.
func adoptsTicket(t *testing.T, at harness.Endpoint) {
	see, key, v := dialRaw(t, at), newKey(), variant(t, "zk-writelock-historical")
	c := connectVariant(t, v, at, key)
	held := acquireLock(t, session(t, c).Lock)
	ctx, cancel := context.WithCancel(t.Context())
	second := beginLock(ctx, session(t, c).Lock)
	expectWaiting(t, second)
	if names := listQueue(t, see, "/locklab/"+key); len(names) != 1 {
		t.Errorf("the hazard does not show: two locks of one session have the tickets %q", names)
	}
	cancel()
	if g := <-second; !errors.Is(g.err, zk.ErrInvalidPath) {
		t.Errorf("the hazard does not show: Lock = %v, want also %v", g.err, zk.ErrInvalidPath)
	}
	unlockLease(t, held)
}

// asksTooOften: every 60 ms, with one more watch; the fixed lock sends three requests.
func asksTooOften(t *testing.T, at harness.Endpoint) {
	for name, idle := range map[string]bool{"zk-boolean-mutex-historical": false, "zk-boolean-mutex": true} {
		key, v := newKey(), variant(t, name)
		held := acquireLock(t, session(t, connectVariant(t, v, at, key)).Lock)
		c := connectVariant(t, v, at, key)
		waiter := beginLock(t.Context(), session(t, c).Lock)
		time.Sleep(4 * aWhile)
		if asked := c.(interface{ Counts() harness.Counts }).Counts().Requests; idle != (asked == 3) || !idle && asked < 8 {
			t.Errorf("%s: a waiter sends %d requests while nothing happens, want 3: %t", name, asked, idle)
		}
		unlockLease(t, held)
		awaitLease(t, waiter)
	}
}

// ownsAfterSession: the object grants an expired session's lock, which another client has.
func ownsAfterSession(t *testing.T, at harness.Endpoint) {
	p, key, v := newProxy(t, at), newKey(), variant(t, "zk-boolean-mutex-historical")
	p.at.SessionTimeout = time.Second
	s := session(t, connectVariant(t, v, p.at, key))
	old := acquireLock(t, s.Lock)
	p.disconnect()
	other := acquireLock(t, session(t, connectVariant(t, v, at, key)).Lock)
	p.Refuse(false)
	if again := acquireLock(t, s.Lock); old.Err() != nil || again.Err() != nil || other.Err() != nil {
		t.Errorf("the hazard does not show: %v, %v, %v", old.Err(), again.Err(), other.Err())
	}
	unlockLease(t, other)
}
