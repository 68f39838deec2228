package redislock_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/redis/go-redis/v9"

	"locklab/harness"
	"locklab/harness/locktest"
	"locklab/internal/leaktest"
	"locklab/redislock"
)

// TestNilContext: a nil context is one that does not end, in every method of every kind.
func TestNilContext(t *testing.T) {
	at := locktest.Endpoint(t, harness.KindRedis)
	leaktest.All(t)
	var none context.Context
	for _, prompt := range []bool{true, false} {
		c := newClient(t, dial(t, at, func(o *redis.Options) { o.ContextTimeoutEnabled = prompt }))
		for name, kind := range kinds {
			t.Run(fmt.Sprintf("%s/prompt=%t", name, prompt), func(t *testing.T) {
				nilContext(t, none, kind(c, newKey(), redislock.Options{}))
			})
		}
		for _, k := range lockKinds {
			t.Run(fmt.Sprintf("%s/prompt=%t", k.name, prompt), func(t *testing.T) {
				nilContext(t, none, k.make(c, newKey(), redislock.Options{}))
			})
		}
		t.Run(fmt.Sprintf("readers/prompt=%t", prompt), func(t *testing.T) {
			m := c.RWMutex(newKey(), redislock.Options{})
			for _, lock := range []func(context.Context) (*redislock.Lease, error){m.RLock, m.TryRLock} {
				l, err := lock(none)
				requireNoError(t, err)
				unlock(t, l)
			}
		})
	}
}

func nilContext(t *testing.T, none context.Context, m redislock.Lockable) {
	l, err := m.Lock(none)
	if err != nil {
		t.Fatal("Lock:", err)
	}
	if err := l.Unlock(none); err != nil {
		t.Error("Unlock:", err)
	}
	if try, ok := m.(tryLocker); ok {
		l, err := try.TryLock(none)
		if err != nil {
			t.Fatal("TryLock:", err)
		}
		if f, ok := m.(forcer); ok {
			if freed, err := f.ForceUnlock(none); !freed || err != nil {
				t.Errorf("ForceUnlock = %t, %v", freed, err)
			}
		}
		if err := l.Unlock(none); err != nil && !errors.Is(err, redislock.ErrNotHeld) {
			t.Error("Unlock:", err)
		}
	}
	ran := 0
	err = redislock.Do(none, m, func(ctx context.Context, _ *redislock.Lease) error { ran++; return ctx.Err() })
	if err != nil || ran != 1 {
		t.Errorf("Do = %v, having run f %d times", err, ran)
	}
	l, err = m.Lock(redislock.WithTrace(none, &redislock.Trace{Granted: func(redislock.GrantedInfo) { ran++ }}))
	if err != nil || ran != 2 {
		t.Fatalf("Lock with a trace = %v, having told it %d times", err, ran-1)
	}
	unlock(t, l)
}
