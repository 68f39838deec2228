package zklock_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"locklab/harness"
	"locklab/internal/faultproxy"
	"locklab/zklock"
)

// TestContract tests documented limits: removed tickets, invalid paths, other servers.
func TestContract(t *testing.T) {
	runParallel(t, []serverTest{
		{"holder's ticket removed", heldTicketRemoved},
		{"waiter's ticket removed", waitingTicketRemoved},
		{"a slow holder's costs", slowHolderCosts},
		{"unlock of guarded leases", unlockGuarded},
		{"nil contexts", nilContexts},
		{"margins", checkMargins},
		{"refused", checkRefused},
		{"root that may only be read", readableRoot},
		{"holders and waiters", listContenders},
		{"checked by the user's transaction", checkedByUser},
		{"checked after the lock's node was made again", checkedAfterRemake},
		{"holders and waiters of other libraries", listForeigners},
		{"options that Dial refuses", dialRefuses},
	})
}

// short is a session timeout that makes a ticket slow soon.
const short = time.Second

func awaitEnd(t *testing.T, l *zklock.Lease) error {
	t.Helper()
	select {
	case <-l.Done():
	case <-time.After(patience):
		t.Fatal("Done stays open")
	}
	return l.Err()
}

func heldTicketRemoved(t *testing.T, at harness.Endpoint) {
	m := dialServer(t, at, zklock.ClientOptions{SessionTimeout: short}).Mutex(newPath(), zklock.Options{})
	see := dialRaw(t, at)
	for _, wait := range []time.Duration{0, short/3 + 100*time.Millisecond} {
		waitUntil(t, "the holder is told in time", func() bool { // a busy machine is late
			l := lockNow(t, m)
			time.Sleep(wait)
			began := time.Now()
			deleteNode(t, see, zklock.Node(l))
			expectError(t, awaitEnd(t, l), zklock.ErrLost)
			took := time.Since(began)
			expectLost(t, l)
			unlockLease(t, lockNow(t, m))
			return took <= short/3+short/5
		})
	}
	l := lockNow(t, m)
	deleteNode(t, see, zklock.Node(l))
	requireNoError(t, errorOf(see.Create(zklock.Node(l), nil, zk.FlagEphemeral, zk.DigestACL(zk.PermAll, "another", "user"))))
	expectError(t, awaitEnd(t, l), zklock.ErrLost) // it may not read the node that has the name now
}

// waitingTicketRemoved: a waiter without a ticket queues again while the lock is held.
func waitingTicketRemoved(t *testing.T, at harness.Endpoint) {
	see, head := dialRaw(t, at), newMutex(t, at, newPath())
	held := lockNow(t, head)
	waits := startWaiting(t, t.Context(), dialServer(t, at, zklock.ClientOptions{SessionTimeout: short}).Mutex(head.Path(), zklock.Options{}), see, 2)
	deleteNode(t, see, head.Path()+"/"+awaitQueue(t, see, head.Path(), 2)[1])
	awaitQueue(t, see, head.Path(), 2)
	handOver(t, held, waits)
}

func slowHolderCosts(t *testing.T, at harness.Endpoint) {
	c := dialServer(t, at, zklock.ClientOptions{SessionTimeout: 6 * time.Second}) // slow after 1 s, a contact after 1.8 s
	m := c.Mutex(newPath(), zklock.Options{})
	unlockLease(t, lockNow(t, m))
	unlockLease(t, lockNow(t, m))
	expectCost(t, harness.Counts{Requests: 3, Notifications: 1}, func() {
		l := lockNow(t, m)
		time.Sleep(1200 * time.Millisecond)
		unlockLease(t, l)
		waitUntil(t, "the event has come", func() bool { return counts(c).Notifications > 0 })
	}, c)
}

// unlockGuarded: the guard does not mistake a release for a loss, at any of its steps.
func unlockGuarded(t *testing.T, at harness.Endpoint) {
	var tests []serverTest
	for _, k := range kinds {
		tests = append(tests, serverTest{k.name, func(t *testing.T, at harness.Endpoint) {
			p := newProxy(t, at)
			lock := k.lock(dialServer(t, p.at, zklock.ClientOptions{SessionTimeout: short}), newPath()).Lock
			for i, late := 0, 0; i < 9; i++ {
				l := acquireLock(t, lock)
				time.Sleep(short/3 + time.Duration(i-3)*time.Millisecond)
				p.Delay(faultproxy.Reply, time.Duration(i%3)*10*time.Millisecond) // the event comes long before the reply is processed
				err := l.Unlock(t.Context())
				p.Delay(faultproxy.Reply, 0)
				if late < 20 && err != nil && strings.Contains(err.Error(), "has confirmed the session for") {
					i, late = i-1, late+1 // the machine ran the server or this process too rarely, which is a loss
					continue
				}
				expectEqual(t, "the error of Unlock", err, nil)
				expectError(t, l.Err(), zklock.ErrReleased)
			}
		}})
	}
	runTogether(t, at, tests)
}

func checkRefused(t *testing.T, at harness.Endpoint) {
	unlockLease(t, lockNow(t, newMutex(t, at, newPath())))
	path := newPath()
	c := dialServer(t, at, zklock.ClientOptions{Username: user, Password: password})
	unlockLease(t, lockNow(t, c.Mutex(path, zklock.Options{})))
	for what, o := range map[string]zklock.ClientOptions{
		"no user":        {},
		"another user":   {Username: "other", Password: "word"},
		"wrong password": {Username: user, Password: "wrong"},
	} {
		stranger := dialServer(t, at, o)
		for _, k := range kinds {
			if k.name == "multi" {
				continue // its nodes are others
			}
			m := k.lock(stranger, path)
			for _, take := range []taker{m.Lock, m.TryLock} {
				err := lockError(t.Context(), take)
				expectError(t, err, zklock.ErrNoAuth, zk.ErrNoAuth)
				if !strings.Contains(err.Error(), path) || strings.Contains(err.Error(), o.Password+"@") {
					t.Errorf("%s, %s: the error is %q, want the path in it", what, k.name, err)
				}
			}
		}
	}
	// The client's ACL option takes precedence.
	d := dialServer(t, at, zklock.ClientOptions{ACL: zk.WorldACL(zk.PermAll), Username: user, Password: password})
	open := d.Mutex(newPath(), zklock.Options{})
	unlockLease(t, lockNow(t, open))
	unlockLease(t, lockNow(t, newMutex(t, at, open.Path())))
}

func readableRoot(t *testing.T, at harness.Endpoint) {
	see, closed := dialRaw(t, at), newPath()
	unlockLease(t, lockNow(t, newMutex(t, at, closed))) // makes the node
	acl := append(zk.WorldACL(zk.PermRead|zk.PermDelete), zk.DigestACL(zk.PermAll, user, password)...)
	own := closed + "/app"
	createNode(t, see, own, nil, zk.FlagPersistent)
	setACL(t, see, closed, acl)
	c := dialServer(t, at, zklock.ClientOptions{})
	for _, container := range []bool{false, true} {
		for _, k := range []string{"", "/a", "/a/b/c"} {
			o := zklock.Options{Container: container}
			unlockLease(t, lockNow(t, c.Mutex(fmt.Sprintf("%s/%t%s", own, container, k), o)))
			unlockLease(t, acquireLock(t, c.SemaphoreV2(fmt.Sprintf("%s/v2-%t%s", own, container, k), 2, o).Lock))
		}
	}
	expectError(t, lockError(t.Context(), c.Mutex(closed+"/other", zklock.Options{}).Lock), zklock.ErrNoAuth)
}

func TestVocabulary(t *testing.T) {
	runParallel(t, []serverTest{
		{"wait", waitsNoLonger},
		{"do", doesEveryKind},
		{"max hold", checkMaxHold},
	})
}

func waitsNoLonger(t *testing.T, at harness.Endpoint) {
	holder, waiter := dialServer(t, at, zklock.ClientOptions{}), dialServer(t, at, zklock.ClientOptions{})
	for _, k := range kinds {
		path := newPath()
		name, mine := "lock "+k.tracePath(path)+": ", k.open(waiter, path, 1, zklock.Options{Wait: 30 * time.Millisecond})
		held := acquireLock(t, k.rival(holder, path).Lock)
		ctx := contextWithin(t, patience)
		_, err := mine.Lock(ctx)
		if !errors.Is(err, zklock.ErrNotAcquired) || !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), name) || ctx.Err() != nil {
			t.Errorf("%s: Lock with a Wait = %v, want ErrNotAcquired, DeadlineExceeded and %s", k.name, err, name)
		}
		if _, err := mine.Lock(contextWithin(t, time.Millisecond)); !errors.Is(err, zklock.ErrNotAcquired) || !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: Lock whose context ends first = %v, want ErrNotAcquired, DeadlineExceeded and %s", k.name, err, name)
		}
		unlockLease(t, held)
		unlockLease(t, acquireLock(t, k.lock(waiter, path).Lock)) // no waiter is left; 30 ms is short on a busy machine
	}
}

func doesEveryKind(t *testing.T, at harness.Endpoint) {
	c, d := dialServer(t, at, zklock.ClientOptions{}), dialServer(t, at, zklock.ClientOptions{})
	for _, k := range kinds {
		path := newPath()
		m := k.lock(c, path)
		requireNoError(t, zklock.Do(t.Context(), m, func(_ context.Context, l *zklock.Lease) error {
			if token := l.TokenOf(k.tracePath(path)); token == 0 || token != l.Token() || l.TokenOf(path+"/other") != 0 {
				t.Errorf("%s: TokenOf its path is %d, Token %d, and of another path %d", k.name, token, l.Token(), l.TokenOf(path+"/other"))
			}
			return nil
		}))
		locker := zklock.Locker(m)
		locker.Lock()
		expectError(t, lockError(t.Context(), k.rival(d, path).TryLock), zklock.ErrNotAcquired)
		locker.Unlock()
	}
}

// checkMaxHold: a stuck holder loses the lock when MaxHold is over, and the next one has it.
func checkMaxHold(t *testing.T, at harness.Endpoint) {
	const most = 100 * time.Millisecond
	c, other := dialServer(t, at, zklock.ClientOptions{}), dialServer(t, at, zklock.ClientOptions{})
	ctx := contextWithin(t, patience)
	for _, k := range kinds {
		path := newPath()
		m, rival := k.open(c, path, 1, zklock.Options{MaxHold: most}), k.rival(other, path)
		inTime := acquireLock(t, m.Lock)
		if until, ok := inTime.Deadline(); !ok || time.Until(until) > most {
			t.Errorf("%s: the deadline is in %v, %t; want %v at most", k.name, time.Until(until), ok, most)
		}
		if err := inTime.Unlock(ctx); err != nil && !strings.Contains(err.Error(), "MaxHold") { // a slow machine
			t.Errorf("%s: Unlock in time = %v", k.name, err)
		}
		began := time.Now()
		stuck := acquireLock(t, m.Lock)
		next := acquireLock(t, rival.Lock)
		if took := time.Since(began); took < most {
			t.Errorf("%s: the rival has the lock after %v of %v", k.name, took, most)
		}
		err, unlocked, again := awaitEnd(t, stuck), stuck.Unlock(ctx), stuck.Unlock(ctx)
		expectError(t, err, zklock.ErrLost)
		expectError(t, unlocked, zklock.ErrLost, zklock.ErrNotHeld)
		expectError(t, again, zklock.ErrNotHeld)
		if !strings.Contains(err.Error(), "MaxHold") || !strings.Contains(unlocked.Error(), "MaxHold") || errors.Is(again, zklock.ErrLost) {
			t.Errorf("%s: Err = %v, Unlock = %v, and then %v, want MaxHold in the first two", k.name, err, unlocked, again)
		}
		unlockLease(t, next)
		unlockLease(t, acquireLock(t, rival.Lock)) // the queue is whole
	}
}
