package zklock_test

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"locklab/harness"
	"locklab/internal/backend"
	"locklab/internal/faultproxy"
	wirezk "locklab/internal/wire/zookeeper"
	"locklab/zklock"
)

// TestPlain tests tickets without a unique name, whose names are reused.
func TestPlain(t *testing.T) {
	runParallel(t, []serverTest{
		{"list", func(t *testing.T, at harness.Endpoint) { plainList(t, at, false, false) }},
		{"list after a reconnect", func(t *testing.T, at harness.Endpoint) { plainList(t, at, true, false) }},
		{"list after a reconnect at once", func(t *testing.T, at harness.Endpoint) { plainList(t, at, false, true) }},
		{"number ahead", plainAhead},
		{"last turn, watched", func(t *testing.T, at harness.Endpoint) { plainLastTurn(t, at, 3) }},
		{"last turn, not watched", func(t *testing.T, at harness.Endpoint) { plainLastTurn(t, at, 1) }},
		{"two tickets of a client", plainTwo},
		{"watch of a name before", plainWatchedBefore},
		{"name in use", plainNameInUse},
	})
}

// recreateNode recreates the node at path, so that its numbers restart, and uses up the first numbers.
func recreateNode(t *testing.T, see *wirezk.Conn, path string, numbers int) {
	t.Helper()
	for _, name := range listQueue(t, see, path) {
		if err := see.Delete(path+"/"+name, -1); err != nil && !errors.Is(err, zk.ErrNoNode) {
			t.Fatal(err)
		}
	}
	deleteNode(t, see, path)
	createNode(t, see, path, nil, zk.FlagPersistent)
	useNumbers(t, see, path, numbers)
}

func useNumbers(t *testing.T, see *wirezk.Conn, path string, numbers int) {
	t.Helper()
	for range numbers {
		deleteNode(t, see, createNode(t, see, path+"/x-", nil, zk.FlagEphemeralSequential))
	}
}

func ticketName(l *zklock.Lease) string {
	node := zklock.Node(l)
	return node[strings.LastIndexByte(node, '/')+1:]
}

// lockAs requires that the ticket has this name, which has no unique part.
func lockAs(t *testing.T, m *zklock.Mutex, want string) *zklock.Lease {
	t.Helper()
	l := lockNow(t, m)
	if ticketName(l) != want || !strings.HasPrefix(want, "lock-") {
		t.Fatalf("the test shows nothing: ticket %s, want %s", ticketName(l), want)
	}
	return l
}

func expectSoleHolder(t *testing.T, see *wirezk.Conn, path string, l *zklock.Lease) {
	t.Helper()
	if names := listQueue(t, see, path); len(names) != 1 || names[0] != ticketName(l) || l.Err() != nil {
		t.Errorf("the queue is %q, want the ticket of the holder, %s (%v)", names, ticketName(l), l.Err())
	}
}

func parentOf(l *zklock.Lease) string { return strings.TrimSuffix(zklock.Node(l), "/"+ticketName(l)) }

// plainList: a waiter is cut off, perhaps as soon as it watches, while others get its number and
// the one ahead. Then it gets the NodeDataChanged of another ticket with the name of the one ahead.
func plainList(t *testing.T, at harness.Endpoint, breaks, atOnce bool) {
	p, see, path := newProxy(t, at), dialRaw(t, at), newPath()
	mutex := func() *zklock.Mutex { return newMutex(t, at, path) }
	c := zklock.Relax(dialServer(t, p.at, zklock.ClientOptions{SessionTimeout: time.Minute})) // it waits long for a handshake
	lockNow(t, mutex())
	watched := make(chan bool)
	zklock.StallOnce(c, zklock.WatchSet, func() {
		defer close(watched)
		if atOnce {
			p.Inject(faultproxy.Fault{Do: faultproxy.HoldBack, By: 3 * time.Second, Match: faultproxy.Op("connect")})
			p.cut()
			waitUntil(t, "it is cut off", func() bool { return !zklock.Up(c) })
		}
	})
	waits := startWaiting(t, t.Context(), c.Mutex(path, zklock.Options{}), see, 2)
	<-watched
	was := listQueue(t, see, path)
	if breaks {
		p.disconnect()
	} else if !atOnce {
		p.Partition(true)
	}
	recreateNode(t, see, path, 0)
	head := lockAs(t, mutex(), was[0])
	next := startWaiting(t, t.Context(), mutex(), see, 2)
	if names := listQueue(t, see, path); !slices.Equal(names, was) {
		t.Fatalf("the test shows nothing: the queue is %q, was %q", names, was)
	}
	p.Partition(false)
	p.Refuse(false)
	if breaks || atOnce {
		awaitQueue(t, see, path, 3)
	}
	handOver(t, head, next, waits) // it is woken, and its guard comes later
}

func plainAhead(t *testing.T, at harness.Endpoint) {
	see, path := dialRaw(t, at), newPath()
	c, d := dialServer(t, at, zklock.ClientOptions{}), dialServer(t, at, zklock.ClientOptions{})
	m, n := c.Mutex(path, zklock.Options{}), d.Mutex(path, zklock.Options{})
	byName(t, see, m, n)
	head := lockNow(t, n)
	others := []*zklock.Mutex{newMutex(t, at, path), newMutex(t, at, path)}
	var second *zklock.Lease
	third := make(chan (<-chan result), 1)
	zklock.StallOnce(c, zklock.TicketMade, func() {
		recreateNode(t, see, path, numberOf(t, head))
		second = lockAs(t, others[0], ticketName(head))
		third <- startWaiting(t, t.Context(), others[1], see, 2)
	})
	waits := lockBehind(t.Context(), m.Lock)
	last := <-third
	handOver(t, second, last, waits) // its guard comes later
}

func numberOf(t *testing.T, l *zklock.Lease) (n int) {
	t.Helper()
	for _, c := range ticketName(l)[len(ticketName(l))-10:] {
		n = 10*n + int(c-'0')
	}
	return n
}

// byName lets m wait behind n until it asks for the ticket ahead by name.
func byName(t *testing.T, see *wirezk.Conn, m, n *zklock.Mutex) {
	t.Helper()
	c := zklock.ClientOf(m)
	for range 10 {
		head := lockNow(t, n)
		var l *zklock.Lease
		got := countCost(func() {
			next := startWaiting(t, t.Context(), m, see, 2)
			unlockLease(t, head)
			l = awaitLease(t, next)
			unlockLease(t, l)
		}, c)
		if got == (harness.Counts{Requests: 3, Notifications: 1}) {
			return
		}
	}
	t.Fatal("the test shows nothing: the ticket ahead is not asked for by its name")
}

// plainLastTurn: a client whose last ticket had the previous number is first, on the same node.
func plainLastTurn(t *testing.T, at harness.Endpoint, turns int) {
	see, path, c := dialRaw(t, at), newPath(), dialServer(t, at, zklock.ClientOptions{})
	m := c.Mutex(path, zklock.Options{})
	var l *zklock.Lease
	for range turns {
		l = lockNow(t, m)
		unlockLease(t, l)
	}
	recreateNode(t, see, path, numberOf(t, l))
	handOver(t, lockAs(t, newMutex(t, at, path), ticketName(l)), startWaiting(t, t.Context(), m, see, 2))
}

// TestOlderData: after servers return with older data, a client's last turn proves nothing.
func TestOlderData(t *testing.T) {
	t.Parallel()
	log := t.TempDir()
	server, err := backend.StartEnsembleOf(t.Context(), backend.EnsembleOptions{Servers: 1, Config: "dataLogDir=" + log})
	at, path := requireStarted(t, server, err).Endpoint(), newPath()
	useNumbers(t, dialRaw(t, at), "", 30) // zxids of the new data stay below
	c := dialServer(t, at, zklock.ClientOptions{SessionTimeout: time.Second})
	m, session := c.Mutex(path, zklock.Options{}), zklock.SessionID(c)
	last := lockNow(t, m)
	unlockLease(t, last)
	requireNoError(t, errors.Join(server.Kill(0), os.RemoveAll(log), server.Restart(t.Context(), 0)))
	head := lockAs(t, newMutex(t, at, path), ticketName(last))
	waitUntil(t, "the client has another session", func() bool { return zklock.Up(c) && zklock.SessionID(c) != session })
	handOver(t, head, beginLock(t.Context(), m.Lock))
}

// plainTwo: a client has one plain ticket at a time in a queue, even if that is gone unnoticed.
func plainTwo(t *testing.T, at harness.Endpoint) {
	see, path, c := dialRaw(t, at), newPath(), dialServer(t, at, zklock.ClientOptions{})
	m := c.Mutex(path, zklock.Options{})
	first := lockNow(t, m)
	recreateNode(t, see, path, 0)
	second := lockNow(t, m)
	if ticketName(first) != "lock-0000000000" || !strings.HasSuffix(ticketName(second), ticketName(first)) || ticketName(second) == ticketName(first) {
		t.Errorf("tickets %s and %s, want the second with a part of its own", ticketName(first), ticketName(second))
	}
	expectLost(t, first)
	expectSoleHolder(t, see, path, second)
	unlockLease(t, second)
	third := lockNow(t, m)
	expectEqual(t, "ticket when the others have left", ticketName(third), "lock-0000000001")
	setACL(t, see, path, zk.WorldACL(zk.PermAll&^zk.PermDelete))
	expectError(t, third.Unlock(t.Context()), zk.ErrNoAuth) // its ticket stays
	fourth := startWaiting(t, t.Context(), m, see, 2)
	expectEqual(t, "start of the ticket behind", listQueue(t, see, path)[1][:3], "_c_")
	setACL(t, see, path, zk.WorldACL(zk.PermAll))
	unlockLease(t, awaitLease(t, fourth))
}

// plainWatchedBefore: the event of a ticket does not serve for a later one of its name.
func plainWatchedBefore(t *testing.T, at harness.Endpoint) {
	see, path := dialRaw(t, at), newPath()
	m, n := newMutex(t, at, path), newMutex(t, at, path)
	for range 2 {
		handOver(t, lockAs(t, n, "lock-0000000000"), startWaiting(t, t.Context(), m, see, 2))
		recreateNode(t, see, path, 0)
	}
}

func plainNameInUse(t *testing.T, at harness.Endpoint) {
	see, path, c := dialRaw(t, at), newPath(), dialServer(t, at, zklock.ClientOptions{})
	m := c.Mutex(path, zklock.Options{})
	unlockLease(t, lockNow(t, m))
	createNode(t, see, path+"/lock-0000000002", nil, zk.FlagEphemeral)
	l := lockNow(t, m)
	if !strings.HasPrefix(ticketName(l), "_c_") || !strings.HasSuffix(ticketName(l), "-lock-0000000002") {
		t.Errorf("ticket %s, want number 2 and a part of its own", ticketName(l))
	}
	unlockLease(t, l)
}

// TestPlainCost checks the cost of zk-handoff if the ticket ahead has another number.
func TestPlainCost(t *testing.T) {
	t.Parallel()
	tests := []serverTest{
		{"create lost behind many", func(t *testing.T, at harness.Endpoint) { costOfLostCreate(t, at, faultproxy.LoseRequest) }},
		{"reply to create lost behind many", func(t *testing.T, at harness.Endpoint) { costOfLostCreate(t, at, faultproxy.LoseReply) }},
	}
	for _, k := range kinds {
		if slices.Contains([]string{"mutex", "owner", "writer", "semaphore"}, k.name) {
			tests = append(tests, serverTest{"many waiters of a client, " + k.name, func(t *testing.T, at harness.Endpoint) {
				costOfManyWaiters(t, at, k)
			}})
		}
	}
	runTogether(t, endpoint(t), tests)
}

// costOfLostCreate: a search for a ticket costs no request per waiter ahead, except later ones.
func costOfLostCreate(t *testing.T, at harness.Endpoint, do faultproxy.Action) {
	const ahead, late = 40, 3
	p, see, path := newProxy(t, at), dialRaw(t, at), newPath()
	c := dialServer(t, p.at, zklock.ClientOptions{})
	unlockLease(t, lockNow(t, newMutex(t, at, path)))
	come := func(n int) {
		for range n {
			createNode(t, see, path+"/lock-", []byte(zklock.Marker), zk.FlagEphemeralSequential)
		}
	}
	come(ahead)
	haveIdentity(t, c) // it has an identity, and has seen a zxid
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	before := p.Seen("getData")
	lost := p.Inject(faultproxy.Fault{Do: do, Match: func(m faultproxy.Message) bool {
		return m.Op == "create" && strings.HasPrefix(m.Key, path)
	}})
	p.Refuse(true)
	waits := lockBehind(ctx, c.Mutex(path, zklock.Options{}).Lock)
	<-lost.Done()
	come(late)
	p.Refuse(false)
	waitUntil(t, "it watches the ticket ahead", func() bool { return p.Seen("getData") > before && p.Seen("getChildren2") > 1 })
	awaitQueue(t, see, path, ahead+late+1)
	awaitQuiet(t, aWhile/4, c)
	cancel()
	<-waits
	if got := p.Seen("getData") - before; got > late+2 {
		t.Errorf("it reads %d tickets, want at most %d: those that came meanwhile, and two", got, late+2)
	}
	awaitQueue(t, see, path, ahead+late)
}

func costOfManyWaiters(t *testing.T, at harness.Endpoint, k kind) {
	const waiters = 60
	p, see, path := newProxy(t, at), dialRaw(t, at), newPath()
	c := dialServer(t, p.at, zklock.ClientOptions{})
	haveIdentity(t, c) // it has an identity
	var ahead []<-chan result
	for range 2 { // the permits of a semaphore
		ahead = append(ahead, lockBehind(t.Context(), k.open(dialServer(t, at, zklock.ClientOptions{}), path, 2, zklock.Options{}).Lock))
	}
	p.Delay(faultproxy.Reply, 100*time.Millisecond)
	before := p.Seen("getChildren2")
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	for range waiters {
		wg.Go(func() { k.open(c, path, 2, zklock.Options{}).Lock(ctx) })
	}
	awaitQueue(t, see, path, waiters+2)
	awaitQuiet(t, 2*aWhile, c)
	if got := p.Seen("getChildren2") - before; got > waiters/2 {
		t.Errorf("%d waiters list %d times", waiters, got)
	}
	cancel()
	p.Delay(faultproxy.Reply, 0)
	wg.Wait()
	for _, got := range ahead {
		unlockLease(t, awaitLease(t, got))
	}
}
