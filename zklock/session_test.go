package zklock_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"locklab/harness"
	"locklab/internal/backend"
	"locklab/zklock"
)

func TestSession(t *testing.T) {
	runParallel(t, []serverTest{
		{"lost reply to create and cancel", lostReplyAndCancel},
		{"session expires before the grant", expiresBeforeGrant},
		{"too little left for a lease", leaseTooShort},
	})
}

// lostReplyAndCancel: an unconfirmed ticket is removed after its waiter has left.
func lostReplyAndCancel(t *testing.T, at harness.Endpoint) {
	p, see := newProxy(t, at), dialRaw(t, at)
	m := newMutex(t, p.at, newPath())
	unlockLease(t, lockNow(t, m))
	p.Refuse(true) // the client does not reconnect for now
	p.loseReply()
	expectError(t, lockError(contextWithin(t, 500*time.Millisecond), m.Lock), context.DeadlineExceeded) // without a connection
	awaitQueue(t, see, m.Path(), 1)                                                                     // the ticket of the lost reply
	p.Refuse(false)
	awaitQueue(t, see, m.Path(), 0)
}

// expiresBeforeGrant: the session or deadline ends between the look and the lease.
func expiresBeforeGrant(t *testing.T, at harness.Endpoint) {
	for why, happens := range map[string]func(*zklock.Client){
		"of an expired session": zklock.Expire,
		"of a closed client":    func(c *zklock.Client) { c.Close() },
		"after the deadline":    func(c *zklock.Client) { zklock.SetMargin(c, time.Hour) },
	} {
		m := newMutex(t, at, newPath())
		if granted, err := zklock.GrantAfter(m, happens); granted || err != nil {
			t.Errorf("a ticket %s is granted the lock: %t, %v", why, granted, err)
		}
	}
}

// leaseTooShort: when little is left of the session, a lease begins after a proof.
func leaseTooShort(t *testing.T, at harness.Endpoint) {
	c := dialServer(t, at, zklock.ClientOptions{SessionTimeout: time.Second})
	before := zklock.Deadline(c)
	waitUntil(t, "little is left", func() bool { return time.Until(before) < c.SessionTimeout()/10 })
	if err := zklock.Assure(t.Context(), c); err != nil || !zklock.Deadline(c).After(before) {
		t.Errorf("a lease may begin with %v left, %v", time.Until(zklock.Deadline(c)), err)
	}
}

// TestSuspend: after a suspend longer than the session the lease is over at once.
func TestSuspend(t *testing.T) {
	runParallel(t, []serverTest{{"session", suspendPastSession}, {"max hold", suspendPastMaxHold}})
}

// A sleeper is a machine that was suspended: Go's clock and timers stand still.
type sleeper struct {
	*zklock.Client
	slept atomic.Int64
}

func (s *sleeper) suspend(d time.Duration) { s.slept.Add(int64(d)) }

func newSleeper(t *testing.T, at harness.Endpoint, timeout time.Duration) *sleeper {
	t.Helper()
	s := new(sleeper)
	s.Client = dialServer(t, at, zklock.WithSuspends(zklock.ClientOptions{SessionTimeout: timeout}, func() time.Duration { return time.Duration(s.slept.Load()) }))
	return s
}

func suspendPastSession(t *testing.T, at harness.Endpoint) {
	const timeout = 40 * time.Second
	p := newProxy(t, at)
	s := newSleeper(t, p.at, timeout)
	var held []*zklock.Lease
	for _, k := range kinds {
		held = append(held, acquireLock(t, k.lock(s.Client, newPath()).Lock))
	}
	p.disconnect() // nothing proves that the session is alive
	for i, l := range held {
		until, _ := l.Deadline()
		if l.Err() != nil || time.Until(until) <= 0 || time.Until(until) > timeout || !strings.Contains(until.String(), " m=") {
			t.Errorf("%s: before, its Deadline is in %v, %v, want a monotonic one: %v", kinds[i].name, time.Until(until), until, l.Err())
		}
	}
	s.suspend(timeout)
	for _, l := range held {
		expectError(t, l.Err(), zklock.ErrLost)
		expectLost(t, l)
	}
	p.Refuse(false)
	zklock.StopAfterGrant(s.Client, func() { s.suspend(timeout); p.cut() }) // the session is alive, with its ticket
	l := acquireLock(t, s.Mutex(newPath(), zklock.Options{}).Lock)
	if until, _ := l.Deadline(); l.Err() != nil || time.Until(until) <= 0 || time.Until(until) > timeout {
		t.Errorf("a lease after the suspend ends in %v: %v", time.Until(until), l.Err())
	}
	unlockLease(t, l)
}

func suspendPastMaxHold(t *testing.T, at harness.Endpoint) {
	const most = 4 * time.Second
	other := dialServer(t, at, zklock.ClientOptions{})
	for _, k := range kinds {
		s, path := newSleeper(t, at, 40*time.Second), newPath()
		l := acquireLock(t, k.open(s.Client, path, 1, zklock.Options{MaxHold: most}).Lock)
		s.suspend(most)
		if err := l.Err(); !errors.Is(err, zklock.ErrLost) || !strings.Contains(err.Error(), "MaxHold") {
			t.Errorf("%s: Err = %v, want one about MaxHold", k.name, err)
		}
		unlockLease(t, acquireLock(t, k.rival(other, path).Lock))
	}
}

func TestContact(t *testing.T) {
	runParallel(t, []serverTest{
		{"cost", contactCost},
		{"busy", contactBusy},
		{"root not to be read", contactBelowRoot},
	})
}

// contactCost: a client that holds or waits sends at most four contacts in a session timeout,
// others none. In a second a busy machine would leave little after each answer.
func contactCost(t *testing.T, at harness.Endpoint) {
	const timeout, timeouts = 2 * time.Second, 4
	see, path := dialRaw(t, at), newPath()
	var clients [3]*zklock.Client
	for i := range clients {
		clients[i] = zklock.Relax(dialServer(t, at, zklock.ClientOptions{SessionTimeout: timeout}))
	}
	held := lockNow(t, clients[0].Mutex(path, zklock.Options{}))
	next := startWaiting(t, t.Context(), clients[1].Mutex(path, zklock.Options{}), see, 2)
	unlockLease(t, lockNow(t, clients[2].Mutex(newPath(), zklock.Options{})))
	var sent [3]uint64
	began := time.Now()
	var measured sync.WaitGroup
	for i, c := range clients {
		measured.Go(func() { sent[i] = countCost(func() { time.Sleep(timeouts * timeout) }, c).Requests })
	}
	measured.Wait()
	took := time.Since(began)
	// Each also watches its ticket, once.
	most := 4*float64(took)/float64(timeout) + 2
	for _, n := range sent[:2] {
		if n < timeouts || float64(n) > most {
			t.Errorf("the clients that hold and wait send %d requests in %v, want %d to %.0f", sent[:2], took, timeouts, most)
		}
	}
	expectEqual(t, "a client that neither holds nor waits sends", sent[2], 0)
	handOver(t, held, next)
}

func contactBusy(t *testing.T, at harness.Endpoint) {
	c := dialServer(t, at, zklock.ClientOptions{SessionTimeout: 4 * time.Second})
	m := c.Mutex(newPath(), zklock.Options{})
	unlockLease(t, lockNow(t, m))
	acquisitions := 0
	have := countCost(func() {
		for end := time.Now().Add(5 * time.Second); time.Now().Before(end); acquisitions++ {
			unlockLease(t, lockNow(t, m))
		}
	}, c)
	expectEqual(t, "the acquisitions cost", have, harness.Counts{Requests: uint64(2*acquisitions + 1)}) // the first watches the node of the lock
}

func contactBelowRoot(t *testing.T, _ harness.Endpoint) {
	at := startServer(t, backend.EnsembleOptions{})
	see := dialRaw(t, at)
	createNode(t, see, "/open", nil, 0)
	setACL(t, see, "/", zk.WorldACL(zk.PermCreate|zk.PermAdmin))
	c := dialServer(t, at, zklock.ClientOptions{SessionTimeout: 2 * time.Second})
	l, other := lockNow(t, c.Mutex("/open/lock", zklock.Options{})), lockNow(t, c.Mutex("/open/other", zklock.Options{}))
	setACL(t, see, "/open/other", zk.WorldACL(zk.PermAdmin))
	expectError(t, other.Unlock(t.Context()), zklock.ErrNotHeld) // its ticket stays
	time.Sleep(2 * c.SessionTimeout())
	unlockLease(t, l)
}
