package redislock_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"locklab/harness"
	"locklab/harness/locktest"
	"locklab/redislock"
)

func TestRedlock(t *testing.T) {
	t.Parallel()
	const servers = 3
	at := locktest.Endpoints(t, harness.KindRedis, servers)
	if lacks := (harness.Traits{Needs: harness.KindRedis, Servers: servers}).Lacks(at); lacks != "" {
		t.Skip(lacks)
	}
	for _, test := range []struct {
		name string
		run  func(*testing.T, *trio)
	}{
		{"requests and deadline", redlockRequests},
		{"a server that hangs, many contenders", redlockHung},
		{"a server that hung is back", redlockBack},
		{"two servers that are gone", redlockMajorityGone},
		{"two keys are another's", redlockTaken},
		{"two keys are lost", redlockMajorityLost},
		{"the first client closes", redlockClosed},
		{"a key that comes late", redlockLate},
		{"a trace", func(t *testing.T, s *trio) {
			const lease = 1200 * time.Millisecond
			renewedOnce(t, s.lock(t, s.dial(t), redislock.Options{TTL: lease}), lease)
		}},
		{"most renewals fail", redlockRenewalFails},
		{"a suspend", redlockSuspended},
	} {
		t.Run(test.name, func(t *testing.T) { test.run(t, newTrio(t, at)) })
	}
}

type trio struct {
	at    harness.Endpoint
	key   string
	watch []*link

	clients []*redislock.Client // of the latest lock
}

func newTrio(t *testing.T, at harness.Endpoint) *trio {
	s := &trio{at: at, key: newKey()}
	s.watch = s.dial(t)
	return s
}

func (s *trio) dial(t *testing.T) (links []*link) {
	t.Helper()
	for i := range s.at.Addrs {
		one := s.at
		one.Addrs = s.at.Addrs[i : i+1]
		links = append(links, dialServer(t, one))
	}
	return links
}

func (s *trio) lock(t *testing.T, links []*link, o redislock.Options) *redislock.Redlock {
	t.Helper()
	s.clients = nil
	for _, l := range links {
		s.clients = append(s.clients, newClient(t, l))
	}
	return redislock.NewRedlock(s.clients, s.key, redislock.RedlockOptions{PollOptions: redislock.PollOptions{Options: o}})
}

func (s *trio) free(t *testing.T, servers ...int) {
	t.Helper()
	waitUntil(t, "the keys are gone", func() bool { return s.count(t, servers...) == 0 })
}

func (s *trio) count(t *testing.T, servers ...int) (n int) {
	t.Helper()
	for _, i := range servers {
		if ownerOf(t, s.watch[i], s.key) != "" {
			n++
		}
	}
	return n
}

// warm takes the lock until all servers have its key, as not all may answer in time.
func (s *trio) warm(t *testing.T, m *redislock.Redlock) {
	t.Helper()
	waitUntil(t, "all have the key", func() bool {
		l := lockNow(t, m)
		defer unlockLease(t, l)
		for end := time.Now().Add(50 * time.Millisecond); time.Now().Before(end); time.Sleep(time.Millisecond) {
			if s.count(t, 0, 1, 2) == 3 {
				return true
			}
		}
		return false
	})
	s.free(t, 0, 1, 2)
}

func redlockRequests(t *testing.T, s *trio) {
	links := s.dial(t)
	m := s.lock(t, links, redislock.Options{TTL: time.Minute})
	s.warm(t, m)
	before := make([]harness.Counts, len(links))
	waitUntil(t, "no request of the first acquisition is under way", func() bool {
		steady := true
		for i, l := range links {
			now := l.Counts()
			steady, before[i] = steady && now == before[i], now
		}
		time.Sleep(20 * time.Millisecond)
		return steady
	})
	began := time.Now()
	l := lockNow(t, m)
	if until, ok := l.Deadline(); !ok || until.After(time.Now().Add(time.Minute-time.Minute/100)) || until.Before(began.Add(time.Minute/2)) {
		t.Errorf("the deadline is %v after asking, %t", until.Sub(began), ok)
	}
	waitUntil(t, "all have the key", func() bool { return s.count(t, 0, 1, 2) == 3 })
	other := s.lock(t, s.dial(t), redislock.Options{})
	requireTaken(t, "a held lock", other)
	unlockLease(t, l)
	s.free(t, 0, 1, 2)
	for i, l := range links {
		// The servers may be done before the replies are counted.
		sent := func() uint64 { return l.Counts().Sub(before[i]).Requests }
		waitUntil(t, "the reply to the release is counted", func() bool { return sent() >= 2 })
		if n := sent(); n != 2 {
			t.Errorf("an acquisition cost server %d %d requests, want 2", i, n)
		}
	}
}

func redlockMajorityGone(t *testing.T, s *trio) {
	links := s.dial(t)
	m := s.lock(t, links, redislock.Options{})
	links[0].client.Close()
	links[2].client.Close()
	if l, err := m.Lock(t.Context()); !errors.Is(err, redis.ErrClosed) {
		t.Errorf("Lock = %v, %v; want the servers' errors", l, err)
	}
	if _, err := m.TryLock(t.Context()); err == nil {
		t.Error("TryLock took the lock by one server of three")
	}
	s.free(t, 1)
}

func redlockTaken(t *testing.T, s *trio) {
	for _, i := range []int{0, 1} {
		requireNoError(t, s.watch[i].client.Set(t.Context(), s.key, "another", time.Minute).Err())
	}
	m := s.lock(t, s.dial(t), redislock.Options{})
	requireTaken(t, "two keys of three are held", m)
	s.free(t, 2)
	requireTaken(t, "one key of two is held", redislock.NewRedlock(s.clients[1:], s.key, redislock.RedlockOptions{}))
	got := beginLock(t, m)
	select {
	case <-got:
		t.Error("a client that has one key of three got the lock")
	case <-time.After(200 * time.Millisecond):
	}
	for _, i := range []int{0, 1} {
		if v := ownerOf(t, s.watch[i], s.key); v != "another" {
			t.Errorf("server %d: another's key is %q now", i, v)
		}
	}
	s.watch[0].client.Del(t.Context(), s.key)
	unlockLease(t, takeLease(t, got))
	s.free(t, 0, 2)
	s.watch[1].client.Del(t.Context(), s.key)
}

func redlockMajorityLost(t *testing.T, s *trio) {
	l := lockNow(t, s.lock(t, s.dial(t), redislock.Options{TTL: 600 * time.Millisecond}))
	waitUntil(t, "all have the key", func() bool { return s.count(t, 0, 1, 2) == 3 })
	s.watch[0].client.Del(t.Context(), s.key)
	s.watch[1].client.Del(t.Context(), s.key)
	requireDone(t, l)
	s.free(t, 0, 1, 2) // without Unlock
	requireLost(t, l)
}

// redlockClosed: a lease continues on the other servers when one of its clients closes or is shut down.
func redlockClosed(t *testing.T, s *trio) {
	for _, end := range []func() error{func() error { return s.clients[2].Shutdown(t.Context()) }, func() error { return s.clients[0].Close() }} {
		l := lockNow(t, s.lock(t, s.dial(t), redislock.Options{}))
		waitUntil(t, "all count", func() bool { return redislock.Parts(l) == 3 })
		requireNoError(t, end())
		expectNoError(t, l.Err())
		unlockLease(t, l)
	}
	s.free(t, 1, 2)
	lockNow(t, s.lock(t, s.dial(t), redislock.Options{MaxHold: time.Second}))
	requireNoError(t, s.clients[0].Close())
	s.free(t, 1, 2)
}

func redlockLate(t *testing.T, s *trio) {
	const lease = 900 * time.Millisecond
	links, third := s.dial(t), s.at
	third.Addrs = s.at.Addrs[2:]
	links[2] = dialServer(t, third, func(o *redis.Options) { o.ContextTimeoutEnabled = false })
	m := s.lock(t, links, redislock.Options{TTL: lease})
	s.warm(t, m)
	links[2].delay.Store(int64(lease / 5)) // longer than the time to answer
	l := lockNow(t, m)
	waitUntil(t, "the third counts", func() bool { return redislock.Parts(l) == 3 })
	links[2].delay.Store(0)
	s.watch[0].client.Del(t.Context(), s.key)
	select {
	case <-l.Done():
		t.Errorf("the lease has ended although two keys are left: %v", l.Err())
	case <-time.After(2 * lease):
	}
	unlockLease(t, l)
	s.warm(t, m) // the third is asked again
}

func redlockRenewalFails(t *testing.T, s *trio) {
	const lease = 900 * time.Millisecond
	links := s.dial(t)
	asked := time.Now()
	l := lockNow(t, s.lock(t, links, redislock.Options{TTL: lease}))
	granted := time.Now()
	waitUntil(t, "all have the key", func() bool { return s.count(t, 0, 1, 2) == 3 })
	links[0].stall.Store(true)
	links[1].stall.Store(true)
	waitUntil(t, "the third is renewed", func() bool { return time.Since(asked) > lease*2/3 })
	if until, _ := l.Deadline(); until.After(granted.Add(lease)) {
		t.Errorf("the deadline is %v after the grant, with a lease of %v of which most was not renewed", until.Sub(granted), lease)
	}
	requireDone(t, l)
	if took := time.Since(granted); took > lease+lease/2 {
		t.Errorf("Done is closed %v after the grant", took)
	}
	links[0].stall.Store(false)
	links[1].stall.Store(false)
	requireLost(t, l)
	s.free(t, 0, 1, 2)
}

// blackHole returns the address of a server that never answers, and its number of connections.
func blackHole(t *testing.T) (addr string, dialed *atomic.Int64) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	requireNoError(t, err)
	dialed = new(atomic.Int64)
	var work sync.WaitGroup
	work.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			dialed.Add(1)
			work.Go(func() { defer c.Close(); io.Copy(io.Discard, c) })
		}
	})
	t.Cleanup(func() { l.Close(); work.Wait() })
	return l.Addr().String(), dialed
}

// redlockHung: a hung server costs contenders its detection once, not once for each vote.
func redlockHung(t *testing.T, s *trio) {
	const contenders, times, most = 4, 20, patience / 2
	addr, _ := blackHole(t)
	began := time.Now()
	var all sync.WaitGroup
	var inside atomic.Int32
	for range contenders {
		links := s.dial(t)
		m := s.lock(t, links, redislock.Options{})
		links[2].redirect(addr)
		all.Go(func() {
			lockRepeatedly(t, m, 1, times, func(*redislock.Lease) {
				if inside.Add(1) > 1 {
					t.Error("two are inside")
				}
				time.Sleep(500 * time.Microsecond)
				inside.Add(-1)
			})
		})
	}
	all.Wait()
	if took := time.Since(began); took > most {
		t.Errorf("%d acquisitions took %v", contenders*times, took)
	}
	// An attempt may have set the key on that server.
	ended, end := context.WithCancel(t.Context())
	end()
	if err := s.clients[2].Shutdown(ended); !strings.Contains(fmt.Sprint(err), s.key) {
		t.Errorf("Shutdown = %v, which does not name the key", err)
	}
}

func redlockBack(t *testing.T, s *trio) {
	links := s.dial(t)
	m := s.lock(t, links, redislock.Options{})
	s.warm(t, m)
	addr, dialed := blackHole(t)
	links[1].redirect(addr)
	for range 20 {
		unlockLease(t, lockNow(t, m))
		time.Sleep(redislock.DefaultAnswer / 4) // or all are over before the time for an answer
	}
	if n := dialed.Load(); n > 10 {
		t.Errorf("20 acquisitions took %d connections to a server that hangs", n)
	}
	links[1].redirect("")
	s.warm(t, m)
}
