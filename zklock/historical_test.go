package zklock_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"locklab/harness"
)

// TestHistorical shows the faults, by number, that failure scenarios do not show.
func TestHistorical(t *testing.T) {
	runParallel(t, []serverTest{
		{"writelock/B7 adopts a ticket", adoptsTicket},
		{"boolean-mutex/B8 asks 16 times a second", asksTooOften},
		{"boolean-mutex/B10 owns after the session", ownsAfterSession},
	})
}

// adoptsTicket: the second lock of a session makes no ticket, and waits for the first one's.
func adoptsTicket(t *testing.T, at harness.Endpoint) {
	see, key, v := raw(t, at), newKey(), variant(t, "zk-writelock-historical")
	c := connect(t, v, at, key)
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

// asksTooOften: every 60 ms, with one more watch; the fixed lock sends three requests.
func asksTooOften(t *testing.T, at harness.Endpoint) {
	for name, idle := range map[string]bool{"zk-boolean-mutex-historical": false, "zk-boolean-mutex": true} {
		key, v := newKey(), variant(t, name)
		held := acquire(t, session(t, connect(t, v, at, key)).Lock)
		c := connect(t, v, at, key)
		waiter := begins(t.Context(), session(t, c).Lock)
		time.Sleep(4 * aWhile)
		if asked := c.(harness.Counter).Counts().Requests; idle != (asked == 3) || !idle && asked < 8 {
			t.Errorf("%s: a waiter sends %d requests while nothing happens, want 3: %t", name, asked, idle)
		}
		unlock(t, held)
		awaitLease(t, waiter)
	}
}

// ownsAfterSession: the object grants an expired session's lock, which another client has.
func ownsAfterSession(t *testing.T, at harness.Endpoint) {
	p, key, v := newProxy(t, at), newKey(), variant(t, "zk-boolean-mutex-historical")
	p.at.SessionTimeout = time.Second
	s := session(t, connect(t, v, p.at, key))
	old := acquire(t, s.Lock)
	p.disconnect()
	other := acquire(t, session(t, connect(t, v, at, key)).Lock)
	p.Refuse(false)
	if again := acquire(t, s.Lock); old.Err() != nil || again.Err() != nil || other.Err() != nil {
		t.Errorf("the hazard does not show: %v, %v, %v", old.Err(), again.Err(), other.Err())
	}
	unlock(t, other)
}
