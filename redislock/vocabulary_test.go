package redislock_test

import (
	"context"
	"maps"
	"slices"
	"testing"
	"time"

	"locklab/harness"
	"locklab/harness/locktest"
	"locklab/internal/leaktest"
	"locklab/redislock"
)

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
	leaktest.Own(t)
	link := dial(t, at)
	c, rival := newClient(t, link), newClient(t, dial(t, at)) // the rival may withdraw later
	var none context.Context                                  // one that does not end
	for kind, lock := range lockables() {
		name := newKey()
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
			unlock(t, again)
		}
		l.Unlock()
	}
}
