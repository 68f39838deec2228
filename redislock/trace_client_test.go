package redislock_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"locklab/harness"
	"locklab/harness/locktest"
	"locklab/internal/leaktest"
	"locklab/redislock"
)

// TestClientTrace: a client's Trace gets every Lock of every kind, after the context's.
func TestClientTrace(t *testing.T) {
	at := locktest.Endpoint(t, harness.KindRedis)
	leaktest.Own(t)
	for kind, lock := range lockables() {
		var h heard
		trace, order := h.trace(), make(chan string, 4)
		trace.Granted = func(redislock.GrantedInfo) {
			h.note("Granted")
			order <- "client"
		}
		c := redislock.NewClient(dial(t, at).Client, redislock.ClientOptions{Trace: trace})
		defer c.Close()
		m := lock(c, newKey(), redislock.Options{})
		ctx := redislock.WithTrace(t.Context(), &redislock.Trace{Granted: func(redislock.GrantedInfo) { order <- "context" }})
		l, err := m.Lock(ctx)
		requireNoError(t, err)
		unlock(t, l)
		l, err = m.(tryLocker).TryLock(t.Context())
		requireNoError(t, err)
		unlock(t, l)
		if got, want := h.String(), "Sent Answered Granted Released"; got != want {
			t.Errorf("%s: the client's Trace has heard %s, want %s", kind, got, want)
		}
		close(order)
		for _, want := range []string{"context", "client", "client", ""} {
			if got := <-order; got != want {
				t.Errorf("%s: Granted was called for %q, want %q", kind, got, want)
			}
		}
	}
}

// TestRenewalFailed: a Trace gets each failed renewal, with the time left, before the loss.
func TestRenewalFailed(t *testing.T) {
	at := runParallel(t)
	const ttl = 1500 * time.Millisecond
	for _, test := range []struct {
		name  string
		spoil func(*link)
		want  string // what an error says
	}{
		{"nowhere to go", func(l *link) { l.redirect("-") }, "the test has cut this link"},
		{"silence", func(l *link) { l.stall.Store(true) }, "has not answered a renewal"},
	} {
		for kind, lock := range kinds {
			t.Run(test.name+"/"+kind, func(t *testing.T) {
				t.Parallel()
				l := dial(t, at)
				failed, lost := make(chan redislock.RenewalFailedInfo, 100), make(chan redislock.LostInfo, 1)
				c := redislock.NewClient(l.Client, redislock.ClientOptions{Trace: &redislock.Trace{
					RenewalFailed: func(e redislock.RenewalFailedInfo) { failed <- e },
					Lost:          func(e redislock.LostInfo) { lost <- e },
				}})
				defer c.Close()
				name := newKey()
				held, err := lock(c, name, redislock.Options{TTL: ttl}).Lock(t.Context())
				requireNoError(t, err)
				test.spoil(l)
				if e := <-lost; !errors.Is(e.Err, redislock.ErrLost) || held.Err() == nil {
					t.Errorf("the lease is lost for %v", e.Err)
				}
				l.stall.Store(false)
				l.redirect("-") // what is still on its way fails
				if len(failed) == 0 {
					t.Fatal("no renewal has failed, but the lease is over")
				}
				first, said := <-failed, false
				if first.Name != name || first.Left <= 0 || first.Left > ttl {
					t.Errorf("the first failure is %+v, want one of %s with less than %v left", first, name, ttl)
				}
				for e := first; ; e = <-failed {
					said = said || strings.Contains(e.Err.Error(), test.want)
					if len(failed) == 0 {
						break
					}
				}
				if !said {
					t.Errorf("no failure says %q; the first says %v", test.want, first.Err)
				}
			})
		}
	}
}
