package zklock_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"locklab/harness"
	"locklab/zklock/lab"
)

// TestHistorical shows the faults, by number, that failure scenarios do not show.
func TestHistorical(t *testing.T) {
	runParallel(t, []serverTest{
		{"fair/B4 a path with a dash", pathWithDash},
		{"writelock/B7 adopts a ticket", adoptsTicket},
		{"boolean-mutex/B8 asks 16 times a second", asksTooOften},
		{"boolean-mutex/B10 owns after the session", ownsAfterSession},
	})
}

func pathWithDash(t *testing.T, at harness.Endpoint) {
	c := closed(t)(lab.OldFair(t.Context(), at, newKey()+"/my-lock", time.Second))
	if l, err := session(t, c).Lock(t.Context()); err == nil || !strings.Contains(err.Error(), "number of") {
		t.Errorf("the hazard does not show: Lock = %v, %v", l, err)
	}
	for _, test := range []struct {
		path string
		ok   bool
	}{
		{"/locks/x-7205-0000000001", true},
		{"/my-locks/x-7205-0000000001", false}, // reads 7205, or fails as here if that is too great
		{"x--7205-0000000001", false},          // the session's number is negative
	} {
		if n, err := lab.OldNumber(test.path); (err == nil && n == 1) != test.ok {
			t.Errorf("number of %s: %d, %v", test.path, n, err)
		}
	}
}

// adoptsTicket: the second lock of a session makes no ticket, and waits for the first one's.
func adoptsTicket(t *testing.T, at harness.Endpoint) {
	see, key, v := raw(t, at), newKey(), variant(t, "zk-writelock-historical")
	c := client(t, v, at, key)
	held := acquire(t, session(t, c).Lock)
	ctx, cancel := context.WithCancel(t.Context())
	second := begins(ctx, session(t, c).Lock)
	expectWaiting(t, second)
	if names := queue(t, see, "/locklab/"+key); len(names) != 1 {
		t.Errorf("the hazard does not show: two locks of one session have the tickets %q", names)
	}
	cancel()
	if g := <-second; !errors.Is(g.err, zk.ErrInvalidPath) {
		t.Errorf("the hazard does not show: Lock = %v, want also %v", g.err, zk.ErrInvalidPath)
	}
	unlock(t, held)
}

// asksTooOften: every 60 ms, one level deeper and with one more watch.
func asksTooOften(t *testing.T, at harness.Endpoint) {
	key, v := newKey(), variant(t, "zk-boolean-mutex-historical")
	held := acquire(t, session(t, client(t, v, at, key)).Lock)
	c := client(t, v, at, key)
	s := session(t, c)
	waiter := begins(t.Context(), s.Lock)
	before := c.(harness.Counter).Counts().Requests
	eventually(t, "Lock calls itself", func() bool { return depth(s) >= 8 })
	asked := c.(harness.Counter).Counts().Requests - before
	if asked < 12 {
		t.Errorf("the hazard does not show: %d requests at depth 8", asked)
	}
	t.Logf("%d requests and a stack of %d while nothing happened", asked, depth(s))
	unlock(t, held)
	awaitLease(t, waiter)
	// The traffic of the fixed lock while it waits.
	held = acquire(t, session(t, client(t, variant(t, "zk-boolean-mutex"), at, key+"-mended")).Lock)
	c = client(t, variant(t, "zk-boolean-mutex"), at, key+"-mended")
	waiter = begins(t.Context(), session(t, c).Lock)
	time.Sleep(2 * aWhile)
	expectEqual(t, "mended, a waiter sends", c.(harness.Counter).Counts().Requests, 3)
	handOver(t, held, waiter)
}

// ownsAfterSession: the object grants an expired session's lock, which another client has.
func ownsAfterSession(t *testing.T, at harness.Endpoint) {
	p, key, v := newProxy(t, at), newKey(), variant(t, "zk-boolean-mutex-historical")
	p.at.SessionTimeout = time.Second
	s := session(t, client(t, v, p.at, key))
	old := acquire(t, s.Lock)
	p.disconnect()
	other := acquire(t, session(t, client(t, v, at, key)).Lock)
	p.Refuse(false)
	if again := acquire(t, s.Lock); old.Err() != nil || again.Err() != nil || other.Err() != nil {
		t.Errorf("the hazard does not show: %v, %v, %v", old.Err(), again.Err(), other.Err())
	}
	unlock(t, other)
}
