package zklock_test

import (
	"errors"
	"testing"
	"time"

	"locklab/harness"
	"locklab/zklock"
)

func rwOwner(t *testing.T, at harness.Endpoint) {
	path := newPath()
	c, a := newRW(t, at, path)
	_, b := newRW(t, at, path)
	o := a.Owner()
	r := grab(t, o.RLock)
	before := counts(c)
	again := grab(t, o.RLock)
	if have := counts(c).Sub(before); have != (harness.Counts{}) {
		t.Errorf("reading again costs %+v, want nothing", have)
	}
	for _, lock := range []taker{o.Lock, o.TryLock} {
		if _, err := lock(t.Context()); !errors.Is(err, zklock.ErrUpgrade) {
			t.Errorf("a reader that wants to write gets %v, want ErrUpgrade", err)
		}
	}
	unlock(t, r)
	writer := behind(t.Context(), b.Lock)
	empty(t, writer)
	unlock(t, again)
	unlock(t, take(t, writer))
	w := grab(t, o.Lock)
	inner := grab(t, o.Lock)
	if writes, reads := o.Counts(); writes != 2 || reads != 0 {
		t.Errorf("Counts = %d, %d, want 2, 0", writes, reads)
	}
	unlock(t, w)
	reader := behind(t.Context(), b.RLock)
	empty(t, reader)
	unlock(t, inner)
	unlock(t, take(t, reader))
}

// rwDowngrade: no other writes between the write and the read, though a writer
// has waited all the time.
func rwDowngrade(t *testing.T, at harness.Endpoint) {
	see, path := raw(t, at), newPath()
	_, a := newRW(t, at, path)
	_, b := newRW(t, at, path)
	o := a.Owner()
	w := grab(t, o.Lock)
	sharer := behind(t.Context(), b.RLock)
	writer := behind(t.Context(), b.Lock)
	r := grab(t, o.RLock)
	if r.Token() != w.Token() {
		t.Errorf("the reader's token is %d, want the writer's, %d", r.Token(), w.Token())
	}
	inner := grab(t, o.Lock) // it still writes
	unlock(t, w)
	empty(t, sharer)
	unlock(t, inner)
	unlock(t, take(t, sharer))
	empty(t, writer)
	if _, err := o.Lock(t.Context()); !errors.Is(err, zklock.ErrUpgrade) {
		t.Errorf("after the downgrade Lock = %v, want ErrUpgrade", err)
	}
	unlock(t, r)
	l := take(t, writer)
	if l.Token() <= r.Token() {
		t.Errorf("token %d after %d", l.Token(), r.Token())
	}
	unlock(t, l)
	queued(t, see, path, 0)
}

// rwDowngradeHandsOver: a writer that reads on does not hand over to the writer
// right behind it.
func rwDowngradeHandsOver(t *testing.T, at harness.Endpoint) {
	see, path := raw(t, at), newPath()
	_, a := newRW(t, at, path)
	_, b := newRW(t, at, path)
	o := a.Owner()
	w := grab(t, o.Lock)
	writer := behind(t.Context(), b.Lock)
	r := grab(t, o.RLock)
	unlock(t, w)
	empty(t, writer)
	unlock(t, r)
	l := take(t, writer)
	if l.Token() <= r.Token() {
		t.Errorf("token %d after %d", l.Token(), r.Token())
	}
	unlock(t, l)
	queued(t, see, path, 0)
}

// rwDowngradeLost: an owner that has lost the write gets no read by it.
func rwDowngradeLost(t *testing.T, at harness.Endpoint) {
	p, path := newProxy(t, at), newPath()
	m := dial(t, p.at, zklock.ClientOptions{SessionTimeout: time.Second}).RWMutex(path, zklock.Options{})
	o := m.Owner()
	w := grab(t, o.Lock)
	p.refuse.Store(true)
	p.cut()
	<-w.Done()
	_, b := newRW(t, at, path)
	other := grab(t, b.Lock)
	p.refuse.Store(false)
	read := behind(t.Context(), o.RLock) // queues like any other
	empty(t, read)
	unlock(t, other)
	unlock(t, take(t, read))
	lost(t, w)
}
