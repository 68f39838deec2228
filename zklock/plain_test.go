package zklock_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/go-zookeeper/zk"

	"locklab/harness"
	wirezk "locklab/internal/wire/zookeeper"
	"locklab/zklock"
)

// TestPlain tests tickets without a unique name, whose names are reused.
func TestPlain(t *testing.T) {
	t.Parallel()
	atOnce(t, endpoint(t), []serverTest{
		{"list", func(t *testing.T, at harness.Endpoint) { plainList(t, at, false) }},
		{"list after a reconnect", func(t *testing.T, at harness.Endpoint) { plainList(t, at, true) }},
		{"number ahead", plainAhead},
		{"last turn, watched", func(t *testing.T, at harness.Endpoint) { plainLastTurn(t, at, 3) }},
		{"last turn, not watched", func(t *testing.T, at harness.Endpoint) { plainLastTurn(t, at, 1) }},
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

func parent(l *zklock.Lease) string { return strings.TrimSuffix(zklock.Node(l), "/"+name(l)) }

// plainList: a waiter is cut off while others get its number and the one ahead. Then it gets the
// NodeDataChanged of another ticket with the name of the one ahead.
func plainList(t *testing.T, at harness.Endpoint, breaks bool) {
	p, see, path := newProxy(t, at), raw(t, at), newPath()
	mutex := func() *zklock.Mutex { return dial(t, at, zklock.ClientOptions{}).Mutex(path, zklock.Options{}) }
	c := dial(t, p.at, zklock.ClientOptions{})
	lock(t, mutex())
	waits := waiting(t, t.Context(), c.Mutex(path, zklock.Options{}), see, 2)
	if breaks {
		p.disconnect()
	} else {
		p.Partition(true)
	}
	recreateNode(t, see, path, 0)
	head := lock(t, mutex())
	next := waiting(t, t.Context(), mutex(), see, 2)
	if names := queue(t, see, path); names[0] != "lock-0000000000" || names[1] != "lock-0000000001" {
		t.Fatalf("the test shows nothing: the queue is %q", names)
	}
	p.Partition(false)
	p.Refuse(false)
	if breaks {
		awaitQueue(t, see, path, 3)
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
