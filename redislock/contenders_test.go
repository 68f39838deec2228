package redislock_test

import (
	"context"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"locklab/redislock"
)

type holdersOf interface {
	Holders(context.Context) ([]redislock.Contender, error)
}

type waitersOf interface {
	Waiters(context.Context) ([]redislock.Contender, error)
}

// TestContenders: every kind lists its holder, and waiters by name, time and token.
func TestContenders(t *testing.T) {
	at := runParallel(t)
	for kind, make := range kinds {
		t.Run(kind, func(t *testing.T) {
			link, name := dialServer(t, at), newKey()
			named := func(who string) redislock.Lockable {
				c := redislock.NewClient(dialServer(t, at).client, redislock.ClientOptions{Name: who})
				t.Cleanup(func() { c.Close() })
				return make(c, name, redislock.Options{})
			}
			m, other, third := named("a-1"), named("b"), named("")
			began := link.client.Time(t.Context()).Val()
			requireContenders(t, began, m.(holdersOf).Holders)
			l := lockNow(t, m)
			want := redislock.Contender{Name: "a-1", Token: l.Token()}
			if kind == "Reentrant" {
				want.Name = link.client.HKeys(t.Context(), name).Val()[0]
			}
			requireContenders(t, began, other.(holdersOf).Holders, want)
			w, queues := third.(waitersOf)
			if !queues {
				if !slices.Contains(tokenless, kind) {
					t.Error("it does not list its waiters")
				}
				unlockLease(t, l)
				return
			}
			requireContenders(t, began, w.Waiters)
			second := beginLock(t, other)
			waitUntil(t, "the second waits", func() bool { all, _ := w.Waiters(t.Context()); return len(all) == 1 })
			last := beginLock(t, third)
			waitUntil(t, "the third waits", func() bool { all, _ := w.Waiters(t.Context()); return len(all) == 2 })
			requireContenders(t, began, w.Waiters, redislock.Contender{Name: "b"}, redislock.Contender{})
			unlockLease(t, l)
			l = takeLease(t, second)
			requireContenders(t, began, m.(holdersOf).Holders, redislock.Contender{Name: "b", Token: l.Token()})
			unlockLease(t, l)
			unlockLease(t, takeLease(t, last))
			requireContenders(t, began, w.Waiters)
		})
	}
}

// requireContenders compares the result of list with want, and Since with began if it is set.
func requireContenders(t *testing.T, began time.Time, list func(context.Context) ([]redislock.Contender, error), want ...redislock.Contender) {
	t.Helper()
	got, err := list(t.Context())
	requireNoError(t, err)
	for i := range got {
		if since := got[i].Since; !since.IsZero() && (since.Before(began) || since.After(began.Add(patience))) {
			t.Errorf("%q: since %v after the test has begun", got[i].Name, since.Sub(began))
		}
		if got[i].Token > 0 && got[i].Since.IsZero() {
			t.Errorf("%q: since when it has its token is not listed", got[i].Name)
		}
		got[i].Since = time.Time{}
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// TestContendersShared: readers and permits are listed in order, without expired ones.
func TestContendersShared(t *testing.T) {
	at := runParallel(t)
	link, name := dialServer(t, at), newKey()
	c := newClient(t, link)
	m := c.RWMutex(name, redislock.Options{TTL: 600 * time.Millisecond})
	first, second := lockNow(t, m.RLocker()), lockNow(t, m.RLocker())
	requireContenders(t, time.Now().Add(-patience/2), m.Holders, redislock.Contender{Token: first.Token()}, redislock.Contender{Token: second.Token()})
	tokens := redislock.Companion(name, "tokens")
	for owner, token := range link.client.HGetAll(t.Context(), tokens).Val() {
		if token == strconv.FormatUint(first.Token(), 10) {
			link.client.ZAddXX(t.Context(), name, redis.Z{Member: owner, Score: 1})
		}
	}
	if all, err := m.Holders(t.Context()); err != nil || len(all) != 1 {
		t.Errorf("with a reader whose time is over: %+v, %v", all, err)
	}
	requireLost(t, first)
	unlockLease(t, second)
	one := c.Semaphore(name, 1, redislock.Options{TTL: 48 * time.Hour})
	held := lockNow(t, one)
	next := beginLock(t, one)
	waitUntil(t, "the next waits", func() bool { return queueOf(t, link.client, name) })
	unlockLease(t, held)
	held = takeLease(t, next)
	waitUntil(t, "a renewal after a handover keeps the token for the lease", func() bool { return link.client.PTTL(t.Context(), tokens).Val() > 25*time.Hour })
	unlockLease(t, held)

	foreign := newKey()
	link.client.Set(t.Context(), foreign, "by hand", time.Minute)
	if all, err := c.Mutex(foreign, redislock.Options{}).Holders(t.Context()); err != nil || !slices.Equal(all, []redislock.Contender{{Name: "by hand"}}) {
		t.Errorf("of a key set by hand: %+v, %v", all, err)
	}
	if _, err := c.RWMutex(foreign, redislock.Options{}).Holders(t.Context()); err == nil {
		t.Error("a key of another kind is listed")
	}
}
