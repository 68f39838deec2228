package lab

import (
	"context"
	"crypto/rand"
	"maps"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"locklab/harness"
	"locklab/harness/locktest"
	"locklab/internal/faultproxy"
	"locklab/internal/layers"
	"locklab/internal/require"
	wireredis "locklab/internal/wire/redis"
)

const (
	patience = 20 * time.Second

	long = 30 * time.Second
)

type link struct {
	client *redis.Client
	*wireredis.Counter
}

func newLink(t *testing.T, at harness.Endpoint, tweak ...func(*redis.Options)) link {
	t.Helper()
	client, counter, err := wireredis.Connect(at, tweak...)
	requireNoError(t, err)
	t.Cleanup(func() { client.Close() })
	requireNoError(t, client.Ping(t.Context()).Err())
	return link{client, counter}
}

func newProxy(t *testing.T, at harness.Endpoint) (*faultproxy.Proxy, harness.Endpoint) {
	t.Helper()
	p, err := faultproxy.New(at.Addrs[0][0], faultproxy.Redis, faultproxy.Options{})
	requireNoError(t, err)
	t.Cleanup(func() { p.Close() })
	at.Addrs = [][]string{{p.Addr()}}
	return p, at
}

var requireNoError = require.NoError

func newPlain(t *testing.T, l link) *process {
	t.Helper()
	p := newProcess(l.client)
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return p
}

func acquireLock[L harness.Lease](t *testing.T, m interface {
	Lock(context.Context) (L, error)
}) L {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	l, err := m.Lock(ctx)
	requireNoError(t, err)
	return l
}

func unlockLease(t *testing.T, l harness.Lease) {
	t.Helper()
	requireNoError(t, l.Unlock(t.Context()))
}

func waitUntil(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not within %v: %s", patience, what)
		}
	}
}

type scene struct {
	t     *testing.T
	at    harness.Endpoint
	key   string
	watch link
}

type sceneTest struct {
	name string
	run  func(*testing.T, *scene)
}

func runScenes(t *testing.T, tests []sceneTest) {
	t.Helper()
	t.Parallel()
	at := locktest.Endpoint(t, harness.KindRedis)
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) { test.run(t, newScene(t, at)) })
	}
}

func newScene(t *testing.T, at harness.Endpoint) *scene {
	s := &scene{t, at, "locklab:{lab-test-" + rand.Text() + "}", newLink(t, at)}
	t.Cleanup(func() { s.watch.client.Del(context.WithoutCancel(t.Context()), s.key) })
	return s
}

func (s *scene) process12() *lock12 { return newLock12(newPlain(s.t, newLink(s.t, s.at)), s.key, 0) }

// hold waits for the lock without a lease.
func (t *thread12) hold(ctx context.Context) (bool, error) { return t.lock(ctx, forever, 0) }

func (s *scene) hold(h *thread12) {
	s.t.Helper()
	_, err := h.hold(s.t.Context())
	requireNoError(s.t, err)
}

func (s *scene) exists() bool { return s.watch.client.Exists(s.t.Context(), s.key).Val() == 1 }

func (s *scene) requireOwner(owner string) {
	s.t.Helper()
	all, err := s.watch.client.HGetAll(s.t.Context(), s.key).Result()
	if err != nil || !maps.Equal(all, map[string]string{owner: "2"}) {
		s.t.Fatalf("%s = %v, %v; want %s twice", s.key, all, err, owner)
	}
}

func (s *scene) take(try func(context.Context, time.Duration) (bool, time.Duration, error)) {
	s.t.Helper()
	if ok, _, err := try(s.t.Context(), long); !ok || err != nil {
		s.t.Fatalf("try of a free lock = %t, %v", ok, err)
	}
}

func (s *scene) expectUnlock(h *thread12, want bool) {
	s.t.Helper()
	if held, err := h.unlock(context.WithoutCancel(s.t.Context())); held != want || err != nil {
		s.t.Errorf("unlock = %t, %v, want %t", held, err, want)
	}
}

func countStep(step string, n *atomic.Int32) func(string) {
	return func(s string) {
		if s == step {
			n.Add(1)
		}
	}
}

// TestSuiteComplete: Suite contains every lock of package redislock and of this package.
func TestSuiteComplete(t *testing.T) { layers.SuiteComplete(t, ".", Suite) }
