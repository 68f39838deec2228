package redislock_test

import (
	"context"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"locklab/redislock"
)

func requireOver(t *testing.T, kind string, l *redislock.Lease) {
	t.Helper()
	select {
	case <-l.Done():
	default:
		t.Errorf("%s: Done is open", kind)
	}
	if l.Err() == nil {
		t.Errorf("%s: Err is nil", kind)
	}
	if until, _ := l.Deadline(); until.After(time.Now()) {
		t.Errorf("%s: the deadline is in %v", kind, time.Until(until))
	}
}

// TestUnlockEnds: a lease is over for its owner when Unlock is called, answered or not.
func TestUnlockEnds(t *testing.T) {
	r := startSingle(t)
	var work sync.WaitGroup
	run := func(kind string, prompt bool) {
		make := kinds[kind]
		work.Go(func() {
			var cut atomic.Bool
			rdb := redis.NewClient(&redis.Options{Addr: r.options.Addrs[0], ContextTimeoutEnabled: prompt, Dialer: func(ctx context.Context, network, addr string) (net.Conn, error) {
				if cut.Load() {
					return nil, errors.New("the test has cut this link")
				}
				return new(net.Dialer).DialContext(ctx, network, addr)
			}})
			defer rdb.Close()
			c := redislock.NewClient(rdb, redislock.ClientOptions{})
			defer c.Close()
			l := lock(t, make(c, newName(), redislock.Options{}))
			asked := false
			rdb.AddHook(before([]string{"evalsha"}, func() {
				asked = true
				requireOver(t, kind, l)
			}))
			unlock(t, l)
			if !asked {
				t.Errorf("%s: no request was sent", kind)
			}
			if err := l.Err(); err != redislock.ErrReleased {
				t.Errorf("%s: Err = %v", kind, err)
			}
			l = lock(t, make(c, newName(), redislock.Options{}))
			cut.Store(true)
			rdb.AddHook(hook(func(ctx context.Context, cmd redis.Cmder, next redis.ProcessHook) error {
				if !cut.Load() {
					return next(ctx, cmd)
				}
				<-ctx.Done()
				cmd.SetErr(ctx.Err())
				return ctx.Err()
			}))
			if err := l.Unlock(t.Context()); !errors.Is(err, redislock.ErrUnanswered) {
				t.Errorf("%s: Unlock without an answer = %v", kind, err)
			}
			requireOver(t, kind, l)
			if err := l.Err(); !errors.Is(err, redislock.ErrLost) {
				t.Errorf("%s: Err = %v", kind, err)
			}
			cut.Store(false)
		})
	}
	for kind := range kinds {
		run(kind, false)
		run(kind, true)
	}
	work.Wait()
}
