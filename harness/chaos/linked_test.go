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

// TestLinked: an isolated follower stops serving, and a deposed leader still acts as one.
func TestLinked(t *testing.T) {
	for _, c := range []struct {
		name string
		cut  func(l linkedTest, first int)
	}{
		{"isolated follower", func(l linkedTest, first int) {
			follower := (first + 1) % 3
			l.Isolate(follower)
			l.until(follower, "not serving")
			if now := l.leader(); now != first {
				l.t.Errorf("server %d leads after follower %d was isolated, and it was %d", now, follower, first)
			}
		}},
		{"deposed leader", func(l linkedTest, first int) {
			l.Depose(first)
			for l.leader() == first {
				time.Sleep(10 * time.Millisecond)
			}
			if got := mode(l.Server().Endpoint().Addrs[0][first]); got != "leader" {
				l.t.Errorf("the deposed leader is %q at once: the election was not hidden from it", got)
			}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			e, err := chaos.StartLinked(ctx)
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
			c.cut(l, l.leader())
		})
	}
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
