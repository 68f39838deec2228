package zksession

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

func hostsOf(t *testing.T, lookup func(context.Context, string) ([]string, error), addrs ...string) *hosts {
	t.Helper()
	servers, err := parseServers(addrs)
	if err != nil {
		t.Fatal(err)
	}
	z := &Conn{dialing: t.Context()}
	return z.newHosts(servers, lookup)
}

// TestHung: in the first rounds without a session the client waits shortly, and skips a hung
// server while there is another. Then it waits longer, and tries all.
func TestHung(t *testing.T) {
	servers := []string{"127.0.0.1:1", "127.0.0.1:2", "127.0.0.1:3"}
	for hung := range 4 {
		h := hostsOf(t, nil, servers...)
		for try := range 2 {
			for _, s := range servers[:hung] {
				h.hangs(s)
			}
			first, then := make(map[string]bool), make(map[string]bool)
			var pauses []time.Duration
			for range 40 {
				server, wait := h.Next()
				if wait {
					break
				}
				if len(pauses) < shortRounds {
					first[server] = true
				}
				if _, d := h.due(); d > 0 {
					pauses = append(pauses, d)
				}
			}
			if _, d := h.due(); len(pauses) != shortRounds || pauses[0] != firstRound || pauses[shortRounds-1] != firstRound<<(shortRounds-1) || d != 0 {
				t.Errorf("%d hang, try %d: pauses %v, %v", hung, try, pauses, d)
			}
			for i, s := range servers {
				if want := i >= hung || hung == len(servers); first[s] != want {
					t.Errorf("%d hang, try %d: server %d was tried in the first rounds: %t, want %t", hung, try, i, first[s], want)
				}
			}
			for range 2 * len(servers) { // after the first rounds
				server, _ := h.Next()
				then[server] = true
			}
			if len(then) != len(servers) {
				t.Errorf("%d hang, try %d: %v are tried after the first rounds, want all", hung, try, then)
			}
			h.Connected()
		}
	}
}

func TestHandshakeWait(t *testing.T) {
	for _, c := range []struct {
		timeout time.Duration
		hung    int
		want    time.Duration
	}{
		{10 * time.Second, 0, 1250 * time.Millisecond},
		{10 * time.Second, 1, 2500 * time.Millisecond},
		{10 * time.Second, 2, 10 * time.Second / 3},
		{10 * time.Second, 1000, 10 * time.Second / 3},
		{4 * time.Second, 0, 500 * time.Millisecond},
		{time.Second, 0, time.Second / 3},
		{100 * time.Millisecond, 0, 200 * time.Millisecond},
	} {
		if got := handshakeWait(c.timeout, c.hung); got != c.want {
			t.Errorf("session %v, %d hung: %v, want %v", c.timeout, c.hung, got, c.want)
		}
	}
}

// TestLastServer: the server of the last session is tried after all others, and a wait.
func TestLastServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := hostsOf(t, nil, "127.0.0.1:1", "127.0.0.1:2", "127.0.0.1:3")
		last, _ := h.Next()
		h.Connected()
		time.Sleep(hasty)
		for range 20 {
			if server, _ := h.Next(); server == last {
				t.Fatalf("after a session with %s it is tried first", last)
			}
			if _, pause := h.due(); pause != 0 {
				t.Errorf("a wait of %v before another server", pause)
			}
			h.Next()
			h.Next()
			if _, pause := h.due(); pause != firstRound {
				t.Errorf("a wait of %v when all others have been tried, want %v", pause, firstRound)
			}
			last = h.now.address
			h.Connected()
			time.Sleep(hasty)
		}
		for range 3 {
			h.Next()
			h.Connected()
		}
		h.Next()
		if _, pause := h.due(); pause != firstRound {
			t.Errorf("a wait of %v after short sessions, want %v", pause, firstRound)
		}
	})
}
