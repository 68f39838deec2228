package zklock_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"locklab/harness"
	wirezk "locklab/internal/wire/zookeeper"
	"locklab/zklock"
)

type lister interface {
	zklock.Lockable
	Holders(context.Context) ([]zklock.Contender, error)
	Waiters(context.Context) ([]zklock.Contender, error)
}

func namesOf(t *testing.T, list func(context.Context) ([]zklock.Contender, error)) []string {
	t.Helper()
	all, err := list(t.Context())
	requireNoError(t, err)
	var names []string
	for _, c := range all {
		names = append(names, c.Name)
	}
	return names
}

func requireContenders(t *testing.T, m lister, holders, waiters []string) {
	t.Helper()
	if got := namesOf(t, m.Holders); !slices.Equal(got, holders) {
		t.Errorf("Holders = %q, want %q", got, holders)
	}
	if got := namesOf(t, m.Waiters); !slices.Equal(got, waiters) {
		t.Errorf("Waiters = %q, want %q", got, waiters)
	}
}

func listContenders(t *testing.T, at harness.Endpoint) {
	var tests []serverTest
	for _, k := range kinds {
		if _, ok := k.lock(nil, "").(lister); ok { // not a reader or an owner that reads and writes
			tests = append(tests, serverTest{k.name, func(t *testing.T, at harness.Endpoint) { listContendersOf(t, at, k) }})
		}
	}
	runTogether(t, at, append(tests, serverTest{"readers", listReaders}))
}

func listContendersOf(t *testing.T, at harness.Endpoint, k kind) {
	path, anonymous := newPath(), dialServer(t, at, zklock.ClientOptions{})
	open := func(c *zklock.Client) lister { return k.open(c, path, 2, zklock.Options{}).(lister) }
	m, see, last := open(dialServer(t, at, zklock.ClientOptions{Name: "a b"})), open(anonymous), open(dialServer(t, at, zklock.ClientOptions{Name: "last"}))
	requireContenders(t, see, nil, nil)
	held, names := []*zklock.Lease{acquireLock(t, m.Lock)}, []string{"a b"}
	if k.counts { // it has two permits
		held, names = append(held, acquireLock(t, m.Lock)), append(names, "a b")
	}
	if k.name == "multi" {
		names = append(names, "a b") // at its second path
	}
	requireContenders(t, see, names, nil)
	one, err := see.Holders(t.Context())
	hasToken := slices.Contains([]string{"mutex", "writer", "multi"}, k.name)
	if err != nil || time.Since(one[0].Since).Abs() > time.Minute || hasToken && one[0].Token != held[0].Token() {
		t.Errorf("Holders = %+v, %v, want token %d", one, err, held[0].Token())
	}
	next := lockBehind(t.Context(), see.Lock)
	waitUntil(t, "it waits", func() bool { return len(namesOf(t, m.Waiters)) == 1 })
	behindIt := lockBehind(t.Context(), last.Lock)
	waitUntil(t, "both wait", func() bool { return len(namesOf(t, m.Waiters)) == 2 })
	requireContenders(t, m, names, []string{sessionName(anonymous), "last"})
	for _, l := range held {
		unlockLease(t, l)
	}
	unlockLease(t, awaitLease(t, next))
	unlockLease(t, awaitLease(t, behindIt))
	requireContenders(t, see, nil, nil)
}

func sessionName(c *zklock.Client) string {
	return fmt.Sprintf("session %#x", uint64(zklock.SessionID(c)))
}

func listReaders(t *testing.T, at harness.Endpoint) {
	m, b := dialServer(t, at, zklock.ClientOptions{Name: "a b"}).RWMutex(newPath(), zklock.Options{}), dialServer(t, at, zklock.ClientOptions{})
	o := m.Owner()
	w := acquireLock(t, o.Lock)
	r := acquireLock(t, o.RLock)
	requireContenders(t, m, []string{"a b", "a b"}, nil)
	unlockLease(t, w)
	shared := acquireLock(t, b.RWMutex(m.Path(), zklock.Options{}).RLock)
	writes := lockBehind(t.Context(), m.Lock)
	waitUntil(t, "it waits", func() bool { return len(namesOf(t, m.Waiters)) == 1 })
	requireContenders(t, m, []string{"a b", sessionName(b)}, []string{"a b"})
	unlockLease(t, r)
	handOver(t, shared, writes)
}

func listForeigners(t *testing.T, at harness.Endpoint) {
	see, path := dialRaw(t, at), newPath()
	m := dialServer(t, at, zklock.ClientOptions{Name: "ours"}).Mutex(path, zklock.Options{})
	held := lockNow(t, m)
	for _, name := range []string{"lock-", "_c_4cdd4bd0-1c5e-4b4a-9c3c-0e2f6f1d7a55-lock-"} {
		createNode(t, see, path+"/"+name, []byte("192.0.2.7"), zk.FlagEphemeralSequential)
	}
	requireNoError(t, errorOf(see.Create(path+"/lock-", []byte{0xff}, zk.FlagEphemeralSequential, zk.WorldACL(zk.PermCreate))))
	see.Create(path+"/config", nil, zk.FlagEphemeral, zk.WorldACL(zk.PermAll)) // not a ticket
	unreadable := fmt.Sprintf("session %#x", uint64(see.SessionID()))
	requireContenders(t, m, []string{"ours"}, []string{"192.0.2.7", "192.0.2.7", unreadable})
	unlockLease(t, held)
	requireContenders(t, m, []string{"192.0.2.7"}, []string{"192.0.2.7", unreadable})
}

func writeOps(see *wirezk.Conn, path string, ops []any) error {
	_, err := see.Multi(append(ops, &zk.SetDataRequest{Path: path, Version: -1})...)
	return err
}

func requireStale(t *testing.T, see *wirezk.Conn, path string, ops []any) {
	t.Helper()
	if err := writeOps(see, path, ops); !errors.Is(err, zk.ErrNoNode) && !errors.Is(err, zk.ErrBadVersion) {
		t.Errorf("a write by a lease that is over = %v", err)
	}
}

// checkedByUser: another connection's transaction succeeds only while the lock is held.
func checkedByUser(t *testing.T, at harness.Endpoint) {
	see, state := dialRaw(t, at), newPath()
	unlockLease(t, lockNow(t, newMutex(t, at, state))) // makes the node
	c, path, o := dialServer(t, at, zklock.ClientOptions{}), newPath(), zklock.Options{Checkable: true}
	for i, k := range []struct {
		lock   zklock.Lockable
		checks int // 0: no checks
	}{
		{c.Mutex(path, o), 1},
		{c.Mutex(path, zklock.Options{}), 0},
		{c.RWMutex(path, o), 1},
		{c.RWMutex(path, o).RLocker(), 1},
		{c.RWMutex(path, zklock.Options{}), 0},
		{c.RWMutex(path, zklock.Options{}).Owner(), 1},
		{c.Reentrant(path, zklock.Options{}).Owner(), 1},
		{c.Semaphore(path, 1, zklock.Options{}), 1},
		{c.SemaphoreV2(path, 1, zklock.Options{}), 1},
		{c.Multi([]string{path, path + "-2"}, zklock.MultiOptions{Options: o}), 2},
		{c.Multi([]string{path, path + "-2"}, zklock.MultiOptions{}), 0},
		{c.Cohort(path, zklock.CohortOptions{}), 0},
		{c.Cohort(path, zklock.CohortOptions{Handovers: -1}), 1},
	} {
		name := fmt.Sprintf("%d, %T", i, k.lock)
		l := acquireLock(t, k.lock.Lock)
		ops, err := l.IsOwner()
		if len(ops) != k.checks || errors.Is(err, zklock.ErrNoCheck) != (k.checks == 0) {
			t.Errorf("%s: IsOwner = %d operations, %v, want %d", name, len(ops), err, k.checks)
		}
		for _, op := range ops { // by Revoke, or by the holder of a permit
			if check := op.(*zk.CheckVersionRequest); check.Version < 0 {
				setData(t, see, check.Path, revoke)
			}
		}
		if err := writeOps(see, state, ops); err != nil {
			t.Errorf("%s: a write while it is held = %v", name, err)
		}
		unlockLease(t, l)
		if k.checks > 0 {
			requireStale(t, see, state, ops)
		}
	}
}

// checkedAfterRemake: a lost lease does not pass by another ticket with its number.
func checkedAfterRemake(t *testing.T, at harness.Endpoint) {
	see, path, o := dialRaw(t, at), newPath(), zklock.Options{Checkable: true}
	l := lockNow(t, dialServer(t, at, zklock.ClientOptions{}).Mutex(path, o))
	ops, err := l.IsOwner()
	requireNoError(t, err)
	recreateNode(t, see, path, 0)
	other := lockNow(t, dialServer(t, at, zklock.ClientOptions{}).Mutex(path, o))
	expectEqual(t, "without which the test shows nothing: the number of the ticket", numberOf(t, other), numberOf(t, l))
	requireStale(t, see, path, ops)
	unlockLease(t, other)
}
