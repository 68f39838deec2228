package redislock_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

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

// TestQueueRefused: a refusal of the server is one clear error, and nothing is left.
func TestQueueRefused(t *testing.T) {
	at, _ := ownServer(t)
	admin := dial(t, at)
	config := func(pairs ...string) {
		t.Helper()
		for i := 0; i < len(pairs); i += 2 {
			requireNoError(t, admin.ConfigSet(context.WithoutCancel(t.Context()), pairs[i], pairs[i+1]).Err())
		}
	}
	const secret = "hunter2hunter2"
	for _, test := range []struct {
		name, want string
		begin, end func()
	}{
		{"read-only replica", "READONLY",
			func() { admin.ReplicaOf(t.Context(), "127.0.0.1", "1") },
			func() { admin.ReplicaOf(t.Context(), "NO", "ONE") }},
		{"out of memory", "OOM",
			func() { config("maxmemory", "1", "maxmemory-policy", "noeviction") },
			func() { config("maxmemory", "0") }},
		{"wrong password", "WRONGPASS",
			func() { config("requirepass", secret) },
			func() { config("requirepass", "") }},
	} {
		t.Run(test.name, func(t *testing.T) {
			key := newKey()
			holder := newPeer(t, at)
			m := holder.Mutex(key, redislock.Options{})
			held := lock(t, m)
			test.begin()
			p := holder
			if test.want == "WRONGPASS" {
				p = &peer{link: &link{conns: map[*lossy]bool{}}}
				rdb := redis.NewClient(&redis.Options{Addr: at.Addrs[0][0], Password: "wrong-" + secret})
				defer rdb.Close()
				p.Client = redislock.NewClient(rdb, redislock.ClientOptions{})
				defer p.Client.Close()
			}
			began := time.Now()
			_, err := p.Mutex(key, redislock.Options{Outage: slack / 4}).Lock(t.Context())
			text := fmt.Sprint(err)
			if !strings.Contains(text, test.want) || strings.Contains(text, secret) || strings.Contains(text, "\n") || !strings.HasPrefix(text, "redislock: ") {
				t.Errorf("Lock = %q, want one line with %s", text, test.want)
			}
			if took := time.Since(began); took > slack {
				t.Errorf("it took %v", took)
			}
			if test.want == "OOM" { // but the holder can release it
				unlock(t, held)
			}
			test.end()
			if n := waiting(t, admin, key); n != 0 {
				t.Errorf("%d waiters are left", n)
			}
			if test.want != "OOM" {
				unlock(t, held)
			}
			if got := owner(t, admin, key); got != "" {
				t.Errorf("orphan %q", got)
			}
		})
	}
}
