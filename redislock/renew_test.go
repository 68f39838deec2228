package redislock_test

import (
	"context"
	"errors"
	"fmt"
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

// TestSilence: dead connections do not use up a lease while new ones work.
func TestSilence(t *testing.T) {
	at := runParallel(t)
	rows := map[string]func(*testing.T){
		"nothing is silent": func(t *testing.T) { renewalCost(t, at) },
	}
	for _, prompt := range []bool{true, false} {
		tweak := func(o *redis.Options) { o.ContextTimeoutEnabled, o.MaxRetries, o.PoolSize = prompt, 3, 20 }
		for _, lease := range []time.Duration{2 * time.Second, 6 * time.Second, 30 * time.Second} {
			rows[fmt.Sprintf("renewal/prompt=%t/%v", prompt, lease)] = func(t *testing.T) { silentPool(t, at, lease, tweak) }
		}
		rows[fmt.Sprintf("grant/prompt=%t", prompt)] = func(t *testing.T) { silentGrant(t, at, tweak) }
		for kind, open := range kinds {
			if kind != "Redlock" { // for a Redlock a silent server refuses
				rows[fmt.Sprintf("lock and unlock/%s/prompt=%t", kind, prompt)] = func(t *testing.T) { silentLock(t, at, open, tweak) }
			}
		}
	}
	runConcurrently(t, len(rows), rows) // they mostly wait
}

// silentLock: all pooled connections are dead when the lock is taken, and when it is released.
func silentLock(t *testing.T, at harness.Endpoint, open func(*redislock.Client, string, redislock.Options) redislock.Lockable, tweak func(*redis.Options)) {
	p := newPeer(t, at, tweak)
	fillPool(t, p)
	m := open(p.Client, newKey(), redislock.Options{Wait: 8 * time.Second})
	p.link.silence()
	l := lockNow(t, m)
	// An owner sends one request at a time: one that ignores its context delays the second.
	if _, counts := m.(*redislock.Reentrant); counts && !p.link.client.Options().ContextTimeoutEnabled {
		if err := l.Unlock(t.Context()); !errors.Is(err, redislock.ErrUnanswered) {
			t.Errorf("Unlock = %v, want that the server has not answered", err)
		}
		return
	}
	unlockLease(t, l)
}

func silentPool(t *testing.T, at harness.Endpoint, lease time.Duration, tweak func(*redis.Options)) {
	if testing.Short() && lease > 10*time.Second {
		t.Skip("make test-all runs it")
	}
	p := newPeer(t, at, tweak)
	fillPool(t, p)
	l := lockNow(t, p.Mutex(newKey(), redislock.Options{TTL: lease}))
	p.link.silence()
	awaitRenewal(t, l)
	unlockLease(t, l) // probably by a dead connection
}

func fillPool(t *testing.T, p *peer) {
	const n = 12
	var all sync.WaitGroup
	for range n {
		all.Go(func() { p.client.BLPop(t.Context(), 300*time.Millisecond, "nothing") })
	}
	all.Wait()
	if open := len(p.link.open()); open < n {
		t.Fatalf("%d connections are open, want %d", open, n)
	}
}

func awaitRenewal(t *testing.T, l *redislock.Lease) {
	t.Helper()
	for first, _ := l.Deadline(); ; time.Sleep(5 * time.Millisecond) {
		if until, _ := l.Deadline(); until.After(first) {
			t.Logf("%v of the lease were left", time.Until(first).Round(time.Millisecond))
			return
		}
		if err := l.Err(); err != nil {
			t.Fatal("lost, though new connections work:", err)
		}
	}
}

// silentGrant: the pooled connections are dead when the lock is handed over, with a short grant.
func silentGrant(t *testing.T, at harness.Endpoint, tweak func(*redis.Options)) {
	watch, h, p := dialServer(t, at), newPeer(t, at), newPeer(t, at, tweak)
	o, key := redislock.Options{HandoffTimeout: 2 * time.Second}, newKey()
	held := lockNow(t, h.Mutex(key, o))
	w := enqueueWaiter(t, watch, p.Mutex(key, o))
	p.link.silence()
	unlockLease(t, held)
	l, _ := w.lease(t)
	awaitRenewal(t, l)
	unlockLease(t, l)
}

func renewalCost(t *testing.T, at harness.Endpoint) {
	p := newPeer(t, at)
	key := newKey()
	l := lockNow(t, p.Mutex(key, redislock.Options{TTL: 6 * time.Second}))
	before, dialled := p.counts(), p.link.dialled.Load()
	for range 2 {
		awaitRenewal(t, l)
	}
	if cost := p.counts() - before; cost != 2 && cost != 3 { // the server may not have the script
		t.Errorf("two renewals cost %d requests", cost)
	}
	if n := p.link.dialled.Load() - dialled; n > 0 {
		t.Errorf("two renewals opened %d connections", n)
	}
	unlockLease(t, l)
}

const starvedLease = 3 * time.Second

const starvedPool = 2

// TestRenewalAlone: no lease is lost, whatever else is disabled for three leases.
func TestRenewalAlone(t *testing.T) {
	at := runParallel(t)
	tests := make(map[string]func(*testing.T))
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
		tests[test.name] = func(t *testing.T) {
			s := newStarved(t, at)
			test.take(t, s)
			if n := s.renewed.Load(); test.anew { // one may be on its way
				waitUntil(t, "the lease is renewed", func() bool { return s.renewed.Load() > n || s.l.Err() != nil })
			}
			s.taken.Store(true)
			for end := time.Now().Add(3 * starvedLease); time.Now().Before(end) && s.l.Err() == nil; {
				time.Sleep(5 * time.Millisecond)
			}
			expectNoError(t, s.l.Err())
			if n := s.renewed.Load(); n < 6 {
				t.Errorf("%d renewals in three leases, want 6 at least", n)
			}
		}
	}
	runConcurrently(t, len(tests), tests)
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
	s.link.client.AddHook(s)
	t.Cleanup(end) // before the client closes
	requireNoError(t, redislock.LoadQueueScripts(t.Context(), s.link.client))
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
	s.l, err = s.Mutex(name, redislock.Options{TTL: starvedLease}).Lock(ctx)
	requireNoError(t, err)
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
	l := lockNow(t, s.Mutex(key, redislock.Options{}))
	w := enqueueWaiter(t, watch, s.Mutex(key, redislock.Options{}))
	s.mail.silence()
	t.Cleanup(func() { w.cancel(); l.Unlock(context.Background()) })
}

func releaseUnanswered(t *testing.T, s *starved) {
	key := newKey()
	l := lockNow(t, s.Mutex(key, redislock.Options{}))
	s.mute.Store(&key)
	go l.Unlock(context.Background())
}

// connectionsUsed: other requests use all connections, and two wait for one.
func connectionsUsed(t *testing.T, s *starved) {
	for range starvedPool + 2 {
		go func() {
			for s.run.Err() == nil {
				s.link.client.BLPop(context.Background(), time.Second, "nothing")
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
				s.link.client.Ping(context.Background())
			}
		}()
	}
	waitUntil(t, "the connections are being made", func() bool { return s.hung.Load() >= starvedPool })
}

// TestMargin: a cut-off holder's deadline is before the next grant, by the margin and drift.
func TestMargin(t *testing.T) {
	at := runParallel(t)
	tests := make(map[string]func(*testing.T))
	for i, k := range lockKinds {
		for j, o := range []redislock.Options{
			{TTL: 300 * time.Millisecond},
			{TTL: 1500 * time.Millisecond},
			{TTL: 4 * time.Second},
			{TTL: time.Second, Margin: 200 * time.Millisecond},
		} {
			tests[fmt.Sprintf("%s/%v,%v", k.name, o.TTL, o.Margin)] = func(t *testing.T) {
				if testing.Short() && (i+j)%4 != 0 {
					t.Skip("make test-all runs it")
				}
				checkMargin(t, at, k, o)
			}
		}
	}
	runConcurrently(t, 8, tests) // they wait most of the time
}

func checkMargin(t *testing.T, at harness.Endpoint, k lockKind, o redislock.Options) {
	want := o.Margin
	if want == 0 {
		want = min(redislock.DefaultMargin, o.TTL/10)
	}
	key := newKey()
	holder := newPeer(t, at)
	l := lockNow(t, k.make(holder.Client, key, o))
	got := beginLock(t, k.make(newPeer(t, at).Client, key, o))
	time.Sleep(o.TTL / 2) // it may have been renewed
	holder.die()
	until, _ := l.Deadline() // once Done has closed, it is no later than that
	<-l.Done()
	told := time.Now()
	next := takeLease(t, got)
	came := time.Now()
	unlockLease(t, next)
	t.Logf("the next one came %v after the deadline, %v after Done", came.Sub(until).Round(time.Millisecond), came.Sub(told).Round(time.Millisecond))
	if gap := came.Sub(until); gap < want {
		t.Errorf("the next one came %v after the deadline, want at least the margin of %v", gap, want)
	}
}
