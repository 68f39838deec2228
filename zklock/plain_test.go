package zklock_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"locklab/harness"
	wirezk "locklab/internal/wire/zookeeper"
	"locklab/zklock"
)

// TestPlain tests tickets without a unique name, whose names are reused.
func TestPlain(t *testing.T) {
	t.Parallel()
	atOnce(t, endpoint(t), []serverTest{
		{"unlock", plainUnlock},
		{"unlock in the next session", plainUnlockNextSession},
		{"guard", plainGuard},
		{"cancel", plainCancel},
		{"list", func(t *testing.T, at harness.Endpoint) { plainList(t, at, false) }},
		{"list after a reconnect", func(t *testing.T, at harness.Endpoint) { plainList(t, at, true) }},
		{"number ahead", plainAhead},
		{"last turn, watched", func(t *testing.T, at harness.Endpoint) { plainLastTurn(t, at, 3) }},
		{"last turn, not watched", func(t *testing.T, at harness.Endpoint) { plainLastTurn(t, at, 1) }},
		{"find", plainFind},
		{"revoke", plainRevoke},
		{"two tickets of a client", plainTwo},
		{"name in use", plainNameInUse},
		{"unsealed", plainUnsealed},
	})
}

// recreateNode recreates the node at path, so that its numbers restart, and uses up the first numbers.
func recreateNode(t *testing.T, see *wirezk.Conn, path string, numbers int) {
	t.Helper()
	for _, name := range queue(t, see, path) {
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
		node, err := see.Create(path+"/x-", nil, zk.FlagEphemeralSequential, zk.WorldACL(zk.PermAll))
		if err == nil {
			err = see.Delete(node, -1)
		}
		requireNoError(t, err)
	}
}

func name(l *zklock.Lease) string {
	node := zklock.Node(l)
	return node[strings.LastIndexByte(node, '/')+1:]
}

func expectSoleHolder(t *testing.T, see *wirezk.Conn, path string, l *zklock.Lease) {
	t.Helper()
	if names := queue(t, see, path); len(names) != 1 || names[0] != name(l) || l.Err() != nil {
		t.Errorf("the queue is %q, want the ticket of the holder, %s (%v)", names, name(l), l.Err())
	}
}

// twins returns a holder whose ticket was deleted with the node of the lock, and another with a
// ticket of the same name.
func twins(t *testing.T, at harness.Endpoint, o zklock.ClientOptions) (see *wirezk.Conn, c *zklock.Client, first, second *zklock.Lease) {
	t.Helper()
	see, path := raw(t, at), newPath()
	c, d := dial(t, at, o), dial(t, at, zklock.ClientOptions{})
	first = lock(t, c.Mutex(path, zklock.Options{}))
	recreateNode(t, see, path, 0)
	second = lock(t, d.Mutex(path, zklock.Options{}))
	if name(first) != name(second) || !strings.HasPrefix(name(first), "lock-") {
		t.Fatalf("the test shows nothing: tickets %s and %s", name(first), name(second))
	}
	return see, c, first, second
}

func parent(l *zklock.Lease) string { return strings.TrimSuffix(zklock.Node(l), "/"+name(l)) }

func plainUnlock(t *testing.T, at harness.Endpoint) {
	see, c, first, second := twins(t, at, zklock.ClientOptions{})
	expectLost(t, first)
	expectSoleHolder(t, see, parent(second), second)
	if !zklock.Sealed(c) {
		t.Error("the client takes the ticket of another for its own that is closed to it")
	}
	unlock(t, second)
}

func plainUnlockNextSession(t *testing.T, at harness.Endpoint) {
	p, see, path := newProxy(t, at), raw(t, at), newPath()
	c := dial(t, p.at, zklock.ClientOptions{SessionTimeout: time.Second})
	zklock.SetMargin(c, -time.Hour)
	first := lock(t, c.Mutex(path, zklock.Options{}))
	p.disconnect()
	awaitQueue(t, see, path, 0)
	recreateNode(t, see, path, 0)
	second := lock(t, dial(t, at, zklock.ClientOptions{}).Mutex(path, zklock.Options{}))
	if name(first) != name(second) {
		t.Fatalf("the test shows nothing: tickets %s and %s", name(first), name(second))
	}
	done := make(chan error, 1)
	go func() { done <- first.Unlock(t.Context()) }()
	time.Sleep(aWhile / 4) // the release waits for a connection
	p.Refuse(false)
	expectError(t, <-done, zklock.ErrNotHeld)
	unlock(t, lock(t, c.Mutex(path+"-2", zklock.Options{}))) // all pending requests have been sent
	expectSoleHolder(t, see, path, second)
	unlock(t, second)
}

func plainGuard(t *testing.T, at harness.Endpoint) {
	see, _, first, second := twins(t, at, zklock.ClientOptions{SessionTimeout: short})
	expectError(t, awaitEnd(t, first), zklock.ErrLost)
	expectLost(t, first)
	expectSoleHolder(t, see, parent(second), second)
	unlock(t, second)
}

// stuck returns a client that waits with ticket 1, cut off while others get tickets 0 and 1. back
// ends that: on the same connection, or with breaks on another.
func stuck(t *testing.T, at harness.Endpoint, ctx context.Context, breaks bool) (see *wirezk.Conn, c *zklock.Client, waits <-chan result, head *zklock.Lease, next <-chan result, back func()) {
	t.Helper()
	p, see, path := newProxy(t, at), raw(t, at), newPath()
	mutex := func() *zklock.Mutex { return dial(t, at, zklock.ClientOptions{}).Mutex(path, zklock.Options{}) }
	c = dial(t, p.at, zklock.ClientOptions{})
	lock(t, mutex())
	waits = waiting(t, ctx, c.Mutex(path, zklock.Options{}), see, 2)
	if breaks {
		p.disconnect()
	} else {
		p.Partition(true)
	}
	recreateNode(t, see, path, 0)
	head = lock(t, mutex())
	next = waiting(t, t.Context(), mutex(), see, 2)
	if names := queue(t, see, path); names[0] != "lock-0000000000" || names[1] != "lock-0000000001" {
		t.Fatalf("the test shows nothing: the queue is %q", names)
	}
	return see, c, waits, head, next, func() { p.Partition(false); p.Refuse(false) }
}

func plainCancel(t *testing.T, at harness.Endpoint) {
	ctx, cancel := context.WithCancel(t.Context())
	see, c, waits, head, next, back := stuck(t, at, ctx, false)
	cancel()
	expectError(t, (<-waits).err, context.Canceled)
	time.Sleep(aWhile / 4) // its withdrawal is on the way
	back()
	unlock(t, lock(t, c.Mutex(newPath(), zklock.Options{})))
	awaitQuiet(t, aWhile/4, c)
	if names := queue(t, see, parent(head)); len(names) != 2 {
		t.Errorf("the queue is %q, want both tickets of others", names)
	}
	unlock(t, head)
	unlock(t, awaitLease(t, next))
}

// plainList: the waiter gets NodeDataChanged of another ticket with the name of the one ahead.
func plainList(t *testing.T, at harness.Endpoint, breaks bool) {
	see, _, waits, head, next, back := stuck(t, at, t.Context(), breaks)
	back()
	if breaks {
		awaitQueue(t, see, parent(head), 3)
	}
	expectWaiting(t, waits) // it is woken, and its guard comes later
	unlock(t, head)
	l := awaitLease(t, next)
	expectWaiting(t, waits)
	unlock(t, l)
	unlock(t, awaitLease(t, waits))
}

func plainAhead(t *testing.T, at harness.Endpoint) {
	see, path := raw(t, at), newPath()
	c, d := dial(t, at, zklock.ClientOptions{}), dial(t, at, zklock.ClientOptions{})
	m, n := c.Mutex(path, zklock.Options{}), d.Mutex(path, zklock.Options{})
	byName(t, see, m, n)
	head := lock(t, n)
	var others [2]*zklock.Mutex
	for i := range others {
		others[i] = dial(t, at, zklock.ClientOptions{}).Mutex(path, zklock.Options{})
	}
	var second *zklock.Lease
	third := make(chan (<-chan result), 1)
	zklock.StallOnce(c, zklock.TicketMade, func() {
		recreateNode(t, see, path, numberOf(t, head))
		second = lock(t, others[0])
		expectEqual(t, "without which the test shows nothing: ticket", name(second), name(head))
		third <- waiting(t, t.Context(), others[1], see, 2)
	})
	waits := behind(t.Context(), m.Lock)
	last := <-third
	expectWaiting(t, waits) // its guard comes later
	unlock(t, second)
	l := awaitLease(t, last)
	expectWaiting(t, waits)
	unlock(t, l)
	unlock(t, awaitLease(t, waits))
}

func numberOf(t *testing.T, l *zklock.Lease) (n int) {
	t.Helper()
	for _, c := range name(l)[len(name(l))-10:] {
		n = 10*n + int(c-'0')
	}
	return n
}

// byName lets m wait behind n until it asks for the ticket ahead by name.
func byName(t *testing.T, see *wirezk.Conn, m, n *zklock.Mutex) {
	t.Helper()
	c := zklock.ClientOf(m)
	for range 5 {
		head := lock(t, n)
		var l *zklock.Lease
		got := cost(func() {
			next := waiting(t, t.Context(), m, see, 2)
			unlock(t, head)
			l = awaitLease(t, next)
			unlock(t, l)
		}, c)
		if got == (harness.Counts{Requests: 3, Notifications: 1}) {
			return
		}
	}
	t.Fatal("the test shows nothing: the ticket ahead is not asked for by its name")
}

// plainLastTurn: a client whose last ticket had the previous number is first, on the same node.
func plainLastTurn(t *testing.T, at harness.Endpoint, turns int) {
	see, path := raw(t, at), newPath()
	c := dial(t, at, zklock.ClientOptions{})
	m := c.Mutex(path, zklock.Options{})
	var l *zklock.Lease
	for range turns {
		l = lock(t, m)
		unlock(t, l)
	}
	recreateNode(t, see, path, numberOf(t, l))
	head := lock(t, dial(t, at, zklock.ClientOptions{}).Mutex(path, zklock.Options{}))
	if name(head) != name(l) {
		t.Fatalf("the test shows nothing: tickets %s and %s", name(head), name(l))
	}
	next := waiting(t, t.Context(), m, see, 2)
	expectWaiting(t, next)
	unlock(t, head)
	unlock(t, awaitLease(t, next))
}

func plainFind(t *testing.T, at harness.Endpoint) {
	p, see, path := newProxy(t, at), raw(t, at), newPath()
	c := dial(t, p.at, zklock.ClientOptions{})
	m := c.Mutex(path, zklock.Options{})
	unlock(t, lock(t, m))
	head := lock(t, dial(t, at, zklock.ClientOptions{}).Mutex(path, zklock.Options{}))
	p.Refuse(true)
	p.loseReply(0)
	waits := behind(t.Context(), m.Lock)
	p.requireReplyLost(t)
	last := waiting(t, t.Context(), dial(t, at, zklock.ClientOptions{}).Mutex(path, zklock.Options{}), see, 3)
	before := queue(t, see, path)
	p.Refuse(false)
	unlock(t, head)
	l := awaitLease(t, waits)
	if name(l) != before[1] {
		t.Errorf("it holds the lock by %s, want %s of %q", name(l), before[1], before)
	}
	expectWaiting(t, last)
	unlock(t, l)
	unlock(t, awaitLease(t, last))
}

// plainRevoke: Revoke does not write to a ticket whose name may belong to a sealed one by then.
func plainRevoke(t *testing.T, at harness.Endpoint) {
	see, c, first, second := twins(t, at, zklock.ClientOptions{})
	expectError(t, c.Revoke(t.Context(), zklock.Node(first)), zklock.ErrNotRevocable)
	expectLost(t, first)
	expectSoleHolder(t, see, parent(second), second)
	unlock(t, second)
	node := createNode(t, see, parent(second)+"/lock-", nil, zk.FlagEphemeralSequential)
	expectError(t, c.Revoke(t.Context(), node), zklock.ErrNotRevocable)
	if data, _, err := see.Get(node); err != nil || len(data) != 0 {
		t.Errorf("%s has %q, %v", node, data, err)
	}
	deleteNode(t, see, node)
	if err := c.Revoke(t.Context(), node); err != nil {
		t.Errorf("Revoke of what is gone = %v, want nil", err)
	}
}

// plainTwo: a client has one plain ticket at a time in a queue, even if that is gone unnoticed.
func plainTwo(t *testing.T, at harness.Endpoint) {
	see, path := raw(t, at), newPath()
	c := dial(t, at, zklock.ClientOptions{})
	m := c.Mutex(path, zklock.Options{})
	first := lock(t, m)
	recreateNode(t, see, path, 0)
	second := lock(t, m)
	if name(first) != "lock-0000000000" || !strings.HasSuffix(name(second), name(first)) || name(second) == name(first) {
		t.Errorf("tickets %s and %s, want the second with a part of its own", name(first), name(second))
	}
	expectLost(t, first)
	expectSoleHolder(t, see, path, second)
	unlock(t, second)
	third := lock(t, m)
	expectEqual(t, "ticket when the others have left", name(third), "lock-0000000001")
	unlock(t, third)
}

func plainNameInUse(t *testing.T, at harness.Endpoint) {
	see, path := raw(t, at), newPath()
	c := dial(t, at, zklock.ClientOptions{})
	m := c.Mutex(path, zklock.Options{})
	unlock(t, lock(t, m))
	createNode(t, see, path+"/lock-0000000002", nil, zk.FlagEphemeral)
	l := lock(t, m)
	if !strings.HasPrefix(name(l), "_c_") || !strings.HasSuffix(name(l), "-lock-0000000002") {
		t.Errorf("ticket %s, want number 2 and a part of its own", name(l))
	}
	unlock(t, l)
}

func plainUnsealed(t *testing.T, at harness.Endpoint) {
	c := dial(t, at, zklock.ClientOptions{})
	zklock.Unseal(c)
	m := c.Mutex(newPath(), zklock.Options{})
	for range 3 {
		l := lock(t, m)
		if !strings.HasPrefix(name(l), "_c_") {
			t.Errorf("ticket %s is not sealed", name(l))
		}
		unlock(t, l)
	}
}
