package lab

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"locklab/harness"
	"locklab/internal/faultproxy"
	"locklab/redislock"
)

func TestFairRedisson(t *testing.T) {
	runScenes(t, []sceneTest{
		{"keys", fairKeys},
		{"requests", fairRequests},
		{"lost reply", fairLostReply},
	})
}

func (s *scene) fair(ttl, wait time.Duration) *fairLock {
	return newFairLock(newPlain(s.t, newLink(s.t, s.at)), s.key, ttl, wait)
}

func (s *scene) queue() []string {
	s.t.Helper()
	ctx := context.WithoutCancel(s.t.Context())
	list := s.watch.LRange(ctx, "redisson_lock_queue:"+s.key, 0, -1).Val()
	times := s.watch.ZRange(ctx, "redisson_lock_timeout:"+s.key, 0, -1).Val()
	if !slices.Equal(list, times) {
		s.t.Errorf("the queue is %q, by their times %q", list, times)
	}
	return list
}

// dieInQueue lets w join the queue and send nothing after that.
func (s *scene) dieInQueue(w *fairThread) {
	s.t.Helper()
	if l, _, err := w.ask(s.t.Context(), true); l != nil || err != nil {
		s.t.Fatalf("a waiter behind a holder got %v, %v", l, err)
	}
}

func fairKeys(t *testing.T, s *scene) {
	f := s.fair(0, time.Minute)
	a, b, c := f.thread(), f.thread(), f.thread()
	l := acquire(t, a)
	again := acquire(t, a)
	if got := s.onlyField("2"); got != a.field {
		t.Errorf("the owner is %q, want %q", got, a.field)
	}
	s.dieInQueue(b)
	s.dieInQueue(c)
	if got, want := s.queue(), []string{b.field, c.field}; !slices.Equal(got, want) {
		t.Errorf("the queue is %q, want %q", got, want)
	}
	now := time.Now().UnixMilli()
	for i, waiter := range []string{b.field, c.field} {
		score := s.watch.ZScore(t.Context(), "redisson_lock_timeout:"+s.key, waiter).Val()
		want := (redislock.DefaultTTL + time.Duration(i+1)*time.Minute).Seconds()
		if got := (score - float64(now)) / 1000; got > want || got < want-10 {
			t.Errorf("waiter %d is waited for in %.0f s, want the lease and a minute each: %.0f", i, got, want)
		}
	}
	unlock(t, l)
	unlock(t, again)
	if s.exists() {
		t.Error("the key is left")
	}
	if _, err := f.thread().TryLock(t.Context()); !errors.Is(err, harness.ErrNotAcquired) {
		t.Errorf("TryLock before the queue = %v, want ErrNotAcquired", err)
	}
	s.watch.Del(t.Context(), "redisson_lock_queue:"+s.key, "redisson_lock_timeout:"+s.key)
}

func fairRequests(t *testing.T, s *scene) {
	c := newLink(t, s.at)
	f := newFairLock(newPlain(t, c), s.key, 0, time.Minute)
	a := f.thread()
	unlock(t, acquire(t, a))
	before := c.Counts()
	for range 20 {
		unlock(t, acquire(t, a))
	}
	if n := c.Counts().Sub(before).Requests; n != 60 {
		t.Errorf("20 cycles cost %d requests, want 3 each", n)
	}
}

func fairLostReply(t *testing.T, s *scene) {
	p, through := newProxy(t, s.at)
	c := newLink(t, through, func(o *redis.Options) { o.MaxRetries = 3 })
	f := newFairLock(newPlain(t, c), s.key, 0, time.Minute)
	a := f.thread()
	unlock(t, acquire(t, a))
	p.Inject(faultproxy.Fault{Do: faultproxy.LoseReply, Match: faultproxy.Op("evalsha")})
	l := acquire(t, a)
	s.onlyField("2")
	unlock(t, l)
	if !s.exists() {
		t.Error("the lock is free: the hazard is gone")
	}
}
