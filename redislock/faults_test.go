package redislock_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"locklab/harness"
	"locklab/redislock"
)

// lostReplies: a lost reply to Lock or Unlock leaves one holder or none, of every kind, and a
// TryLock that gives up leaves nothing.
func lostReplies(t *testing.T, at harness.Endpoint) {
	watch := dialServer(t, at)
	for kind, make := range lockables() {
		for _, retries := range []int{-1, 3} { // of the client library
			c, name := dialServer(t, at, func(o *redis.Options) { o.MaxRetries = retries }), newName()
			m := make(newClient(t, c), name, redislock.Options{}).(tryLocker)
			unlockLease(t, lockNow(t, m)) // the server has the scripts
			c.lose.Store(1)
			l, err := m.TryLock(t.Context())
			requireNoError(t, err)
			if kind != "RLocker" { // readers do not exclude each other
				requireTaken(t, kind, make(newClient(t, watch), name, redislock.Options{}).(tryLocker))
			}
			c.lose.Store(1)
			if err := l.Unlock(t.Context()); !errors.Is(err, redislock.ErrNotHeld) && kind != "Redlock" {
				t.Errorf("%s, retries %d: Unlock with a lost reply = %v", kind, retries, err)
			}
			if kind != "Redlock" && retries < 0 { // for a Redlock a server that does not answer refuses
				c.lose.Store(3)
				if l, err := m.TryLock(t.Context()); err == nil {
					t.Fatalf("%s: TryLock = %v after three lost replies", kind, l)
				}
			}
			waitUntil(t, kind+": nothing is left", func() bool { return len(leftOf(t, watch.client, name)) == 0 })
		}
	}
}

// silentServer: a Lock gives up with its context though the client library, as a user may
// configure it, waits for the server. What the request does later is undone.
func silentServer(t *testing.T, at harness.Endpoint) {
	const readTimeout = time.Second
	c := dialServer(t, at, func(o *redis.Options) {
		o.ContextTimeoutEnabled = false
		o.ReadTimeout = readTimeout
	})
	watch, key := dialServer(t, at), newKey()
	m := pollMutex(t, c, key, redislock.Options{})
	unlockLease(t, lockNow(t, m))
	c.stall.Store(true)
	// A context that ends before the request is sent, as on a busy machine, proves nothing.
	for wait := 100 * time.Millisecond; ownerOf(t, watch, key) == ""; wait *= 2 {
		ctx, cancel := context.WithTimeout(t.Context(), wait)
		began := time.Now()
		_, err := m.Lock(ctx)
		cancel()
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("Lock = %v, want %v", err, context.DeadlineExceeded)
		}
		if took := time.Since(began) - wait; took > readTimeout-200*time.Millisecond {
			t.Errorf("Lock returned %v after its context ended: it waited for the server", took)
		}
		if wait > patience {
			t.Fatalf("no request in %v", wait)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := m.Holders(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Holders = %v, want %v", err, context.DeadlineExceeded)
	}
	c.stall.Store(false)
	waitUntil(t, "the orphan is deleted in the background", func() bool { return ownerOf(t, watch, key) == "" })
}

// foreignKey: a lock whose key belongs to another program is neither taken nor changed.
func foreignKey(t *testing.T, at harness.Endpoint) {
	for kind, make := range lockables() {
		c, key := dialServer(t, at), newKey()
		m := make(newClient(t, c), key, redislock.Options{}).(tryLocker)
		for _, value := range []string{"by hand", "A:1", "A:1 12", "", "\x00 1 1"} {
			requireNoError(t, c.client.Set(t.Context(), key, value, time.Minute).Err())
			if _, err := m.TryLock(t.Context()); !errors.Is(err, redislock.ErrNotAcquired) && !redis.HasErrorPrefix(err, "WRONGTYPE") {
				t.Errorf("%s: TryLock of the key %q = %v", kind, value, err)
			}
			if got := c.client.Get(t.Context(), key).Val(); got != value {
				t.Errorf("%s: the key %q is now %q", kind, value, got)
			}
		}
		c.client.Del(t.Context(), key)
		l := lockNow(t, make(newClient(t, c), key, redislock.Options{}))
		c.client.Del(t.Context(), key)
		requireNoError(t, c.client.LPush(t.Context(), key, "x").Err())
		before := c.Counts()
		if _, err := m.Lock(t.Context()); !redis.HasErrorPrefix(err, "WRONGTYPE") {
			t.Errorf("%s: Lock of a list = %v, want the server's WRONGTYPE", kind, err)
		}
		if got := c.Counts().Sub(before).Requests; got > 2 { // NOSCRIPT included
			t.Errorf("%s: %d requests for a final answer", kind, got)
		}
		requireLost(t, l)
		c.client.Del(t.Context(), key)
		for _, what := range []string{"queue", "tokens"} {
			l, other := lockNow(t, m), redislock.Companion(key, what)
			c.client.Del(t.Context(), other)
			requireNoError(t, c.client.SetNX(t.Context(), other, "by hand", time.Minute).Err())
			if err := l.Unlock(t.Context()); err != nil || c.client.Exists(t.Context(), key).Val() > 0 {
				t.Errorf("%s: Unlock with a foreign %s = %v, and the lock must be free", kind, what, err)
			}
			c.client.Del(t.Context(), other)
		}
	}
}

// serverGone closes the user's client under a holder of every kind, before two more come.
func serverGone(t *testing.T, at harness.Endpoint) {
	for kind, make := range kinds {
		c := dialServer(t, at)
		m := make(newClient(t, c), newKey(), redislock.Options{TTL: time.Second})
		l := lockNow(t, m)
		c.client.Close()
		if err := l.Unlock(t.Context()); !errors.Is(err, redis.ErrClosed) {
			t.Errorf("%s: Unlock = %v, want %v", kind, err, redis.ErrClosed)
		}
		if err := l.Err(); !errors.Is(err, redislock.ErrLost) {
			t.Errorf("%s: Err = %v, want ErrLost", kind, err)
		}
		failed, _ := waitTwice(t, m)
		for range 2 {
			if err := <-failed; !errors.Is(err, redis.ErrClosed) {
				t.Errorf("%s: Lock = %v, want %v", kind, err, redis.ErrClosed)
			}
		}
	}
}

// holdersDeleted: the key of the lock is deleted or evicted, and its companion is not. The next
// writer has the lock, and a repetition of an earlier writer's request is not admitted as well.
func holdersDeleted(t *testing.T, at harness.Endpoint) {
	c, key := dialServer(t, at), newKey()
	m := newClient(t, c).RWMutex(key, redislock.Options{})
	first := lockNow(t, m)
	c.client.Del(t.Context(), key)
	second := lockNow(t, m)
	if token, err := redislock.Repeat(t.Context(), first); token != 0 || err != nil {
		t.Errorf("the request again: token %d, %v", token, err)
	}
	n, tokens := c.client.ZCard(t.Context(), key).Val(), c.client.HLen(t.Context(), redislock.Companion(key, "tokens")).Val()
	if n != 1 || tokens != 1 {
		t.Errorf("%d writers hold the lock, with %d tokens", n, tokens)
	}
	unlockLease(t, second)
	requireLost(t, first)
	if keys, err := c.client.Exists(t.Context(), key, redislock.Companion(key, "tokens")).Result(); keys != 0 || err != nil {
		t.Errorf("%d keys are left, %v", keys, err)
	}
}

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
	at := runParallel(t)
	var work sync.WaitGroup
	run := func(kind string, prompt bool) {
		work.Go(func() {
			c := dialServer(t, at, func(o *redis.Options) { o.ContextTimeoutEnabled = prompt })
			m := kinds[kind](newClient(t, c), newName(), redislock.Options{})
			l := lockNow(t, m)
			asked := false
			c.client.AddHook(beforeCommand([]string{"evalsha"}, func() {
				asked = true
				requireOver(t, kind, l)
			}))
			unlockLease(t, l)
			if !asked {
				t.Errorf("%s: no request was sent", kind)
			}
			if err := l.Err(); err != redislock.ErrReleased {
				t.Errorf("%s: Err = %v", kind, err)
			}
			l = lockNow(t, m)
			c.stall.Store(true)
			if err := l.Unlock(t.Context()); !errors.Is(err, redislock.ErrUnanswered) {
				t.Errorf("%s: Unlock without an answer = %v", kind, err)
			}
			requireOver(t, kind, l)
			if err := l.Err(); !errors.Is(err, redislock.ErrLost) {
				t.Errorf("%s: Err = %v", kind, err)
			}
			c.stall.Store(false)
		})
	}
	for kind := range kinds {
		run(kind, false)
		run(kind, true)
	}
	work.Wait()
}
