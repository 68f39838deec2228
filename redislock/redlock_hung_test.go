package redislock_test

import (
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"locklab/redislock"
)

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
	addr, dialed := blackHole(t)
	began := time.Now()
	var all sync.WaitGroup
	var inside atomic.Int32
	for range contenders {
		links := s.dial(t)
		m := s.lock(t, links, redislock.Options{})
		links[2].redirect(addr)
		all.Go(func() {
			for n := range times {
				l, err := m.Lock(t.Context())
				if err != nil {
					t.Error(err)
					return
				}
				if inside.Add(1) > 1 {
					t.Error("two are inside")
				}
				time.Sleep(500 * time.Microsecond)
				inside.Add(-1)
				expectNoError(t, l.Unlock(t.Context()))
				if time.Since(began) > most {
					t.Errorf("%d acquisitions of %d within %v", n+1, times, most)
					return
				}
				time.Sleep(time.Millisecond)
			}
		})
	}
	all.Wait()
	t.Logf("%d acquisitions in %v; the server that hangs had %d connections", contenders*times, time.Since(began), dialed.Load())
}

func redlockBack(t *testing.T, s *trio) {
	links := s.dial(t)
	m := s.lock(t, links, redislock.Options{})
	s.warm(t, m)
	addr, dialed := blackHole(t)
	links[1].redirect(addr)
	for range 20 {
		unlock(t, lock(t, m))
	}
	if n := dialed.Load(); n > 10 {
		t.Errorf("20 acquisitions took %d connections to a server that hangs", n)
	}
	links[1].redirect("")
	eventually(t, "all have the key again", func() bool {
		l := lock(t, m)
		defer unlock(t, l)
		for end := time.Now().Add(50 * time.Millisecond); time.Now().Before(end); time.Sleep(time.Millisecond) {
			if s.count(t, 0, 1, 2) == 3 {
				return true
			}
		}
		return false
	})
	s.free(t, 0, 1, 2)
}
