package redislock_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"locklab/harness"
	"locklab/redislock"
)

// lostReplies: a lost reply to Lock or Unlock leaves one holder or none, of every kind, and a
// TryLock that gives up leaves nothing.
func lostReplies(t *testing.T, at harness.Endpoint) {
	watch := dial(t, at)
	for kind, make := range lockables() {
		for _, retries := range []int{-1, 3} { // of the client library
			c, name := dial(t, at, func(o *redis.Options) { o.MaxRetries = retries }), newName()
			m := make(newClient(t, c), name, redislock.Options{}).(tryLocker)
			unlock(t, lock(t, m)) // the server has the scripts
			c.lose.Store(1)
			l, err := m.TryLock(t.Context())
			requireNoError(t, err)
			if kind != "RLocker" { // readers do not exclude each other
				if _, err := make(newClient(t, watch), name, redislock.Options{}).(tryLocker).TryLock(t.Context()); !errors.Is(err, redislock.ErrNotAcquired) {
					t.Errorf("%s, retries %d: TryLock of a held lock = %v", kind, retries, err)
				}
			}
			if retries < 0 { // otherwise Unlock cannot distinguish, see there
				c.lose.Store(1)
			}
			unlock(t, l)
			if kind != "Redlock" && retries < 0 { // for a Redlock a server that does not answer refuses
				c.lose.Store(3)
				if l, err := m.TryLock(t.Context()); err == nil {
					t.Fatalf("%s: TryLock = %v after three lost replies", kind, l)
				}
			}
			eventually(t, kind+": nothing is left", func() bool { return len(leftOf(t, watch, name)) == 0 })
		}
	}
}

func silentServer(t *testing.T, at harness.Endpoint) {
	giveUpOnSilence(t, at, context.WithTimeout)
	giveUpOnSilence(t, at, func(parent context.Context, after time.Duration) (context.Context, context.CancelFunc) {
		ctx, cancel := context.WithCancel(parent)
		time.AfterFunc(after, cancel)
		return ctx, cancel
	})
}

func giveUpOnSilence(t *testing.T, at harness.Endpoint, ending func(context.Context, time.Duration) (context.Context, context.CancelFunc)) {
	// The client, as a user may configure it, ignores contexts.
	const readTimeout = time.Second
	c := dial(t, at, func(o *redis.Options) {
		o.ContextTimeoutEnabled = false
		o.ReadTimeout = readTimeout
	})
	watch := dial(t, at)
	key := newKey()
	m := pollMutex(t, c, key, redislock.Options{})
	unlock(t, lock(t, m))
	c.stall.Store(true)
	// A context that ends before the request is sent, as on a busy machine, proves nothing.
	for wait := 100 * time.Millisecond; ; wait *= 2 {
		ctx, cancel := ending(t.Context(), wait)
		sent := c.Counts().Requests
		began := time.Now()
		_, err := m.Lock(ctx)
		cancel()
		if !errors.Is(err, ctx.Err()) || ctx.Err() == nil {
			t.Fatalf("Lock = %v, want %v", err, ctx.Err())
		}
		if took := time.Since(began) - wait; took > readTimeout-200*time.Millisecond {
			t.Errorf("Lock returned %v after its context ended: it waited for the server", took)
		}
		if c.Counts().Requests > sent {
			break
		}
		if wait > patience {
			t.Fatalf("no request in %v", wait)
		}
	}
	eventually(t, "the request takes effect", func() bool { return owner(t, watch, key) != "" })
	c.stall.Store(false)
	eventually(t, "the orphan is deleted in the background", func() bool { return owner(t, watch, key) == "" })
}

func lateReply(t *testing.T, at harness.Endpoint) {
	c := dial(t, at, func(o *redis.Options) { o.ContextTimeoutEnabled = false })
	watch := dial(t, at)
	key := newKey()
	m := pollMutex(t, c, key, redislock.Options{})
	unlock(t, lock(t, m))
	c.delay.Store(int64(500 * time.Millisecond))
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := m.Lock(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("Lock = %v, want %v", err, context.DeadlineExceeded)
	}
	if owner(t, watch, key) == "" {
		t.Error("the test shows nothing: the request has not taken effect")
	}
	c.delay.Store(0)
	eventually(t, "the lock is released in the background", func() bool { return owner(t, watch, key) == "" })
}

// foreignKey: a lock whose key belongs to another program is neither taken nor changed.
func foreignKey(t *testing.T, at harness.Endpoint) {
	for kind, make := range lockables() {
		c, key := dial(t, at), newKey()
		m := make(newClient(t, c), key, redislock.Options{}).(tryLocker)
		for _, value := range []string{"by hand", "A:1", "A:1 12", "", "\x00 1 1"} {
			requireNoError(t, c.Set(t.Context(), key, value, time.Minute).Err())
			if _, err := m.TryLock(t.Context()); !errors.Is(err, redislock.ErrNotAcquired) && !redis.HasErrorPrefix(err, "WRONGTYPE") {
				t.Errorf("%s: TryLock of the key %q = %v", kind, value, err)
			}
			if got := c.Get(t.Context(), key).Val(); got != value {
				t.Errorf("%s: the key %q is now %q", kind, value, got)
			}
		}
		c.Del(t.Context(), key)
		requireNoError(t, c.LPush(t.Context(), key, "x").Err())
		before := c.Counts()
		if _, err := m.Lock(t.Context()); !redis.HasErrorPrefix(err, "WRONGTYPE") {
			t.Errorf("%s: Lock of a list = %v, want the server's WRONGTYPE", kind, err)
		}
		if got := c.Counts().Sub(before).Requests; got > 2 { // NOSCRIPT included
			t.Errorf("%s: %d requests for a final answer", kind, got)
		}
		c.Del(t.Context(), key)
	}
}

// serverGone closes the user's client under a holder of every kind, before two more come.
func serverGone(t *testing.T, at harness.Endpoint) {
	for kind, make := range kinds {
		c := dial(t, at)
		m := make(newClient(t, c), newKey(), redislock.Options{TTL: time.Second})
		l := lock(t, m)
		c.Client.Close()
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
