package zklock_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"locklab/harness"
	"locklab/zklock"
	"locklab/zklock/lab"
)

func TestRW(t *testing.T) {
	runParallel(t, []serverTest{
		{"requests of a reader behind writers", rwBehindWriters},
		{"a writer hands over", rwHandOver},
		{"owner and downgrade", rwOwner},
		{"downgrade after the write is lost", rwDowngradeLost},
		{"downgrade while the write ends", rwDowngradeEnds},
		{"name taken before the look", func(t *testing.T, at harness.Endpoint) {
			see, path, c := dialRaw(t, at), newPath(), dialServer(t, at, zklock.ClientOptions{})
			takenBeforeLook(t, see, c, c.RWMutex(path, zklock.Options{}).Lock, newRW(t, at, path).Lock, newRW(t, at, path).Lock)
		}},
	})
}

func newRW(t *testing.T, at harness.Endpoint, path string) *zklock.RWMutex {
	t.Helper()
	return dialServer(t, at, zklock.ClientOptions{}).RWMutex(path, zklock.Options{})
}

// rwHandOver: from a writer's release to the next lock no client sends a request, and from a
// reader's release one.
func rwHandOver(t *testing.T, at harness.Endpoint) {
	see, path := dialRaw(t, at), newPath()
	c, d, e := dialServer(t, at, zklock.ClientOptions{}), dialServer(t, at, zklock.ClientOptions{}), dialServer(t, at, zklock.ClientOptions{})
	a, b, r := c.RWMutex(path, zklock.Options{}), d.RWMutex(path, zklock.Options{}), e.RWMutex(path, zklock.Options{})
	head := acquireLock(t, a.Lock)
	var waits []<-chan result
	for i, f := range []taker{b.Lock, r.RLock, a.Lock} {
		waits = append(waits, lockBehind(t.Context(), f))
		awaitQueue(t, see, path, i+2)
	}
	for i, requests := range []uint64{1, 1, 2} {
		expectWaiting(t, waits[i])
		var l *zklock.Lease
		expectCost(t, harness.Counts{Requests: requests, Notifications: 1}, func() { unlockLease(t, head); l = awaitLease(t, waits[i]) }, c, d, e)
		expectRisingTokens(t, head, l)
		head = l
	}
	unlockLease(t, head)
	awaitQueue(t, see, path, 0)
}

// rwBehindWriters compares the rule of a RWMutex for watches with Curator's.
func rwBehindWriters(t *testing.T, at harness.Endpoint) {
	for _, rule := range []struct {
		open func(*zklock.RWMutex) *zklock.RWMutex
		want harness.Counts
	}{
		{func(m *zklock.RWMutex) *zklock.RWMutex { return m }, harness.Counts{Requests: 4, Notifications: 1}},
		{lab.WatchFirst, harness.Counts{Requests: 9, Notifications: 3}},
	} {
		see, path, c := dialRaw(t, at), newPath(), dialServer(t, at, zklock.ClientOptions{})
		m := rule.open(c.RWMutex(path, zklock.Options{}))
		held := acquireLock(t, newRW(t, at, path).RLock)
		unlockLease(t, acquireLock(t, m.RLock)) // has met another
		unlockLease(t, held)
		before := counts(c)
		var writers []<-chan result
		for i := range 3 {
			writers = append(writers, lockBehind(t.Context(), newRW(t, at, path).Lock))
			awaitQueue(t, see, path, i+1)
		}
		reader := lockBehind(t.Context(), m.RLock)
		handOver(t, awaitLease(t, writers[0]), writers[1], writers[2], reader)
		expectEqual(t, "a reader behind three writers costs", counts(c).Sub(before), rule.want)
	}
}

func TestReentrant(t *testing.T) {
	runParallel(t, []serverTest{
		{"counts", ownerCounts},
		{"lost", ownerLoses},
		{"one of its goroutines queues", ownerQueuesOnce},
		{"client shut down", ownerShutDown},
	})
}

func ownerCounts(t *testing.T, at harness.Endpoint) {
	path := newPath()
	c, d := dialServer(t, at, zklock.ClientOptions{}), dialServer(t, at, zklock.ClientOptions{})
	o := c.Reentrant(path, zklock.Options{}).Owner()
	var leases []*zklock.Lease
	for i := range 4 {
		leases = append(leases, acquireLock(t, o.TryLock))
		expectEqual(t, "the token", leases[i].Token(), leases[0].Token())
		expectEqual(t, "Count", o.Count(), i+1)
	}
	next := lockBehind(t.Context(), d.Reentrant(path, zklock.Options{}).Owner().Lock)
	for i, k := range []int{0, 2, 3} { // the first is nothing special
		unlockLease(t, leases[k])
		expectError(t, leases[k].Unlock(t.Context()), zklock.ErrNotHeld)
		expectError(t, leases[k].Err(), zklock.ErrReleased)
		expectEqual(t, "Count", o.Count(), 3-i)
	}
	handOver(t, leases[1], next)
}

func expectExcluded(t *testing.T, what string, f taker) {
	t.Helper()
	if l, err := f(contextWithin(t, aWhile)); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%s gets %v, %v, want that it waits", what, l, err)
	}
}

func ownerLoses(t *testing.T, at harness.Endpoint) {
	p := newProxy(t, at)
	c := dialServer(t, p.at, zklock.ClientOptions{SessionTimeout: time.Second})
	zklock.SetMargin(c, -time.Hour) // only the servers end its session
	m := c.Reentrant(newPath(), zklock.Options{})
	o := m.Owner()
	outer, inner := acquireLock(t, o.Lock), acquireLock(t, o.Lock)
	see := dialRaw(t, at)
	changeSession(t, p, c, func() bool { return len(listQueue(t, see, m.Path())) == 0 })
	for _, l := range []*zklock.Lease{inner, outer} {
		<-l.Done()
		expectError(t, lockError(t.Context(), o.Lock), zklock.ErrSessionExpired)
		expectLost(t, l)
	}
	expectEqual(t, "Count", o.Count(), 0)
	l := acquireLock(t, o.Lock)
	expectRisingTokens(t, outer, l)
	unlockLease(t, l)
}

// ownerQueuesOnce: one goroutine of an owner queues for all, and another if that one gives up.
func ownerQueuesOnce(t *testing.T, at harness.Endpoint) {
	see, path := dialRaw(t, at), newPath()
	m := dialServer(t, at, zklock.ClientOptions{}).Reentrant(path, zklock.Options{})
	o, other := m.Owner(), m.Owner()
	held := acquireLock(t, other.Lock)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	a, b, c := lockBehind(ctx, o.Lock), lockBehind(t.Context(), o.Lock), lockBehind(t.Context(), o.Lock)
	awaitQueue(t, see, path, 2)
	expectError(t, lockError(t.Context(), o.TryLock), zklock.ErrNotAcquired)
	cancel()
	expectError(t, (<-a).err, context.Canceled)
	expectWaiting(t, b)
	awaitQueue(t, see, path, 2)
	unlockLease(t, held)
	first, second := awaitLease(t, b), awaitLease(t, c)
	awaitQueue(t, see, path, 1)
	unlockLease(t, first)
	expectExcluded(t, "another owner", other.Lock)
	unlockLease(t, second)
	awaitQueue(t, see, path, 0)
}

// ownerShutDown: an owner that begins to read races with nothing in Shutdown.
func ownerShutDown(t *testing.T, at harness.Endpoint) {
	for range 8 {
		c := dialServer(t, at, zklock.ClientOptions{})
		o := c.RWMutex(newPath(), zklock.Options{}).Owner()
		acquireLock(t, o.Lock)
		var reads sync.WaitGroup
		reads.Go(func() {
			for zklock.Lend(o) {
			}
		})
		lockNow(t, c.Mutex(newPath(), zklock.Options{})) // meanwhile it begins
		requireNoError(t, c.Shutdown(t.Context()))
		reads.Wait()
	}
}

// rwOwner: reading again costs nothing, and a reader cannot write. Nobody else writes between a
// write and a read, though a writer waits and the reply to the reader's ticket is lost.
func rwOwner(t *testing.T, at harness.Endpoint) {
	p, see, path := newProxy(t, at), dialRaw(t, at), newPath()
	c := dialServer(t, p.at, zklock.ClientOptions{})
	o, b := c.RWMutex(path, zklock.Options{}).Owner(), newRW(t, at, path)
	r := acquireLock(t, o.RLock)
	var again *zklock.Lease
	expectCost(t, harness.Counts{}, func() { again = acquireLock(t, o.RLock) }, c)
	for _, lock := range []taker{o.Lock, o.TryLock} {
		expectError(t, lockError(t.Context(), lock), zklock.ErrUpgrade)
	}
	unlockLease(t, r)
	handOver(t, again, lockBehind(t.Context(), b.Lock))

	w := acquireLock(t, o.Lock)
	sharer, writer := lockBehind(t.Context(), b.RLock), lockBehind(t.Context(), b.Lock)
	p.loseReply()
	r = acquireLock(t, o.RLock)
	p.requireReplyLost(t)
	expectEqual(t, "the reader's token", r.Token(), w.Token())
	inner := acquireLock(t, o.Lock) // it still writes
	if writes, reads := o.Counts(); writes != 2 || reads != 1 {
		t.Errorf("Counts = %d, %d, want 2, 1", writes, reads)
	}
	unlockLease(t, w)
	handOver(t, inner, sharer)
	expectWaiting(t, writer)
	expectError(t, lockError(t.Context(), o.Lock), zklock.ErrUpgrade)
	handOver(t, r, writer)

	w = acquireLock(t, o.Lock)
	writer = lockBehind(t.Context(), b.Lock) // watches the write ticket
	r = acquireLock(t, o.RLock)
	unlockLease(t, w)
	handOver(t, r, writer)

	w = acquireLock(t, o.Lock)
	late, reads := dialServer(t, at, zklock.ClientOptions{}), make(chan *zklock.Lease, 1)
	zklock.StallOnce(late, zklock.BeforeWatch, func() { // it has seen the write ticket only
		reads <- acquireLock(t, o.RLock)
		unlockLease(t, w)
	})
	writer = lockBehind(t.Context(), late.RWMutex(path, zklock.Options{}).Lock)
	r = <-reads
	expectWaiting(t, writer)
	handOver(t, r, writer)
	awaitQueue(t, see, path, 0)
}

func rwDowngradeLost(t *testing.T, at harness.Endpoint) {
	p, path := newProxy(t, at), newPath()
	m := dialServer(t, p.at, zklock.ClientOptions{SessionTimeout: time.Second}).RWMutex(path, zklock.Options{})
	o := m.Owner()
	w := acquireLock(t, o.Lock)
	p.disconnect()
	<-w.Done()
	b := newRW(t, at, path)
	other := acquireLock(t, b.Lock)
	p.Refuse(false)
	read := lockBehind(t.Context(), o.RLock) // queues like any other
	expectWaiting(t, read)
	unlockLease(t, other)
	r := awaitLease(t, read)
	expectError(t, lockError(t.Context(), o.Lock), zklock.ErrLost) // not ErrUpgrade: it still has a lost write
	unlockLease(t, r)
	expectLost(t, w)
}

// rwDowngradeEnds: the owner unlocks its write before its reader's grant.
func rwDowngradeEnds(t *testing.T, at harness.Endpoint) {
	see, path, c := dialRaw(t, at), newPath(), dialServer(t, at, zklock.ClientOptions{})
	a := c.RWMutex(path, zklock.Options{})
	o := a.Owner()
	w := acquireLock(t, o.Lock)
	zklock.StallOnce(c, zklock.TicketMade, func() { unlockLease(t, w) })
	if r, err := o.RLock(t.Context()); !errors.Is(err, zklock.ErrNotHeld) {
		t.Fatalf("RLock = %v, %v, want ErrNotHeld", r, err)
	}
	awaitQueue(t, see, path, 0)
}

// changeSession ends the session of c, expired when gone returns true, and waits for the next.
func changeSession(t *testing.T, p *proxy, c *zklock.Client, gone func() bool) {
	t.Helper()
	old := zklock.SessionID(c)
	p.disconnect()
	waitUntil(t, "the session expires", gone)
	p.Refuse(false)
	waitUntil(t, "the client has another", func() bool { return zklock.Up(c) && zklock.SessionID(c) != old })
}
