package peers_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"locklab/harness"
	"locklab/harness/locktest"
	"locklab/internal/faultproxy"
)

// TestRueidislockSlowServer: TryLock returns a result, however late the server answers.
func TestRueidislockSlowServer(t *testing.T) {
	at := locktest.Endpoint(t, harness.KindRedis)
	for _, name := range []string{"rueidislock", "rueidislock-majority", "rueidislock-poll"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // it waits most of the time
			p, err := faultproxy.New(at.Addrs[0][0], faultproxy.Redis, faultproxy.Options{})
			requireNoError(t, err)
			t.Cleanup(func() { p.Close() })
			key, v := newKey(), variant(name)
			_, holds := joinAt(t, v, at, key)
			slow := at
			slow.Addrs = [][]string{{p.Addr()}}
			_, tries := joinAt(t, v, slow, key)
			if lease, err := tryLate(t, p, tries); err != nil {
				t.Errorf("TryLock of a free lock = %v", err)
			} else if err := lease.Unlock(t.Context()); err != nil {
				t.Error(err)
			}
			lease := mustLock(t, holds)
			if _, err := tryLate(t, p, tries); !errors.Is(err, harness.ErrNotAcquired) {
				t.Errorf("TryLock of a held lock = %v, want ErrNotAcquired", err)
			}
			expectNoError(t, lease.Unlock(t.Context()))
			if err := mustLock(t, tries).Unlock(t.Context()); err != nil {
				t.Errorf("after TryLock: %v", err)
			}
		})
	}
}

func tryLate(t *testing.T, p *faultproxy.Proxy, s harness.Session) (harness.Lease, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	p.Delay(faultproxy.Reply, 100*time.Millisecond)
	defer time.AfterFunc(500*time.Millisecond, func() { p.Delay(faultproxy.Reply, 0) }).Stop()
	defer p.Delay(faultproxy.Reply, 0)
	return s.(harness.TrySession).TryLock(ctx)
}

func joinAt(t *testing.T, v *harness.Variant, at harness.Endpoint, key string) (harness.Remote, harness.Session) {
	t.Helper()
	r, err := v.Remote(t.Context(), at, key)
	requireNoError(t, err)
	t.Cleanup(func() { r.Close() })
	s, err := r.Join(t.Context(), 0)
	requireNoError(t, err)
	t.Cleanup(func() { s.Close() })
	return r, s
}
