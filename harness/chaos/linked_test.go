package chaos_test

import (
	"context"
	"errors"
	"io"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"locklab/harness"
	"locklab/harness/chaos"
	"locklab/internal/backend"
)

// TestLinked checks that an isolated follower stops serving while the others continue,
// and that a deposed leader still acts as one while there is a new leader. Both follow
// again after Heal.
func TestLinked(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 25*time.Second)
	defer cancel()
	e, err := chaos.StartLinked(ctx, chaos.LinkedOptions{TickTime: 400 * time.Millisecond, SyncLimit: 4})
	if errors.Is(err, harness.ErrUnavailable) && !backend.Required(harness.KindZooKeeper) {
		t.Skip(err)
	} else if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := e.Stop(); err != nil {
			t.Error(err)
		}
		if at := e.Server().Endpoint().Addrs[0]; slices.ContainsFunc(at, func(addr string) bool { return mode(addr) != "" }) {
			t.Error("a server answers after Stop")
		}
	}()
	l := linkedTest{t, ctx, e}
	first := l.leader()
	follower := (first + 1) % 3
	e.Isolate(follower)
	l.until(follower, "not serving")
	if now := l.leader(); now != first {
		t.Errorf("server %d leads after follower %d was isolated, and it was %d", now, follower, first)
	}
	e.Heal()
	l.until(follower, "follower")

	e.Depose(first)
	second := first
	for second == first {
		second = l.leader()
	}
	if got := mode(e.Server().Endpoint().Addrs[0][first]); got != "leader" {
		t.Errorf("the leader that was deposed is %q at once: it has heard of that", got)
	}
	e.Heal()
	l.until(first, "follower")
	l.until(second, "leader")

	// The others call it in elections; it never calls.
	if err := e.Server().Restart(ctx, 0); err != nil {
		t.Fatal(err)
	}
	l.leader()
}

type linkedTest struct {
	t   *testing.T
	ctx context.Context
	*chaos.Linked
}

func (l linkedTest) leader() int {
	l.t.Helper()
	i, err := l.Server().Leader(l.ctx)
	if err != nil {
		l.t.Fatal(err)
	}
	return i
}

func (l linkedTest) until(server int, want string) {
	l.t.Helper()
	addr := l.Server().Endpoint().Addrs[0][server]
	began := time.Now()
	for got := ""; got != want; got = mode(addr) {
		if l.ctx.Err() != nil {
			l.t.Fatalf("server %d is %q, want %q", server, got, want)
		}
		time.Sleep(10 * time.Millisecond)
	}
	l.t.Logf("server %d: %s after %v", server, want, time.Since(began))
}

func mode(addr string) string {
	c, err := net.DialTimeout("tcp", addr, time.Second)
	if err != nil {
		return ""
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(time.Second))
	if _, err := io.WriteString(c, "srvr"); err != nil {
		return ""
	}
	text, _ := io.ReadAll(c)
	if strings.Contains(string(text), "not currently serving") {
		return "not serving"
	}
	_, after, _ := strings.Cut(string(text), "\nMode: ")
	word, _, _ := strings.Cut(after, "\n")
	return word
}
