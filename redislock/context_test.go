package redislock_test

import (
	"context"
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
		for name, kind := range lockables() {
			t.Run(fmt.Sprintf("%s/prompt=%t", name, prompt), func(t *testing.T) {
				nilContext(t, none, kind(c, newKey(), redislock.Options{}).(tryLocker))
			})
		}
	}
}

func nilContext(t *testing.T, none context.Context, m tryLocker) {
	ran := 0
	traced := redislock.WithTrace(none, &redislock.Trace{Granted: func(redislock.GrantedInfo) { ran++ }})
	l, err := m.TryLock(none)
	requireNoError(t, err)
	expectNoError(t, l.Unlock(none))
	l, err = m.Lock(traced)
	requireNoError(t, err)
	expectNoError(t, l.Unlock(none))
	if f, ok := m.(forcer); ok {
		_, err := f.ForceUnlock(none)
		expectNoError(t, err)
	}
	err = redislock.Do(none, m, func(ctx context.Context, _ *redislock.Lease) error { ran++; return ctx.Err() })
	if err != nil || ran != 2 {
		t.Errorf("Do = %v; it and a trace were called %d times", err, ran)
	}
}
