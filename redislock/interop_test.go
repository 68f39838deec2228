package redislock_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"locklab/harness"
	"locklab/redislock"
)

// A redisson sends the server the same commands as Redisson 4.7.0 for one RLock, in the same
// order, with the same keys, channel and messages: org/redisson/RedissonLock.java
// (tryLockInnerAsync, unlockInnerAsync, lock), RedissonBaseLock.java (unlockInnerAsync,
// renewExpirationAsync) and pubsub/LockPubSub.java. It is a separate implementation of that
// behaviour, not Redisson itself.
type redisson struct {
	client            *redis.Client
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
		client: c, name: name, channel: channelOf(name),
		id: "5b7a7e9e-3c43-4d5b-9d7e-2f1f5e1c0a01", lease: 30 * time.Second,
	}
}

// channelOf is RedissonObject.prefixName.
func channelOf(name string) string {
	if !strings.Contains(name, "{") {
		name = "{" + name + "}"
	}
	return "redisson_lock__channel:" + name
}

func (r *redisson) field(thread int) string { return fmt.Sprintf("%s:%d", r.id, thread) }

func (r *redisson) try(ctx context.Context, thread int) (ok bool, left time.Duration, err error) {
	ms, err := redissonLock.Run(ctx, r.client, []string{r.name}, r.lease.Milliseconds(), r.field(thread)).Int64()
	if err == redis.Nil {
		return true, 0, nil
	}
	return false, time.Duration(ms) * time.Millisecond, err
}

func (r *redisson) lock(ctx context.Context, thread int) error {
	if ok, _, err := r.try(ctx, thread); ok || err != nil {
		return err
	}
	heard := r.client.Subscribe(ctx, r.channel)
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
	_, err := redissonUnlock.Run(ctx, r.client, []string{r.name, r.channel, latch},
		0, r.lease.Milliseconds(), r.field(thread), "publish", 13500).Int64()
	if err != nil {
		return fmt.Errorf("attempt to unlock: %w", err)
	}
	return r.client.Del(ctx, latch).Err()
}

func (r *redisson) renew(ctx context.Context, thread int) (held bool, err error) {
	n, err := redissonRenew.Run(ctx, r.client, []string{r.name}, r.lease.Milliseconds(), r.field(thread)).Int64()
	return n == 1, err
}

// TestInterop lets Redisson's requests contend with a Reentrant: both counts step by step, and both
// ways of waking.
func TestInterop(t *testing.T) {
	at := runParallel(t)
	for _, key := range []string{newKey(), newName()} {
		checkInterop(t, at, key)
	}
}

func checkInterop(t *testing.T, at harness.Endpoint, key string) {
	c, theirs := dialServer(t, at), dialServer(t, at)
	m := newClient(t, c).Reentrant(key, redislock.Options{})
	r := newRedisson(theirs.client, key)
	o := m.Owner()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	requireNoError(t, r.lock(ctx, 1))
	requireNoError(t, r.lock(ctx, 1))
	requireTaken(t, "Redisson holds it twice", o)
	requireNoError(t, r.unlock(ctx, 1))
	requireTaken(t, "Redisson holds it once", o)
	if held, err := r.renew(ctx, 1); !held || err != nil {
		t.Errorf("Redisson's renewal = %t, %v", held, err)
	}
	woken := beginLock(t, o)
	waitUntil(t, "we listen", func() bool { return countListeners(t, c, key) == 1 })
	requireNoError(t, r.unlock(ctx, 1))
	outer := takeLease(t, woken)
	inner := lockNow(t, o)
	for _, l := range []*redislock.Lease{inner, outer} {
		if ok, left, err := r.try(ctx, 2); ok || err != nil || left <= 0 {
			t.Fatalf("Redisson gets our lock: %t, %v, %v", ok, left, err)
		}
		if l == inner {
			unlockLease(t, l)
		}
	}
	if err := r.unlock(ctx, 2); err == nil {
		t.Error("Redisson releases our lock")
	}
	next := make(chan error, 1)
	go func() { next <- r.lock(ctx, 2) }()
	waitUntil(t, "Redisson listens", func() bool { return countListeners(t, c, key) == 2 })
	unlockLease(t, outer)
	requireNoError(t, <-next)
	requireTaken(t, "Redisson holds it", o)
	requireNoError(t, r.unlock(ctx, 2))
	unlockLease(t, lockNow(t, o))
}

func countListeners(t *testing.T, c *link, key string) int64 {
	t.Helper()
	channel := channelOf(key)
	n, err := c.client.PubSubNumSub(context.WithoutCancel(t.Context()), channel).Result()
	requireNoError(t, err)
	return n[channel]
}
