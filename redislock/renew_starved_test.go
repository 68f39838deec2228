package redislock_test

import (
	"context"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"locklab/harness"
	locks "locklab/lock"
	"locklab/redislock"
)

const starvedLease = 3 * time.Second

const starvedPool = 2

// TestRenewalAlone: no lease is lost, whatever else is disabled for three leases.
func TestRenewalAlone(t *testing.T) {
	at := runParallel(t)
	var all sync.WaitGroup
	for _, test := range []struct {
		name string
		anew bool // in effect from the next renewal
		take func(t *testing.T, s *starved)
	}{
		{"nothing", false, func(*testing.T, *starved) {}},
		{"the lock of the mailboxes", false, func(t *testing.T, s *starved) { t.Cleanup(redislock.HoldMailboxes(s.Client)) }},
		{"what is told of renewals", false, func(_ *testing.T, s *starved) { s.deaf.Store(true) }},
		{"the connection that listens", false, listenerSilent},
		{"the answer to another release", false, releaseUnanswered},
		{"connections in use", true, connectionsUsed},
		{"connections, while they are made", true, dialsHang},
	} {
		all.Go(func() {
			t.Run(test.name, func(t *testing.T) {
				s := newStarved(t, at)
				test.take(t, s)
				if n := s.renewed.Load(); test.anew { // one may be on its way
					eventually(t, "the lease is renewed", func() bool { return s.renewed.Load() > n || s.l.Err() != nil })
				}
				s.taken.Store(true)
				for end := time.Now().Add(3 * starvedLease); time.Now().Before(end) && s.l.Err() == nil; {
					time.Sleep(5 * time.Millisecond)
				}
				expectNoError(t, s.l.Err())
				if n := s.renewed.Load(); n < 6 {
					t.Errorf("%d renewals in three leases, want 6 at least", n)
				}
			})
		})
	}
	all.Wait()
}

// starved is a client with a lease that the test deprives of something.
type starved struct {
	passThrough
	*peer
	l *redislock.Lease

	taken   atomic.Bool            // something is disabled
	run     context.Context        // ends when it is enabled again
	renewed atomic.Int32           // reported renewals
	deaf    atomic.Bool            // the trace's callback does not return
	mute    atomic.Pointer[string] // requests for the lock with that name are not sent
	hangs   atomic.Bool            // the client library cannot connect
	hung    atomic.Int32           // pending connections
}

func newStarved(t *testing.T, at harness.Endpoint) *starved {
	run, end := context.WithCancel(context.Background())
	s := &starved{run: run}
	s.peer = newPeer(t, at, func(o *redis.Options) { o.PoolSize, o.ContextTimeoutEnabled = starvedPool, true })
	s.link.AddHook(s)
	t.Cleanup(end) // before the client closes
	requireNoError(t, redislock.LoadQueueScripts(t.Context(), s.link.Client))
	name := newKey()
	ctx := redislock.WithTrace(t.Context(), &redislock.Trace{
		RenewalFailed: func(e locks.RenewalFailedInfo) {
			if s.taken.Load() {
				t.Errorf("with %v left: %v", e.Left, e.Err)
			}
		},
		Renewed: func(locks.RenewedInfo) {
			s.renewed.Add(1)
			if s.deaf.Load() {
				<-s.run.Done()
			}
		},
	})
	var err error
	if s.l, err = s.Mutex(name, redislock.Options{TTL: starvedLease}).Lock(ctx); err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *starved) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		if s.hangs.Load() {
			s.hung.Add(1)
			<-s.run.Done()
		}
		return next(ctx, network, addr)
	}
}

func (s *starved) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if name := s.mute.Load(); name != nil && slices.Contains(cmd.Args(), any(*name)) {
			<-s.run.Done()
		}
		return next(ctx, cmd)
	}
}

func listenerSilent(t *testing.T, s *starved) {
	watch, key := s.mail, newKey()
	l := lock(t, s.Mutex(key, redislock.Options{}))
	w := enqueue(t, watch, s.Mutex(key, redislock.Options{}))
	s.mail.silence()
	t.Cleanup(func() { w.cancel(); l.Unlock(context.Background()) })
}

func releaseUnanswered(t *testing.T, s *starved) {
	key := newKey()
	l := lock(t, s.Mutex(key, redislock.Options{}))
	s.mute.Store(&key)
	go l.Unlock(context.Background())
}

// connectionsUsed: other requests use all connections, and two wait for one.
func connectionsUsed(t *testing.T, s *starved) {
	for range starvedPool + 2 {
		go func() {
			for s.run.Err() == nil {
				s.link.BLPop(context.Background(), time.Second, "nothing")
			}
		}()
	}
}

// dialsHang: all connections have broken, and all replacements are pending.
func dialsHang(t *testing.T, s *starved) {
	s.hangs.Store(true)
	s.link.cut()
	for range 2 * starvedPool {
		go func() {
			for s.run.Err() == nil {
				s.link.Ping(context.Background())
			}
		}()
	}
	eventually(t, "the connections are being made", func() bool { return s.hung.Load() >= starvedPool })
}
