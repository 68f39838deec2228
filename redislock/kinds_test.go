package redislock_test

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"locklab/harness"
	"locklab/harness/locktest"
	"locklab/redislock"
)

func TestKinds(t *testing.T) {
	runOnServer(t, []serverTest{
		{"context that ends late", lateContext},
		{"pauses of a poll", pollPauses},
		{"pubsub: requests", pubsubRequests},
	})
}

func beforeCommand(names []string, do func()) hook {
	var done atomic.Bool
	return func(ctx context.Context, cmd redis.Cmder, next redis.ProcessHook) error {
		if slices.Contains(names, cmd.Name()) && !done.Swap(true) {
			do()
		}
		return next(ctx, cmd)
	}
}

func beginLock(t *testing.T, m redislock.Lockable) <-chan *redislock.Lease {
	t.Helper()
	got := make(chan *redislock.Lease, 1)
	go func() {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		l, err := m.Lock(ctx)
		expectNoError(t, err)
		got <- l
	}()
	return got
}

func takeLease(t *testing.T, got <-chan *redislock.Lease) *redislock.Lease {
	t.Helper()
	l := <-got
	if l == nil {
		t.FailNow()
	}
	return l
}

type late struct {
	context.Context
	deadline time.Time
}

func (c late) Deadline() (time.Time, bool) { return c.deadline, true }

func lateContext(t *testing.T, at harness.Endpoint) {
	m := pollMutex(t, dialServer(t, at), newKey(), redislock.Options{})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	time.AfterFunc(200*time.Millisecond, cancel)
	if _, err := m.Lock(late{ctx, time.Now().Add(-time.Millisecond)}); !errors.Is(err, context.Canceled) {
		t.Errorf("Lock past the deadline = %v, want the error of the context", err)
	}
}

func pollPauses(t *testing.T, at harness.Endpoint) {
	client, key := newClient(t, dialServer(t, at)), newKey()
	l := lockNow(t, client.PollMutex(key, redislock.PollOptions{}))
	var asked []int
	m := client.PollMutex(key, redislock.PollOptions{Pause: func(n int) time.Duration {
		if asked = append(asked, n); n == 3 {
			unlockLease(t, l)
		}
		return time.Millisecond
	}})
	unlockLease(t, lockNow(t, m))
	if len(asked) != 3 || asked[0] != 1 || asked[2] != 3 {
		t.Errorf("Pause was called for %v, want 1, 2 and 3", asked)
	}
}

func TestBackoff(t *testing.T) {
	const first, most = time.Millisecond, 128 * time.Millisecond
	pause := redislock.Backoff(first, most)
	for n, bound := range map[int]time.Duration{-1: first, 0: first, 1: first, 2: 2 * first, 5: 16 * first, 8: most, 9: most, 70: most, 1 << 30: most} {
		shortest, longest := most, time.Duration(0)
		for range 1000 {
			d := pause(n)
			shortest, longest = min(shortest, d), max(longest, d)
		}
		if shortest < 0 || longest > bound || longest < bound/2 { // the last by chance once in 2^1000 runs
			t.Errorf("pause %d is %v to %v, want 0 to %v", n, shortest, longest, bound)
		}
	}
	if d := redislock.Backoff(time.Hour, time.Second)(1); d > time.Second {
		t.Errorf("a first pause of %v, more than the most", d)
	}
}

func pubsubRequests(t *testing.T, at harness.Endpoint) {
	c, w := dialServer(t, at), dialServer(t, at)
	key := newKey()
	m := newClient(t, c).PubSubMutex(key, redislock.Options{})
	l := lockNow(t, m)
	requireNoError(t, c.client.Do(t.Context(), "PEXPIRE", key, int64(1e13)).Err()) // more than a time.Duration
	before := w.Counts()
	got := beginLock(t, newClient(t, w).PubSubMutex(key, redislock.Options{}))
	time.Sleep(300 * time.Millisecond)
	if n := w.Counts().Sub(before).Requests; n != 3 {
		t.Errorf("a waiter sent %d requests in 300 ms, want 3: to subscribe, before that and after", n)
	}
	unlockLease(t, l)
	unlockLease(t, takeLease(t, got))
	if n := w.Counts().Sub(before).Requests; n != 5 {
		t.Errorf("a wait and a release cost %d requests, want 5", n)
	}
}

// TestMaxHold: a stuck holder loses the lock when MaxHold is over, and the next has it.
func TestMaxHold(t *testing.T) {
	at := runParallel(t)
	const most = 200 * time.Millisecond
	for kind, lock := range lockables() {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			c, other, name := newClient(t, dialServer(t, at)), newClient(t, dialServer(t, at)), newKey()
			ctx, cancel := context.WithTimeout(t.Context(), patience) // shorter than the lease
			defer cancel()
			m := lock(c, name, redislock.Options{MaxHold: most})
			for range 2 { // in time
				l, err := m.Lock(ctx)
				requireNoError(t, err)
				if until, ok := l.Deadline(); !ok || time.Until(until) > most {
					t.Errorf("the deadline is in %v, %t; want %v at most", time.Until(until), ok, most)
				}
				unlockLease(t, l)
			}
			began := time.Now()
			stuck, err := m.Lock(ctx)
			requireNoError(t, err)
			rival := lock(other, name, redislock.Options{})
			if kind == "RLocker" {
				rival = other.RWMutex(name, redislock.Options{})
			}
			next, err := rival.Lock(ctx)
			if err != nil {
				t.Fatalf("a rival does not get the lock: %v; its holder: %v", err, stuck.Err())
			}
			defer unlockLease(t, next)
			if took := time.Since(began); took < most {
				t.Errorf("the rival has the lock after %v of %v", took, most)
			}
			for what, err := range map[string]error{"Err": stuck.Err(), "Unlock": stuck.Unlock(ctx)} {
				if !errors.Is(err, redislock.ErrLost) || !strings.Contains(err.Error(), "MaxHold") || errors.Is(err, redislock.ErrNotHeld) != (what == "Unlock") {
					t.Errorf("%s = %v, want one that says that MaxHold is over", what, err)
				}
			}
			requireLost(t, stuck) // the second Unlock
		})
	}
}

func lockables() map[string]makeLock {
	all := maps.Clone(kinds)
	all["Owner"] = func(c *redislock.Client, name string, o redislock.Options) redislock.Lockable {
		return c.Reentrant(name, o).Owner()
	}
	all["RLocker"] = func(c *redislock.Client, name string, o redislock.Options) redislock.Lockable {
		return c.RWMutex(name, o).RLocker()
	}
	return all
}

// tokenless are the kinds that are documented to have no fencing tokens.
var tokenless = []string{"PollMutex", "PubSubMutex", "Redlock", "Reentrant", "Owner"}

// TestLockables: every kind has tokens as documented, works with Do, Locker, TokenOf and a nil
// context, and costs two requests.
func TestLockables(t *testing.T) {
	at := locktest.Endpoint(t, harness.KindRedis)
	var none context.Context // one that does not end
	for kind, lock := range lockables() {
		link, name := dialServer(t, at), newKey()                       // no other kind sends by it
		c, rival := newClient(t, link), newClient(t, dialServer(t, at)) // the rival may withdraw later
		m := lock(c, name, redislock.Options{})
		if kind != "Redlock" { // it does not wait for the last of its replies
			requireRequests(t, link, m, 2)
		}
		for range 2 { // the second of a Cohort has another token than the server gave
			err := redislock.Do(none, m, func(ctx context.Context, l *redislock.Lease) error {
				if got := l.TokenOf(name); got != l.Token() {
					t.Errorf("%s: TokenOf(its name) = %d, Token() = %d", kind, got, l.Token())
				}
				if none := slices.Contains(tokenless, kind); none != (l.Token() == 0) {
					t.Errorf("%s: Token() = %d, without tokens: %v", kind, l.Token(), none)
				}
				if got := l.TokenOf(name + "x"); got != 0 {
					t.Errorf("%s: TokenOf(another name) = %d, want 0", kind, got)
				}
				return ctx.Err()
			})
			if err != nil {
				t.Errorf("%s: Do = %v", kind, err)
			}
		}
		tried, err := m.(tryLocker).TryLock(none)
		requireNoError(t, err)
		expectNoError(t, tried.Unlock(none))
		if f, ok := m.(forcer); ok {
			_, err := f.ForceUnlock(none)
			expectNoError(t, err)
		}
		l := redislock.Locker(m)
		l.Lock()
		if again, err := lock(rival, name, redislock.Options{Wait: time.Millisecond}).Lock(t.Context()); err == nil && kind != "RLocker" {
			t.Errorf("%s: two hold it: %v", kind, again.Unlock(t.Context()))
		} else if err == nil {
			unlockLease(t, again)
		}
		l.Unlock()
	}
}

func TestServer(t *testing.T) {
	runOnServer(t, []serverTest{
		{"lost replies", lostReplies},
		{"silent server", silentServer},
		{"key of another program", foreignKey},
		{"server gone", serverGone},
		{"holders that were deleted", holdersDeleted},
	})
}

func lockNow(t *testing.T, m redislock.Lockable) *redislock.Lease {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	l, err := m.Lock(ctx)
	requireNoError(t, err)
	return l
}

func requireTaken(t *testing.T, what string, m tryLocker) {
	t.Helper()
	if _, err := m.TryLock(t.Context()); !errors.Is(err, redislock.ErrNotAcquired) {
		t.Errorf("%s: TryLock = %v, want ErrNotAcquired", what, err)
	}
}

func unlockLease(t *testing.T, l *redislock.Lease) {
	t.Helper()
	requireNoError(t, l.Unlock(t.Context()))
}

func requireLost(t *testing.T, l *redislock.Lease) {
	t.Helper()
	err := l.Unlock(t.Context())
	if !errors.Is(err, redislock.ErrNotHeld) {
		t.Errorf("Unlock = %v, want ErrNotHeld", err)
	}
	requireOver(t, "a lost lease", l)
	if err := l.Err(); !errors.Is(err, redislock.ErrLost) {
		t.Errorf("Err = %v, want ErrLost", err)
	}
}

const noScriptHash = "0000000000000000000000000000000000000000"

// TestMiniredis: every kind of lock works with miniredis.
func TestMiniredis(t *testing.T) {
	server := miniredis.NewMiniRedis()
	requireNoError(t, server.Start())
	defer server.Close()
	rdb := redis.NewClient(&redis.Options{Addr: server.Addr(), ContextTimeoutEnabled: true})
	defer rdb.Close()
	c := redislock.NewClient(rdb, redislock.ClientOptions{})
	defer c.Close()
	for _, make := range lockables() {
		name := newKey()
		m, rival := make(c, name, redislock.Options{}), make(c, name, redislock.Options{})
		l := lockNow(t, m)
		got := beginLock(t, rival)
		unlockLease(t, l)
		unlockLease(t, takeLease(t, got))
	}
}
