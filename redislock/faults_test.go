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

// lostReplyRetried leaves the retry to the client library, its default.
func lostReplyRetried(t *testing.T, at harness.Endpoint) {
	c, watch := dial(t, at, func(o *redis.Options) { o.MaxRetries = 3 }), dial(t, at)
	key := newKey()
	m := pollMutex(t, c, key, redislock.Options{})
	unlock(t, lock(t, m))
	c.lose.Store(1)
	l, err := m.TryLock(t.Context())
	if err != nil {
		t.Fatalf("TryLock of a free lock: %v", err)
	}
	unlock(t, l)
	if got := owner(t, watch, key); got != "" {
		t.Errorf("orphan %q", got)
	}
}

func lostRepliesGiveUp(t *testing.T, at harness.Endpoint) {
	c, watch := dial(t, at), dial(t, at)
	key := newKey()
	m := pollMutex(t, c, key, redislock.Options{})
	unlock(t, lock(t, m))
	c.lose.Store(3)
	if l, err := m.TryLock(t.Context()); err == nil {
		t.Fatalf("TryLock = %v after three lost replies", l)
	}
	if got := owner(t, watch, key); got != "" {
		t.Errorf("orphan %q", got)
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

func wrongType(t *testing.T, at harness.Endpoint) {
	c := dial(t, at)
	key := newKey()
	requireNoError(t, c.LPush(t.Context(), key, "x").Err())
	defer c.Del(context.WithoutCancel(t.Context()), key)
	before := c.Counts()
	_, err := pollMutex(t, c, key, redislock.Options{}).Lock(t.Context())
	if !redis.HasErrorPrefix(err, "WRONGTYPE") {
		t.Errorf("Lock = %v, want the server's WRONGTYPE", err)
	}
	if got := c.Counts().Sub(before).Requests; got > 2 { // NOSCRIPT included
		t.Errorf("%d requests for a final answer", got)
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
