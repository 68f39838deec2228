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
	"locklab/zklock/lab"
)

// TestHistorical shows the error of each historical lock, by its number in the
// lab's list, and where it is quick that the mended lock does not have it.
func TestHistorical(t *testing.T) {
	t.Parallel()
	at := endpoint(t)
	atOnce(t, at, []serverTest{
		{"persistent/a crash blocks for ever", persistentNeverRecovers},
		{"fair/B1 loses the wake-up", func(t *testing.T, at harness.Endpoint) { losesWakeUp(t, at, "zk-fair-historical") }},
		{"fair/B2 fails when it has become the first", failsAsFirst},
		{"fair/B3 polls in the event thread", pollsInEventThread},
		{"fair/B4 a path with a dash", pathWithDash},
		{"fair/B5 a lost connection is news", connectionIsNews},
		{"writelock/B1 loses the wake-up", func(t *testing.T, at harness.Endpoint) { losesWakeUp(t, at, "zk-writelock-historical") }},
		{"writelock/B1 stalls in a loop", stallsInLoop},
		{"writelock/B7 adopts a ticket", adoptsTicket},
		{"boolean-mutex/B6 and B12 a lost reply", lostReplyIsForEver},
		{"boolean-mutex/B8 asks 16 times a second", asksTooOften},
		{"boolean-mutex/B9 lets in its own", letsInItsOwn},
		{"boolean-mutex/B10 owns after the session", ownsAfterSession},
		{"boolean-mutex/B11 TryLock leaves its ticket", tryLeavesTicket},
	})
}

// persistentNeverRecovers: a holder's session ends. The next one gets a zk-fair
// at once, and a zk-persistent not; nor ever will it, since the ticket has no owner.
func persistentNeverRecovers(t *testing.T, at harness.Endpoint) {
	var recovery time.Duration
	for _, name := range []string{"zk-fair", "zk-persistent"} {
		p, see, key := newProxy(t, at), raw(t, at), newKey()
		p.at.SessionTimeout = time.Second
		v := variant(t, name)
		mustLock(t, session(t, client(t, v, p.at, key)))
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		next := begin(ctx, session(t, client(t, v, at, key)))
		tickets := queued(t, see, "/locklab/"+key, 2)
		p.refuse.Store(true)
		p.cut()
		died := time.Now()
		if name == "zk-fair" {
			mustUnlock(t, soon(t, next))
			recovery = time.Since(died)
			continue
		}
		stuck(t, next, cancel, recovery+aWhile)
		_, stat, err := see.Get("/locklab/" + key + "/" + tickets[0])
		if err != nil || stat.EphemeralOwner != 0 {
			t.Errorf("the ticket of the dead holder: owner %#x, %v; want that it is there and has no owner", stat.EphemeralOwner, err)
		}
	}
}

// losesWakeUp: the ticket ahead goes between the list and the watch. The waiter
// is the first and alone, and sleeps.
func losesWakeUp(t *testing.T, at harness.Endpoint, name string) {
	see, key, v := raw(t, at), newKey(), variant(t, name)
	held := mustLock(t, session(t, client(t, v, at, key)))
	c := client(t, v, at, key)
	var once sync.Once
	between(c, func(step string) {
		if step == "listed" {
			once.Do(func() { mustUnlock(t, held) })
		}
	})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	waiter := begin(ctx, session(t, c))
	stuck(t, waiter, cancel, 3*aWhile)
	queued(t, see, pathOf(v, key), 0) // the ticket went when the wait was called off
}

// pathOf returns where a lock keeps its tickets.
func pathOf(v *harness.Variant, key string) string {
	if v.Name == "zk-fair-historical" {
		key = strings.ReplaceAll(key, "-", "_")
	}
	return "/locklab/" + key
}

// failsAsFirst: the ticket ahead goes between the two lists.
func failsAsFirst(t *testing.T, at harness.Endpoint) {
	key, v := newKey(), variant(t, "zk-fair-historical")
	held := mustLock(t, session(t, client(t, v, at, key)))
	c := client(t, v, at, key)
	between(c, func(step string) {
		if step == "checked" {
			mustUnlock(t, held)
		}
	})
	l, err := session(t, c).Lock(t.Context())
	if err == nil || !strings.Contains(err.Error(), "which was not the first") {
		t.Errorf("the hazard does not show: Lock = %v, %v", l, err)
	}
}

// pollsInEventThread: a waiter in the middle leaves, and the one behind begins
// to poll. When the lock is free it notices only at the next poll.
func pollsInEventThread(t *testing.T, at harness.Endpoint) {
	const period = time.Second
	see, key, v := raw(t, at), strings.ReplaceAll(newKey(), "-", "_"), variant(t, "zk-fair-historical")
	held := mustLock(t, session(t, client(t, v, at, key)))
	ctx, cancel := context.WithCancel(t.Context())
	middle := begin(ctx, session(t, client(t, v, at, key)))
	queued(t, see, "/locklab/"+key, 2)
	c := closed(t)(lab.OldFair(t.Context(), at, key, period))
	sent := func() uint64 { return c.(harness.Counter).Counts().Requests }
	before := sent()
	last := begin(t.Context(), session(t, c))
	eventually(t, "it watches", func() bool { return sent() == before+4 }) // create, list, list, exists
	time.Sleep(aWhile / 4)
	cancel()
	<-middle
	eventually(t, "it polls", func() bool { return sent() > before+4 })
	time.Sleep(aWhile / 4) // the server has answered
	released := time.Now()
	mustUnlock(t, held)
	mustUnlock(t, soon(t, last))
	if took := time.Since(released); took < period/2 {
		t.Errorf("the hazard does not show: handed over after %v, with a poll every %v", took, period)
	} else {
		t.Logf("handed over after %v, with a poll every %v", took, period)
	}
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

// connectionIsNews: when the connection breaks, the waiter lists the queue,
// from which nothing has gone.
func connectionIsNews(t *testing.T, at harness.Endpoint) {
	p, see, key, v := newProxy(t, at), raw(t, at), newKey(), variant(t, "zk-fair-historical")
	held := mustLock(t, session(t, client(t, v, at, key)))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	waiter := begin(ctx, session(t, client(t, v, p.at, key)))
	queued(t, see, pathOf(v, key), 2)
	eventually(t, "it watches the one ahead", func() bool { return p.Seen("exists") > 0 })
	time.Sleep(aWhile / 4) // the server has answered
	before := p.Seen("getChildren2")
	p.cut()
	eventually(t, "it lists", func() bool { return p.Seen("getChildren2") > before })
	mustUnlock(t, held)
	cancel()
	if g := <-waiter; g.err == nil {
		mustUnlock(t, g.l)
	}
}

// stallsInLoop: two clients that take the lock alternately come to a stop, and the
// mended lock does not, in the time that the other took and a second more.
func stallsInLoop(t *testing.T, at harness.Endpoint) {
	acquisitions, after, stalled := alternate(t, at, "zk-writelock-historical", patience)
	if !stalled {
		t.Errorf("the hazard does not show: %d acquisitions in %v", acquisitions, after)
	}
	t.Logf("as published: at a stop after %d acquisitions, %v", acquisitions, after)
	acquisitions, after, stalled = alternate(t, at, "zk-writelock", after+time.Second)
	if stalled {
		t.Errorf("mended, it is at a stop after %d acquisitions, %v", acquisitions, after)
	}
	t.Logf("mended: %d acquisitions in %v", acquisitions, after)
}

// alternate lets two clients take a lock alternately for a while, or until neither
// has had one for a second though the tickets of both are there or could be.
func alternate(t *testing.T, at harness.Endpoint, name string, limit time.Duration) (acquisitions int64, after time.Duration, stalled bool) {
	t.Helper()
	key, v := newKey(), variant(t, name)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var n, last atomic.Int64 // acquisitions, and the time of the last
	begun := time.Now()
	var wg sync.WaitGroup
	for range 2 {
		s := session(t, client(t, v, at, key))
		wg.Go(func() {
			for ctx.Err() == nil {
				l, err := s.Lock(ctx)
				if err == nil {
					n.Add(1)
					last.Store(int64(time.Since(begun)))
					err = l.Unlock(ctx)
				}
				if err != nil && ctx.Err() == nil {
					t.Error(err)
					return
				}
			}
		})
	}
	for time.Since(begun) < limit && !stalled {
		time.Sleep(10 * time.Millisecond)
		stalled = time.Since(begun)-time.Duration(last.Load()) > time.Second
	}
	cancel()
	wg.Wait()
	return n.Load(), time.Duration(last.Load()), stalled
}

// adoptsTicket: the second lock of a session makes no ticket, waits for the
// first one's as if it were its own, and cannot even delete it.
func adoptsTicket(t *testing.T, at harness.Endpoint) {
	see, key, v := raw(t, at), newKey(), variant(t, "zk-writelock-historical")
	c := client(t, v, at, key)
	held := mustLock(t, session(t, c))
	ctx, cancel := context.WithCancel(t.Context())
	second := begin(ctx, session(t, c))
	select {
	case g := <-second:
		t.Fatalf("Lock = %v, %v", g.l, g.err)
	case <-time.After(aWhile):
	}
	if names := queue(t, see, "/locklab/"+key); len(names) != 1 {
		t.Errorf("the hazard does not show: two locks of one session have the tickets %q", names)
	}
	cancel()
	if g := <-second; !errors.Is(g.err, zk.ErrInvalidPath) {
		t.Errorf("the hazard does not show: Lock = %v, want also %v", g.err, zk.ErrInvalidPath)
	}
	mustUnlock(t, held)
}

// lostReplyIsForEver: the ticket whose creation was not confirmed blocks others
// as long as the session lives, and the error stays.
func lostReplyIsForEver(t *testing.T, at harness.Endpoint) {
	p, see, key, v := newProxy(t, at), raw(t, at), newKey(), variant(t, "zk-boolean-mutex-historical")
	s := session(t, client(t, v, p.at, key))
	other := session(t, client(t, v, at, key))
	p.swallow.Store(true)
	if l, err := s.Lock(t.Context()); err == nil {
		t.Fatalf("the hazard does not show: Lock = %v", l)
	}
	queued(t, see, "/locklab/"+key, 1) // the ticket that is left
	ctx, cancel := context.WithCancel(t.Context())
	stuck(t, begin(ctx, other), cancel, 2*aWhile)
	for range 2 {
		if l, err := s.Lock(t.Context()); !errors.Is(err, zk.ErrConnectionClosed) {
			t.Errorf("the hazard does not show: with a new connection Lock = %v, %v", l, err)
		}
	}
}

// asksTooOften: all 60 ms, deeper and with one more watch each time.
func asksTooOften(t *testing.T, at harness.Endpoint) {
	key, v := newKey(), variant(t, "zk-boolean-mutex-historical")
	held := mustLock(t, session(t, client(t, v, at, key)))
	c := client(t, v, at, key)
	s := session(t, c)
	waiter := begin(t.Context(), s)
	before := c.(harness.Counter).Counts().Requests
	eventually(t, "Lock calls itself", func() bool { return depth(s) >= 8 })
	asked := c.(harness.Counter).Counts().Requests - before
	if asked < 12 {
		t.Errorf("the hazard does not show: %d requests at depth 8", asked)
	}
	t.Logf("%d requests and a stack of %d while nothing happened", asked, depth(s))
	mustUnlock(t, held)
	soon(t, waiter)
	// What the mended lock sends while it waits.
	held = mustLock(t, session(t, client(t, variant(t, "zk-boolean-mutex"), at, key+"-mended")))
	c = client(t, variant(t, "zk-boolean-mutex"), at, key+"-mended")
	waiter = begin(t.Context(), session(t, c))
	time.Sleep(2 * aWhile)
	if n := c.(harness.Counter).Counts().Requests; n != 3 {
		t.Errorf("mended, a waiter sends %d requests, want 3", n)
	}
	mustUnlock(t, held)
	mustUnlock(t, soon(t, waiter))
}

// letsInItsOwn: a second goroutine of the holder's client walks in, and the
// first Unlock lets in others while it is there.
func letsInItsOwn(t *testing.T, at harness.Endpoint) {
	key, v := newKey(), variant(t, "zk-boolean-mutex-historical")
	c := client(t, v, at, key)
	first := mustLock(t, session(t, c))
	second := mustLock(t, session(t, c))
	if first.Err() != nil || second.Err() != nil {
		t.Errorf("the hazard does not show: %v, %v", first.Err(), second.Err())
	}
	mustUnlock(t, first)
	third := mustLock(t, session(t, client(t, v, at, key)))
	if second.Err() != nil {
		t.Errorf("the hazard does not show: %v", second.Err())
	}
	mustUnlock(t, third)
	mustUnlock(t, second)
}

// ownsAfterSession: the session expires, another client has the lock, and the
// object gives it out all the same.
func ownsAfterSession(t *testing.T, at harness.Endpoint) {
	p, key, v := newProxy(t, at), newKey(), variant(t, "zk-boolean-mutex-historical")
	p.at.SessionTimeout = time.Second
	s := session(t, client(t, v, p.at, key))
	old := mustLock(t, s)
	p.refuse.Store(true)
	p.cut()
	other := mustLock(t, session(t, client(t, v, at, key)))
	p.refuse.Store(false)
	if again := mustLock(t, s); old.Err() != nil || again.Err() != nil || other.Err() != nil {
		t.Errorf("the hazard does not show: %v, %v, %v", old.Err(), again.Err(), other.Err())
	}
	mustUnlock(t, other)
}

// tryLeavesTicket: when the holder leaves, the lock is given to the one that had asked and
// gone away.
func tryLeavesTicket(t *testing.T, at harness.Endpoint) {
	see, key, v := raw(t, at), newKey(), variant(t, "zk-boolean-mutex-historical")
	held := mustLock(t, session(t, client(t, v, at, key)))
	tries := session(t, client(t, v, at, key)).(harness.TrySession)
	if l, err := tries.TryLock(t.Context()); !errors.Is(err, harness.ErrNotAcquired) {
		t.Fatalf("TryLock = %v, %v", l, err)
	}
	queued(t, see, "/locklab/"+key, 2)
	mustUnlock(t, held)
	ctx, cancel := context.WithCancel(t.Context())
	stuck(t, begin(ctx, session(t, client(t, v, at, key))), cancel, 2*aWhile)
}
