package zklock_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"locklab/harness"
	"locklab/harness/chaos"
	"locklab/internal/backend"
	"locklab/internal/leaktest"
	wirezk "locklab/internal/wire/zookeeper"
	"locklab/zklock"
)

// A linked ensemble is one of which any server can be cut off from the others.
type linked struct {
	*chaos.Linked
	addrs []string // for clients
}

// startLinked starts three servers with the ticks and limits that ZooKeeper's
// sample configuration has, 2 s and 5.
func startLinked(t *testing.T) *linked {
	t.Helper()
	e, err := chaos.StartLinked(t.Context(), chaos.LinkedOptions{})
	if errors.Is(err, harness.ErrUnavailable) && !backend.Required(harness.KindZooKeeper) {
		t.Skip(err)
	} else if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Stop(); err != nil {
			t.Errorf("stop: %v", err)
		}
	})
	return &linked{e, e.Server().Endpoint().Addrs[0]}
}

// others returns the addresses of the servers but one.
func (e *linked) others(one int) (addrs []string) {
	for i, addr := range e.addrs {
		if i != one {
			addrs = append(addrs, addr)
		}
	}
	return addrs
}

// connections returns how many sessions a server serves.
func connections(addr string) int {
	c, err := net.DialTimeout("tcp", addr, time.Second)
	if err != nil {
		return 0
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(5 * time.Second))
	if _, err := io.WriteString(c, "cons"); err != nil {
		return 0
	}
	text, _ := io.ReadAll(c)
	return strings.Count(string(text), "sid=0x")
}

// dialAt connects a client that may go to any of addrs and is at the server at
// first.
func dialAt(t *testing.T, first string, addrs []string, o zklock.ClientOptions) *zklock.Client {
	t.Helper()
	for {
		before := connections(first)
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		c, err := zklock.Dial(ctx, addrs, o)
		cancel()
		if err != nil {
			t.Fatal(err)
		}
		if connections(first) > before {
			t.Cleanup(func() { c.Close() })
			return c
		}
		c.Close()
	}
}

// TestCutOff: a server that the others have left goes on answering its clients, for
// up to ten seconds here. A holder whose client is there is told before the next one
// enters elsewhere, or its client goes to another server and keeps the lock.
//
// It waits for a minute. Package testing begins with the first of the tests that run
// beside each other, so this one is in the first file that has any.
func TestCutOff(t *testing.T) {
	t.Parallel()
	var wg sync.WaitGroup
	defer wg.Wait()
	for _, c := range []struct {
		name  string
		leads bool // the server that is cut off
		cut   func(e *chaos.Linked, server int)
	}{
		{"follower isolated", false, (*chaos.Linked).Isolate},
		{"leader half open", true, (*chaos.Linked).Depose},
	} {
		// Not by t.Parallel: they wait most of the time, and would keep other tests waiting.
		wg.Go(func() { t.Run(c.name, func(t *testing.T) { cutOffServer(t, c.leads, c.cut) }) })
	}
}

func cutOffServer(t *testing.T, leads bool, cut func(e *chaos.Linked, server int)) {
	e := startLinked(t)
	leaktest.Own(t)
	server := leader(t, e.Server())
	if !leads {
		server = (server + 1) % len(e.addrs)
	}
	var holds []*cutHold
	for _, timeout := range []time.Duration{4 * time.Second, 10 * time.Second, 40 * time.Second} {
		for _, free := range []bool{false, true} {
			holds = append(holds, newCutHold(t, e, server, timeout, free))
		}
	}
	time.Sleep(3 * time.Second) // no session is as young as its lock
	see := raw(t, harness.Endpoint{Kind: harness.KindZooKeeper, Addrs: [][]string{e.addrs[server : server+1]}})
	cut(e.Linked, server)
	began := time.Now()
	var wg sync.WaitGroup
	wg.Go(func() { proofs(t, see, leads) })
	for _, h := range holds {
		wg.Go(func() { t.Log(h.judge(t, began)) })
	}
	wg.Wait()
}

// A cutHold is a holder at a server that is to be cut off, and the next, which is at
// another.
type cutHold struct {
	timeout time.Duration
	free    bool // the holder's client may go to other servers
	held    *zklock.Lease
	next    <-chan result
}

func newCutHold(t *testing.T, e *linked, server int, timeout time.Duration, free bool) *cutHold {
	o := zklock.ClientOptions{SessionTimeout: timeout}
	addrs := e.addrs[server : server+1]
	if free {
		addrs = e.addrs
	}
	path := newPath()
	h := &cutHold{timeout: timeout, free: free}
	h.held = lock(t, dialAt(t, e.addrs[server], addrs, o).Mutex(path, zklock.Options{}))
	others := harness.Endpoint{Kind: harness.KindZooKeeper, Addrs: [][]string{e.others(server)}}
	ctx, cancel := context.WithTimeout(t.Context(), 4*timeout+patience)
	t.Cleanup(cancel)
	h.next = waiting(t, ctx, dial(t, others, o).Mutex(path, zklock.Options{}), raw(t, others), 2)
	return h
}

// judge waits until the holder is told or the next one enters, and says what came
// of it.
func (h *cutHold) judge(t *testing.T, began time.Time) string {
	since := func() time.Duration { return time.Since(began).Round(time.Millisecond) }
	what := fmt.Sprintf("session %v, holder free to move: %t: ", h.timeout, h.free)
	select {
	case r := <-h.next:
		until, _ := h.held.Deadline()
		err := h.held.Err()
		entered := since()
		if r.err != nil {
			t.Errorf("%s: Lock = %v", what, r.err)
			return what
		}
		if err == nil {
			<-h.held.Done()
			t.Errorf("%stwo holders for %v: the next entered after %v, %v before the deadline of the first",
				what, since()-entered, entered, until.Sub(began)-entered)
		}
		return what + fmt.Sprintf("the next entered after %v", entered)
	case <-h.held.Done():
		told := since()
		if h.free {
			lost(t, h.held) // its session may have moved and live on
		}
		r := <-h.next
		if r.err != nil {
			t.Errorf("%s: Lock = %v", what, r.err)
		}
		if h.free && h.timeout >= 40*time.Second { // of a shorter one an election on a busy machine may take all
			t.Errorf("%sthe lease ended, with two servers to turn to: %v", what, h.held.Err())
		}
		return what + fmt.Sprintf("told after %v, %v before the next entered", told, since()-told)
	case <-time.After(h.timeout + 10*time.Second): // the session is over, or it has moved
		if !h.free {
			t.Errorf("%sthe session is over and the holder not told, after %v", what, since())
		}
		unlock(t, h.held)
		unlock(t, take(t, h.next))
		return what + fmt.Sprintf("the lease lived on, at another server, and was given back after %v", since())
	}
}

// proofs: what a server answers that is cut off proves nothing, and what does it
// leaves without an answer until it breaks the connection, even where it would
// refuse it.
func proofs(t *testing.T, c *wirezk.Conn, leads bool) {
	before := c.Proof()
	var wg sync.WaitGroup
	for name, path := range map[string]string{"succeeds": "/", "fails": "/nothing"} {
		wg.Go(func() {
			_, err := c.Multi(&zk.CheckVersionRequest{Path: path, Version: -1})
			if !errors.Is(err, zk.ErrConnectionClosed) {
				t.Errorf("a multi of a check that %s is answered without a majority (%v)", name, err)
			}
		})
	}
	if leads {
		if _, err := c.Sync("/"); err != nil {
			t.Errorf("a leader that is cut off does not answer sync: %v: the test shows less than it did", err)
		}
	}
	time.Sleep(2 * time.Second)
	if p := c.Proof(); !p.Since.Equal(before.Since) || p.Unanswered.IsZero() {
		t.Errorf("at a server that is cut off the proof of the session has become %+v, from %+v", p, before)
	}
	wg.Wait()
}
