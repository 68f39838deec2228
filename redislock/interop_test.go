package redislock_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"locklab/harness"
	"locklab/harness/locktest"
	"locklab/internal/leaktest"
	"locklab/redislock"
)

// A redisson sends the server the same commands as Redisson 4.7.0 for one RLock, in the same
// order, with the same keys, channel and messages: org/redisson/RedissonLock.java
// (tryLockInnerAsync, unlockInnerAsync, lock), RedissonBaseLock.java (unlockInnerAsync,
// renewExpirationAsync) and pubsub/LockPubSub.java. It is a separate implementation of that
// behaviour, not Redisson itself.
type redisson struct {
	*redis.Client
	name, channel, id string
	lease             time.Duration
}

var (
	redissonLock = redis.NewScript(`
local free = redis.call('exists', KEYS[1]) == 0
if free or redis.call('hexists', KEYS[1], ARGV[2]) == 1 then
  redis.call('hincrby', KEYS[1], ARGV[2], 1)
  redis.call('pexpire', KEYS[1], ARGV[1])
  return nil
end
return redis.call('pttl', KEYS[1])`)
	redissonUnlock = redis.NewScript(`
local known = redis.call('get', KEYS[3])
if known then return tonumber(known) end
if redis.call('hexists', KEYS[1], ARGV[3]) == 0 then return nil end
local last = redis.call('hincrby', KEYS[1], ARGV[3], -1) <= 0
if last then
  redis.call('del', KEYS[1])
  redis.call(ARGV[4], KEYS[2], ARGV[1])
else
  redis.call('pexpire', KEYS[1], ARGV[2])
end
redis.call('set', KEYS[3], last and 1 or 0, 'px', ARGV[5])
return last and 1 or 0`)
	redissonRenew = redis.NewScript(`
if redis.call('hexists', KEYS[1], ARGV[2]) == 0 then return 0 end
redis.call('pexpire', KEYS[1], ARGV[1])
return 1`)
)

func newRedisson(c *redis.Client, name string) *redisson {
	return &redisson{
		Client: c, name: name, channel: "redisson_lock__channel:" + name,
		id: "5b7a7e9e-3c43-4d5b-9d7e-2f1f5e1c0a01", lease: 30 * time.Second,
	}
}

func (r *redisson) field(thread int) string { return fmt.Sprintf("%s:%d", r.id, thread) }

func (r *redisson) try(ctx context.Context, thread int) (ok bool, left time.Duration, err error) {
	ms, err := redissonLock.Run(ctx, r, []string{r.name}, r.lease.Milliseconds(), r.field(thread)).Int64()
	if err == redis.Nil {
		return true, 0, nil
	}
	return false, time.Duration(ms) * time.Millisecond, err
}

func (r *redisson) lock(ctx context.Context, thread int) error {
	if ok, _, err := r.try(ctx, thread); ok || err != nil {
		return err
	}
	heard := r.Subscribe(ctx, r.channel)
	defer heard.Close()
	if _, err := heard.Receive(ctx); err != nil {
		return err
	}
	for {
		ok, left, err := r.try(ctx, thread)
		if ok || err != nil {
			return err
		}
		select {
		case <-heard.Channel():
		case <-time.After(left):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (r *redisson) unlock(ctx context.Context, thread int) error {
	latch := "redisson_unlock_latch:" + r.name + ":" + newKey()
	_, err := redissonUnlock.Run(ctx, r, []string{r.name, r.channel, latch},
		0, r.lease.Milliseconds(), r.field(thread), "publish", 13500).Int64()
	if err != nil {
		return fmt.Errorf("attempt to unlock: %w", err)
	}
	return r.Del(ctx, latch).Err()
}

func (r *redisson) renew(ctx context.Context, thread int) (held bool, err error) {
	n, err := redissonRenew.Run(ctx, r, []string{r.name}, r.lease.Milliseconds(), r.field(thread)).Int64()
	return n == 1, err
}

// twice takes the lock twice, and calls stay with a count of two and of one.
func (r *redisson) twice(ctx context.Context, thread int, stay func()) error {
	for range 2 {
		if err := r.lock(ctx, thread); err != nil {
			return err
		}
	}
	for range 2 {
		stay()
		if err := r.unlock(ctx, thread); err != nil {
			return err
		}
	}
	return nil
}

// TestInterop makes Redisson's requests contend with redis-reentrant.
func TestInterop(t *testing.T) {
	t.Parallel()
	at := locktest.Endpoint(t, harness.KindRedis)
	t.Run("contention", func(t *testing.T) { leaktest.Own(t); interopContention(t, at) })
	t.Run("steps", func(t *testing.T) { leaktest.Own(t); interopSteps(t, at) })
}

func interopContention(t *testing.T, at harness.Endpoint) {
	ours, theirs := dial(t, at), dial(t, at)
	key := newKey()
	m := newClient(t, ours).Reentrant(key, redislock.Options{})
	r := newRedisson(theirs.Client, key)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	const workers, times = 3, 40
	var inside, overlaps atomic.Int64
	var got [2]atomic.Int64
	stay := func(side int) {
		if inside.Add(1) > 1 {
			overlaps.Add(1)
		}
		time.Sleep(time.Millisecond)
		inside.Add(-1)
		got[side].Add(1)
	}
	var all sync.WaitGroup
	for i := range workers {
		all.Go(func() {
			o := m.Owner()
			for range times {
				l := lock(t, o)
				again := lock(t, o)
				unlock(t, l)
				stay(0)
				unlock(t, again)
			}
		})
		all.Go(func() {
			for range times {
				if err := r.twice(ctx, i, func() { stay(1) }); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
	t.Logf("acquisitions: ours %d, Redisson's %d; overlaps %d", got[0].Load(), got[1].Load(), overlaps.Load())
	if overlaps.Load() > 0 {
		t.Errorf("%d overlaps", overlaps.Load())
	}
	if got[0].Load() != workers*times || got[1].Load() != 2*workers*times {
		t.Errorf("acquisitions %d and %d, want %d and twice that", got[0].Load(), got[1].Load(), workers*times)
	}
}

// interopSteps checks both counts step by step, and both ways of waking.
func interopSteps(t *testing.T, at harness.Endpoint) {
	c, theirs := dial(t, at), dial(t, at)
	key := newKey()
	m := newClient(t, c).Reentrant(key, redislock.Options{})
	r := newRedisson(theirs.Client, key)
	o := m.Owner()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	kept := func(want bool, when string) {
		t.Helper()
		if _, err := o.TryLock(ctx); want != errors.Is(err, redislock.ErrNotAcquired) {
			t.Fatalf("%s: TryLock = %v", when, err)
		}
	}
	must := func(err error) {
		t.Helper()
		requireNoError(t, err)
	}
	must(r.lock(ctx, 1))
	must(r.lock(ctx, 1))
	kept(true, "Redisson holds it twice")
	must(r.unlock(ctx, 1))
	kept(true, "Redisson holds it once")
	if held, err := r.renew(ctx, 1); !held || err != nil {
		t.Errorf("Redisson's renewal = %t, %v", held, err)
	}
	woken := begun(t, o)
	eventually(t, "we listen", func() bool { return listeners(t, c, key) == 1 })
	must(r.unlock(ctx, 1))
	outer := take(t, woken)
	inner := lock(t, o)
	for _, l := range []*redislock.Lease{inner, outer} {
		if ok, left, err := r.try(ctx, 2); ok || err != nil || left <= 0 {
			t.Fatalf("Redisson gets our lock: %t, %v, %v", ok, left, err)
		}
		if l == inner {
			unlock(t, l)
		}
	}
	if err := r.unlock(ctx, 2); err == nil {
		t.Error("Redisson releases our lock")
	}
	next := make(chan error, 1)
	go func() { next <- r.lock(ctx, 2) }()
	eventually(t, "Redisson listens", func() bool { return listeners(t, c, key) == 2 })
	unlock(t, outer)
	must(<-next)
	kept(true, "Redisson holds it")
	must(r.unlock(ctx, 2))
	kept(false, "Redisson has released it")
}
