package zklock_test

import (
	"errors"
	"testing"
	"time"

	"locklab/harness"
	locks "locklab/lock"
	"locklab/zklock"
)

func rwOwner(t *testing.T, at harness.Endpoint) {
	path := newPath()
	c := dial(t, at, zklock.ClientOptions{})
	a := c.RWMutex(path, zklock.Options{})
	b := newRW(t, at, path)
	o := a.Owner()
	r := acquire(t, o.RLock)
	before := counts(c)
	again := acquire(t, o.RLock)
	expectEqual(t, "reading again costs", counts(c).Sub(before), harness.Counts{})
	for _, lock := range []taker{o.Lock, o.TryLock} {
		expectError(t, lockError(t.Context(), lock), zklock.ErrUpgrade)
	}
	unlock(t, r)
	writer := behind(t.Context(), b.Lock)
	expectWaiting(t, writer)
	unlock(t, again)
	unlock(t, awaitLease(t, writer))
	w := acquire(t, o.Lock)
	inner := acquire(t, o.Lock)
	if writes, reads := o.Counts(); writes != 2 || reads != 0 {
		t.Errorf("Counts = %d, %d, want 2, 0", writes, reads)
	}
	unlock(t, w)
	reader := behind(t.Context(), b.RLock)
	expectWaiting(t, reader)
	unlock(t, inner)
	unlock(t, awaitLease(t, reader))
}

// rwDowngrade: nobody else writes between the write and the read, though a writer waits.
func rwDowngrade(t *testing.T, at harness.Endpoint) {
	see, path := raw(t, at), newPath()
	a, b := newRW(t, at, path), newRW(t, at, path)
	o := a.Owner()
	w := acquire(t, o.Lock)
	sharer := behind(t.Context(), b.RLock)
	writer := behind(t.Context(), b.Lock)
	r := acquire(t, o.RLock)
	expectEqual(t, "the reader's token", r.Token(), w.Token())
	inner := acquire(t, o.Lock) // it still writes
	unlock(t, w)
	expectWaiting(t, sharer)
	unlock(t, inner)
	unlock(t, awaitLease(t, sharer))
	expectWaiting(t, writer)
	expectError(t, lockError(t.Context(), o.Lock), zklock.ErrUpgrade)
	unlock(t, r)
	l := awaitLease(t, writer)
	expectRisingTokens(t, r, l)
	unlock(t, l)
	awaitQueue(t, see, path, 0)
}

// rwDowngradeHandsOver: the writer that reads on does not hand over, even if its reply is lost.
func rwDowngradeHandsOver(t *testing.T, at harness.Endpoint) {
	p, see, path := newProxy(t, at), raw(t, at), newPath()
	a, b := newRW(t, p.at, path), newRW(t, at, path)
	o := a.Owner()
	w := acquire(t, o.Lock)
	writer := behind(t.Context(), b.Lock)
	p.loseReply()
	r := acquire(t, o.RLock)
	p.requireReplyLost(t)
	unlock(t, w)
	expectWaiting(t, writer)
	unlock(t, r)
	l := awaitLease(t, writer)
	expectRisingTokens(t, r, l)
	unlock(t, l)
	awaitQueue(t, see, path, 0)
}

func rwDowngradeLost(t *testing.T, at harness.Endpoint) {
	p, path := newProxy(t, at), newPath()
	m := dial(t, p.at, zklock.ClientOptions{SessionTimeout: time.Second}).RWMutex(path, zklock.Options{})
	o := m.Owner()
	w := acquire(t, o.Lock)
	p.disconnect()
	<-w.Done()
	b := newRW(t, at, path)
	other := acquire(t, b.Lock)
	p.Refuse(false)
	read := behind(t.Context(), o.RLock) // queues like any other
	expectWaiting(t, read)
	unlock(t, other)
	unlock(t, awaitLease(t, read))
	expectLost(t, w)
}

// rwDowngradeEnds: the owner unlocks its write before its reader's grant.
func rwDowngradeEnds(t *testing.T, at harness.Endpoint) {
	see, path := raw(t, at), newPath()
	c := dial(t, at, zklock.ClientOptions{})
	a := c.RWMutex(path, zklock.Options{})
	o := a.Owner()
	w := acquire(t, o.Lock)
	zklock.StallOnce(c, zklock.TicketMade, func() { unlock(t, w) })
	if r, err := o.RLock(t.Context()); !errors.Is(err, zklock.ErrNotHeld) {
		t.Fatalf("RLock = %v, %v, want ErrNotHeld", r, err)
	}
	awaitQueue(t, see, path, 0)
}

func rwTakenBeforeLook(t *testing.T, at harness.Endpoint) {
	see, path := raw(t, at), newPath()
	c := dial(t, at, zklock.ClientOptions{})
	takenBeforeLook(t, see, c, c.RWMutex(path, zklock.Options{}).Lock, newRW(t, at, path).Lock, newRW(t, at, path).Lock)
}

// rwSessionChanges: before the watch on the writer ahead the session ends: it queues again.
func rwSessionChanges(t *testing.T, at harness.Endpoint) {
	see, path, p := raw(t, at), newPath(), newProxy(t, at)
	a := newRW(t, at, path)
	c := dial(t, p.at, zklock.ClientOptions{SessionTimeout: time.Second})
	head := acquire(t, a.Lock)
	changed := make(chan bool)
	zklock.StallOnce(c, zklock.BeforeWatch, func() {
		defer close(changed)
		changeSession(t, p, c, func() bool { return len(queue(t, see, path)) == 1 })
	})
	ctx := zklock.WithTrace(t.Context(), &zklock.Trace{Woken: func(i locks.WokenInfo) {
		if i.Why == locks.WakeDoubt {
			t.Error("it began to wait without a ticket")
		}
	}})
	waits := behind(ctx, c.RWMutex(path, zklock.Options{}).Lock)
	<-changed
	awaitQueue(t, see, path, 2)
	expectWaiting(t, waits)
	unlock(t, head)
	unlock(t, awaitLease(t, waits))
}

// changeSession ends the session of c, expired when gone returns true, and waits for the next.
func changeSession(t *testing.T, p *proxy, c *zklock.Client, gone func() bool) {
	t.Helper()
	old := zklock.SessionID(c)
	p.disconnect()
	eventually(t, "the session expires", gone)
	p.Refuse(false)
	eventually(t, "the client has another", func() bool { return zklock.Up(c) && zklock.SessionID(c) != old })
}
