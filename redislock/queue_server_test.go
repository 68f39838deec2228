package redislock_test

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"locklab/harness"
	"locklab/internal/backend"
	"locklab/redislock"
)

func ownServer(t *testing.T) (harness.Endpoint, *backend.Server) {
	t.Helper()
	t.Setenv("LOCKLAB_REDIS", "")
	s, err := backend.Start(t.Context(), harness.KindRedis)
	if errors.Is(err, harness.ErrUnavailable) && !backend.Required(harness.KindRedis) {
		t.Skip(err)
	}
	requireNoError(t, err)
	t.Cleanup(func() { s.Stop() })
	return s.Endpoint(), s
}

// TestQueueRestart: a server that loses its data grants the lock a second time, which the first
// owner notices at its next renewal. The waiter gets the lock.
func TestQueueRestart(t *testing.T) {
	const lease = 1500 * time.Millisecond
	at, old := ownServer(t)
	next, _ := ownServer(t)
	key := newKey()
	o := redislock.Options{TTL: lease}
	peers := make([]*peer, 4)
	for i := range peers {
		peers[i] = newPeer(t, at)
	}
	first := lock(t, peers[0].Mutex(key, o))
	var inside atomic.Int32
	var tokens sync.Map
	var all sync.WaitGroup
	for _, p := range peers[1:] {
		m := p.Mutex(key, o)
		all.Go(func() {
			l, err := m.Lock(t.Context())
			for err != nil && t.Context().Err() == nil { // connections are refused in between
				l, err = m.Lock(t.Context())
			}
			if inside.Add(1) != 1 {
				t.Error("two are inside of those that came after")
			}
			if _, twice := tokens.Swap(l.Token(), true); twice || l.Token() <= first.Token() {
				t.Errorf("token %d after %d", l.Token(), first.Token())
			}
			time.Sleep(50 * time.Millisecond)
			inside.Add(-1)
			expectNoError(t, l.Unlock(t.Context()))
		})
	}
	time.Sleep(200 * time.Millisecond)
	old.Stop()
	for _, p := range peers {
		p.link.redirect(next.Addrs[0][0])
		p.mail.redirect(next.Addrs[0][0])
	}
	restarted := time.Now()
	<-first.Done()
	between(t, "noticing that the lock is lost", time.Since(restarted), 0, lease/3)
	all.Wait()
	between(t, "all acquisitions after a restart", time.Since(restarted), 150*time.Millisecond, 2*lease)
	lost(t, first)
}
