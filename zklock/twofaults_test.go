package zklock_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"locklab/harness"
	"locklab/internal/faultproxy"
	wirezk "locklab/internal/wire/zookeeper"
	"locklab/zklock"
)

func TestTwoFaults(t *testing.T) {
	t.Parallel()
	tests := []serverTest{
		{"made anew between create and look, own name taken", mutexTakenBeforeLook},
		{"session ends and name is taken before the ticket is deleted", takenBeforeDelete},
		{"node with the data of a ticket", foundBySession},
	}
	for _, expires := range []bool{true, false} {
		for _, cancels := range []bool{true, false} {
			name := fmt.Sprintf("reply to create lost, name taken, session expires=%t, given up=%t", expires, cancels)
			tests = append(tests, serverTest{name, func(t *testing.T, at harness.Endpoint) { lostCreateTaken(t, at, expires, cancels) }})
		}
	}
	for _, do := range []faultproxy.Action{faultproxy.HoldBack, faultproxy.LoseRequest, faultproxy.LoseReply} {
		tests = append(tests, serverTest{"identity presented again, " + string(do), func(t *testing.T, at harness.Endpoint) { identityLate(t, at, do) }})
	}
	runTogether(t, endpoint(t), tests)
}

func mutexTakenBeforeLook(t *testing.T, at harness.Endpoint) {
	see, path := dialRaw(t, at), newPath()
	c, d := dialServer(t, at, zklock.ClientOptions{}), dialServer(t, at, zklock.ClientOptions{})
	m, n := c.Mutex(path, zklock.Options{}), d.Mutex(path, zklock.Options{})
	byName(t, see, m, n)
	takenBeforeLook(t, see, c, m.Lock, n.Lock, newMutex(t, at, path).Lock)
}

// takenBeforeLook: between the reply that made the ticket of c and its look at the queue, the
// node is recreated. Another then has a ticket of the same name and the lock.
func takenBeforeLook(t *testing.T, see *wirezk.Conn, c *zklock.Client, lock, holder, other taker) {
	head := acquireLock(t, holder)
	taken := make(chan *zklock.Lease, 1)
	zklock.StallOnce(c, zklock.TicketMade, func() {
		recreateNode(t, see, parentOf(head), numberOf(t, head)+1)
		taken <- acquireLock(t, other)
	})
	waits := lockBehind(t.Context(), lock)
	l := <-taken
	expectEqual(t, "without which the test shows nothing: the number of the ticket", numberOf(t, l), numberOf(t, head)+1)
	handOver(t, l, waits)
}

// takenBeforeDelete: a waiter that gives up has seen its ticket. Before the delete its session
// ends, and another client has a ticket of the same name, and the lock.
func takenBeforeDelete(t *testing.T, at harness.Endpoint) {
	p, q, see, path := newProxy(t, at), newProxy(t, at), dialRaw(t, at), newPath()
	two := p.at // the library keeps a request for the next session only if there is another server
	two.Addrs = [][]string{{p.at.Addrs[0][0], q.at.Addrs[0][0]}}
	c := dialServer(t, two, zklock.ClientOptions{SessionTimeout: time.Second})
	head := lockNow(t, newMutex(t, at, path))
	ctx, cancel := context.WithCancel(t.Context())
	waits := startWaiting(t, ctx, c.Mutex(path, zklock.Options{}), see, 2)
	mine, taken := awaitQueue(t, see, path, 2)[1], make(chan *zklock.Lease, 1)
	zklock.StallOnce(c, zklock.NodeFound, func() {
		for _, p := range []*proxy{p, q} {
			p.disconnect()
		}
		awaitQueue(t, see, path, 1)
		recreateNode(t, see, path, numberOf(t, head)+1)
		taken <- lockAs(t, newMutex(t, at, path), mine)
		p.Refuse(false)
		q.Refuse(false)
	})
	cancel()
	<-waits
	other := <-taken
	haveIdentity(t, c) // all pending requests have been sent
	expectSoleHolder(t, see, path, other)
	unlockLease(t, other)
}

// foundBySession: a node is a ticket only in the session in which it was to be made.
func foundBySession(t *testing.T, at harness.Endpoint) {
	see, c := dialRaw(t, at), dialServer(t, at, zklock.ClientOptions{})
	for _, test := range []struct{ own, expired, want bool }{{true, false, true}, {false, false, false}, {true, true, false}} {
		m := c.Mutex(newPath(), zklock.Options{})
		unlockLease(t, lockNow(t, m)) // the node of the lock is there
		found, err := zklock.FindsPlain(m, func(path string, data []byte) error {
			if test.own {
				return zklock.Create(c, path, data)
			}
			return errorOf(see.Create(path, data, zk.FlagEphemeral, zk.WorldACL(zk.PermAll)))
		}, test.expired)
		if found != test.want || err != nil {
			t.Errorf("of this session %t, which has ended since %t: found = %t, %v", test.own, test.expired, found, err)
		}
	}
}

// lostCreateTaken: the reply to a create is lost. Before the client reconnects, the ticket goes
// with the node of the lock, perhaps with the session, and another client has one of its name.
func lostCreateTaken(t *testing.T, at harness.Endpoint, expires, cancels bool) {
	p, see, path := newProxy(t, at), dialRaw(t, at), newPath()
	o := zklock.ClientOptions{}
	if expires {
		o.SessionTimeout = time.Second
	}
	c := dialServer(t, p.at, o)
	haveIdentity(t, c)
	unlockLease(t, lockNow(t, newMutex(t, at, path)))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	p.Refuse(true)
	p.loseReply()
	waits := lockBehind(ctx, c.Mutex(path, zklock.Options{}).Lock)
	p.requireReplyLost(t)
	mine := awaitQueue(t, see, path, 1)[0]
	if expires {
		awaitQueue(t, see, path, 0)
	}
	recreateNode(t, see, path, 1)
	other := lockAs(t, newMutex(t, at, path), mine)
	if cancels {
		cancel()
		expectError(t, (<-waits).err, context.Canceled)
	}
	p.Refuse(false)
	haveIdentity(t, c) // it is connected again
	if !cancels {
		awaitQueue(t, see, path, 2)
		handOver(t, other, waits)
		return
	}
	awaitQuiet(t, aWhile/4, c)
	expectSoleHolder(t, see, path, other)
	unlockLease(t, other)
}

// haveIdentity takes and releases another lock, for which c needs its identity and a connection.
func haveIdentity(t *testing.T, c *zklock.Client) {
	t.Helper()
	unlockLease(t, lockNow(t, c.Mutex(newPath(), zklock.Options{})))
}

// identityLate: a client whose identity is late after a reconnect still hands over.
func identityLate(t *testing.T, at harness.Endpoint, do faultproxy.Action) {
	p, see, path := newProxy(t, at), dialRaw(t, at), newPath()
	c := dialServer(t, p.at, zklock.ClientOptions{})
	head := lockNow(t, c.Mutex(path, zklock.Options{}))
	next := startWaiting(t, t.Context(), newMutex(t, at, path), see, 2)
	if _, err := see.Set(zklock.Node(head), nil, -1); !errors.Is(err, zk.ErrNoAuth) {
		t.Fatalf("the test shows nothing: another writes to the ticket: %v", err)
	}
	late := p.Inject(faultproxy.Fault{Do: do, By: time.Second, Match: faultproxy.Op("auth")})
	p.cut()
	unlockLease(t, head)
	if !isDone(late.Done()) {
		t.Error("the test shows nothing: it presented no identity")
	}
	unlockLease(t, awaitLease(t, next))
	if !zklock.Sealed(c) || p.Seen("delete") > 0 {
		t.Errorf("sealed: %t, %d plain deletes; want a release by the event", zklock.Sealed(c), p.Seen("delete"))
	}
}

// TestReusedNames: while a client is cut off, its ticket and node are replaced by others of
// the same name. It gets a correct result, and the other keeps the lock.
func TestReusedNames(t *testing.T) {
	t.Parallel()
	var tests []serverTest
	for _, how := range []loss{
		{"session expires", time.Second, false, zklock.ErrSessionExpired},
		{"deleteall", 0, false, zklock.ErrLost},
		{"deleteall, on the same connection", 0, true, zklock.ErrLost},
	} {
		for name, do := range map[string]func(*testing.T, *reused) (connected, released func()){
			"Unlock": reusedUnlock, "guard": reusedGuard, "cancel": reusedCancel, "Lock again": reusedLock,
		} {
			tests = append(tests, serverTest{how.name + "/" + name, func(t *testing.T, at harness.Endpoint) { reuseName(t, at, how, name == "cancel", do) }})
		}
	}
	runTogether(t, endpoint(t), tests)
}

type loss struct {
	name    string
	session time.Duration // of the client whose ticket is lost; 0 is the default
	silent  bool          // it keeps its connection
	why     error         // the cause of its lease's end
}

// A reused is a lock whose numbers have restarted while its first client was cut off.
type reused struct {
	loss
	see  *wirezk.Conn
	path string
	m    *zklock.Mutex // of the first client, which holds the lock or waits for it

	first  *zklock.Lease
	waits  <-chan result
	cancel context.CancelFunc
}

// reuseName lets the first client do something in between. do returns the checks for the times
// when that is connected again, and when the others have released the lock.
func reuseName(t *testing.T, at harness.Endpoint, how loss, waits bool, do func(*testing.T, *reused) (connected, released func())) {
	s, p := &reused{loss: how, see: dialRaw(t, at), path: newPath()}, newProxy(t, at)
	c := dialServer(t, p.at, zklock.ClientOptions{SessionTimeout: how.session})
	zklock.SetMargin(c, -time.Hour) // its clock does not end leases
	s.m = c.Mutex(s.path, zklock.Options{})
	var ctx context.Context
	ctx, s.cancel = context.WithCancel(t.Context())
	if waits {
		lockNow(t, newMutex(t, at, s.path))
		s.waits = startWaiting(t, ctx, s.m, s.see, 2)
	} else {
		s.first = lockNow(t, s.m)
	}
	was := listQueue(t, s.see, s.path)
	mine := len(was) - 1
	if how.silent {
		p.Partition(true)
	} else {
		p.disconnect()
	}
	if how.session > 0 {
		awaitQueue(t, s.see, s.path, mine)
	}
	recreateNode(t, s.see, s.path, 0)

	others := []<-chan result{beginLock(t.Context(), newMutex(t, at, s.path).Lock)}
	other := awaitLease(t, others[0])
	if waits {
		others = append(others, startWaiting(t, t.Context(), newMutex(t, at, s.path), s.see, 2))
	}
	before := stateOf(t, s.see, s.path+"/"+was[mine]) // a ticket of another now
	connected, released := do(t, s)
	time.Sleep(aWhile / 4) // its requests wait for a connection
	p.Partition(false)
	p.Refuse(false)
	connected()
	haveIdentity(t, c) // all pending requests have been sent

	expectEqual(t, "the other's ticket", stateOf(t, s.see, s.path+"/"+was[mine]), before)
	if err := other.Err(); err != nil || !zklock.Sealed(c) {
		t.Errorf("the other's Err = %v; the client takes the other's ticket for its own that is closed to it: %t", err, !zklock.Sealed(c))
	}
	handOver(t, other, others[1:]...)
	released()
	awaitQueue(t, s.see, s.path, 0)
}

func stateOf(t *testing.T, see *wirezk.Conn, node string) string {
	t.Helper()
	data, stat, err := see.Get(node)
	requireNoError(t, err)
	return fmt.Sprintf("%s, czxid %d, version %d", data, stat.Czxid, stat.Version)
}

func reusedUnlock(t *testing.T, s *reused) (connected, released func()) {
	done := make(chan error, 1)
	go func() { done <- s.first.Unlock(t.Context()) }()
	return func() {
		// On a busy machine the connection may come late.
		if err := <-done; !errors.Is(err, zklock.ErrNotHeld) && !errors.Is(err, zklock.ErrUnanswered) {
			t.Errorf("Unlock = %v, want ErrNotHeld", err)
		}
		waitUntil(t, "the lease is lost", func() bool { return errors.Is(s.first.Err(), s.why) })
	}, func() {}
}

func reusedGuard(t *testing.T, s *reused) (connected, released func()) {
	return func() {
		expectError(t, awaitEnd(t, s.first), s.why, zklock.ErrLost)
		expectLost(t, s.first)
	}, func() {}
}

func reusedCancel(t *testing.T, s *reused) (connected, released func()) {
	s.cancel()
	expectError(t, (<-s.waits).err, context.Canceled)
	return func() {}, func() {}
}

func reusedLock(t *testing.T, s *reused) (connected, released func()) {
	again := lockBehind(t.Context(), s.m.Lock)
	return func() {
			awaitQueue(t, s.see, s.path, 2)
			expectWaiting(t, again)
			expectError(t, lockError(t.Context(), s.m.TryLock), zklock.ErrNotAcquired)
			expectError(t, s.first.Unlock(t.Context()), zklock.ErrNotHeld)
			expectError(t, awaitEnd(t, s.first), s.why, zklock.ErrLost)
			expectWaiting(t, again)
		}, func() {
			l := awaitLease(t, again)
			expectRisingTokens(t, s.first, l)
			unlockLease(t, l)
		}
}
