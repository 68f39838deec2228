package redislock_test

import (
	"context"
	"testing"
	"time"

	"locklab/harness"
	"locklab/redislock"
)

// A scene is a lock and the clients around it.
type scene struct {
	t     *testing.T
	at    harness.Endpoint
	key   string
	watch *link
}

func newScene(t *testing.T, at harness.Endpoint) *scene {
	s := &scene{t, at, newKey(), dial(t, at)}
	t.Cleanup(func() { s.watch.Del(context.WithoutCancel(t.Context()), s.key) })
	return s
}

// process12 and process return a process's view of the lock.
func (s *scene) process12() *lock12 {
	return redislock.NewLock12(newClient(s.t, dial(s.t, s.at)), s.key)
}

type lock12 = redislock.Lock12

func (s *scene) process(o redislock.Options) (*redislock.Reentrant, *link) {
	c := dial(s.t, s.at)
	return newClient(s.t, c).Reentrant(s.key, o), c
}

// expire ends the lease of the holder, as time would.
func (s *scene) expire() {
	s.watch.PExpire(s.t.Context(), s.key, time.Millisecond)
	eventually(s.t, "the lease is over", func() bool { return s.watch.Exists(s.t.Context(), s.key).Val() == 0 })
}

func (s *scene) exists() bool { return s.watch.Exists(s.t.Context(), s.key).Val() == 1 }

func (s *scene) ttl() time.Duration { return s.watch.PTTL(s.t.Context(), s.key).Val() }

func (s *scene) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

// take takes the lock, which must be free.
func (s *scene) take(try func(context.Context, time.Duration) (bool, time.Duration, error)) {
	s.t.Helper()
	if ok, _, err := try(s.t.Context(), long); !ok || err != nil {
		s.t.Fatalf("try of a free lock = %t, %v", ok, err)
	}
}

// once calls f before the nth time of a step.
func once(step string, nth int, f func()) func(string) {
	return func(s string) {
		if s == step {
			if nth--; nth == 0 {
				f()
			}
		}
	}
}

const long = 30 * time.Second
