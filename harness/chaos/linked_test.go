package chaos_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"locklab/harness"
	"locklab/harness/chaos"
	"locklab/harness/locktest"
	"locklab/internal/adapt"
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
			got := ""
			for got == "" && l.ctx.Err() == nil { // a busy server answers late
				got = serverMode(l.Server().Endpoint().Addrs[0][first])
			}
			if got != "leader" {
				l.t.Errorf("the deposed leader is %q at once: the election was not hidden from it", got)
			}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			e, err := chaos.StartLinked(ctx)
			locktest.RequireServers(t, harness.KindZooKeeper, err)
			defer func() {
				if err := e.Stop(); err != nil {
					t.Error(err)
				}
				if at := e.Server().Endpoint().Addrs[0]; slices.ContainsFunc(at, func(addr string) bool { return serverMode(addr) != "" }) {
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
	for got := ""; got != want; got = serverMode(addr) {
		if l.ctx.Err() != nil {
			l.t.Fatalf("server %d is %q, want %q", server, got, want)
		}
		time.Sleep(10 * time.Millisecond)
	}
	l.t.Logf("server %d: %s after %v", server, want, time.Since(began))
}

func serverMode(addr string) string {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	text, _ := backend.FourLetters(ctx, harness.Endpoint{}, addr, "srvr")
	if strings.Contains(text, "not currently serving") {
		return "not serving"
	}
	_, after, _ := strings.Cut(text, "\nMode: ")
	word, _, _ := strings.Cut(after, "\n")
	return word
}

var specimens = []*harness.Variant{
	newBrokenVariant("free", 0, func(context.Context) error { return nil }),
	newBrokenVariant("hang", 0, func(context.Context) error { select {} }),
	newBrokenVariant("crash", 0, func(context.Context) error { panic("the specimen crashes") }),
	newBrokenVariant("refuse", 0, func(context.Context) error { return harness.ErrNotAcquired }),
	newBrokenVariant("slow", 0, func(context.Context) error { time.Sleep(250 * time.Millisecond); return nil }),
	newBrokenVariant("lapse", 60*time.Millisecond, func(context.Context) error { return nil }),
	newBrokenVariant("overstate", time.Second, func(context.Context) error { return nil }),
	newBrokenVariant("fenced", 0, func(context.Context) error { return nil }),
}

func newBrokenVariant(name string, d time.Duration, lock func(ctx context.Context) error) *harness.Variant {
	return &harness.Variant{
		Name: name, Doc: "a lock that is broken on purpose", Paper: "-", Family: harness.Redis, Status: harness.Broken,
		Traits: harness.Traits{Needs: harness.KindRedis, Fenced: name == "fenced"},
		Remote: func(context.Context, harness.Endpoint, string) (harness.Remote, error) {
			return broken(func(ctx context.Context) (harness.Lease, error) {
				if name == "overstate" {
					return overstatedLease{emptyLease(d)}, nil
				}
				return emptyLease(d), lock(ctx)
			}), nil
		},
	}
}

type broken func(context.Context) (harness.Lease, error)

func (b broken) Join(context.Context, int) (harness.Session, error) { return b, nil }
func (b broken) Lock(ctx context.Context) (harness.Lease, error)    { return b(ctx) }
func (b broken) Close() error                                       { return nil }

func emptyLease(d time.Duration) harness.Lease {
	until := time.Time{}
	if d > 0 {
		until = time.Now().Add(d)
	}
	return adapt.NewLease(context.Background(), until, func(context.Context) (bool, error) { return true, nil })
}

// An overstatedLease of a second renews its Deadline to an hour, and ends as if it had not.
type overstatedLease struct{ harness.Lease }

func (l overstatedLease) Deadline() (time.Time, bool) {
	until, ok := l.Lease.Deadline()
	if time.Until(until) < 900*time.Millisecond {
		until = until.Add(time.Hour)
	}
	return until, ok
}
