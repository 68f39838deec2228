package redislock_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	locks "locklab/lock"
	"locklab/redislock"
)

// TestClose: Shutdown leaves no lock and no place in a queue. Close leaves no place, and a held lock
// to its lease. Both end the leases and the waiters of every kind.
func TestClose(t *testing.T) {
	r := startSingle(t)
	admin := r.admin(t)
	var work sync.WaitGroup
	for kind, make := range kinds {
		for _, shutdown := range []bool{true, false} {
			work.Go(func() {
				what := fmt.Sprintf("%s, Shutdown: %t", kind, shutdown)
				c, other, kept, taken := r.client(t), r.client(t), newName(), newName()
				held := lockNow(t, make(c, kept, redislock.Options{TTL: time.Hour}))
				others := lockNow(t, make(other, taken, redislock.Options{TTL: time.Hour}))
				m := make(c, taken, redislock.Options{TTL: time.Hour})
				failed, waits := waitTwice(t, m)
				<-waits
				ctx, cancel := context.WithTimeout(t.Context(), patience)
				defer cancel()
				end := c.Close
				if shutdown {
					end = func() error { return c.Shutdown(ctx) }
				}
				if err := end(); err != nil {
					t.Errorf("%s: %v", what, err)
				}
				if err := c.Shutdown(ctx); shutdown != (err == nil) || err != nil && !strings.Contains(err.Error(), kept+" was not given back") {
					t.Errorf("%s: Shutdown of a closed client = %v", what, err)
				}
				requireOver(t, what, held)
				if err := held.Err(); !errors.Is(err, redislock.ErrLost) || !errors.Is(err, redislock.ErrClosed) {
					t.Errorf("%s: Err = %v, want ErrLost and ErrClosed", what, err)
				}
				if free := len(leftOf(t, admin, kept)) == 0; free != shutdown {
					t.Errorf("%s: the lock is free: %t", what, free)
				}
				_, late := m.Lock(ctx)
				for _, err := range []error{<-failed, <-failed, late} {
					if !errors.Is(err, redislock.ErrClosed) {
						t.Errorf("%s: Lock = %v, want ErrClosed", what, err)
					}
				}
				if shutdown && queueOf(t, admin, taken) {
					t.Errorf("%s: a place is left in the queue", what)
				}
				waitUntil(t, what+": no place is left in the queue", func() bool { return !queueOf(t, admin, taken) })
				if err := held.Unlock(ctx); !errors.Is(err, redislock.ErrNotHeld) {
					t.Errorf("%s: Unlock = %v", what, err)
				}
				unlockLease(t, others)
				wantFree(t, admin, taken)
			})
		}
	}
	work.Wait()
}

// waitTwice starts two failing Locks of m, and returns their errors and that one has asked.
func waitTwice(t *testing.T, m redislock.Lockable) (failed <-chan error, waits <-chan struct{}) {
	errs, queued := make(chan error, 2), make(chan struct{})
	first := sync.OnceFunc(func() { close(queued) })
	ctx := redislock.WithTrace(t.Context(), &redislock.Trace{Queued: func(locks.QueuedInfo) { first() }, Answered: func(locks.AnsweredInfo) { first() }})
	for range 2 {
		go func() {
			_, err := m.Lock(ctx)
			errs <- err
		}()
	}
	return errs, queued
}

// TestShutdownDuringUnlock: Shutdown waits for an Unlock that is ending its lease, and lets it
// repeat its request.
func TestShutdownDuringUnlock(t *testing.T) {
	at := runParallel(t)
	for kind, open := range lockables() {
		rdb, name, shut := dialServer(t, at), newKey(), make(chan error, 1)
		var c *redislock.Client
		var unlocking atomic.Bool
		c = redislock.NewClient(rdb.client, redislock.WithSuspends(redislock.ClientOptions{}, func() time.Duration {
			if unlocking.Swap(false) {
				go func() { shut <- c.Shutdown(context.WithoutCancel(t.Context())) }()
				waitUntil(t, "Shutdown waits or has closed the client", func() bool {
					begun, tasks, closed := redislock.ShutdownOf(c)
					return begun && tasks > 0 || closed
				})
				rdb.lose.Store(1)
			}
			return 0
		}))
		l := lockNow(t, open(c, name, redislock.Options{TTL: time.Hour}))
		unlocking.Store(true)
		if err := l.Unlock(t.Context()); err != nil && !errors.Is(err, redislock.ErrNotHeld) {
			t.Errorf("%s: %v", kind, err)
		}
		if err := <-shut; err != nil || len(leftOf(t, rdb.client, name)) > 0 {
			t.Errorf("%s: Shutdown = %v; left: %v", kind, err, leftOf(t, rdb.client, name))
		}
	}
}

// TestRevokeDuringUnlock: Shutdown leaves the parts of a Multi to an Unlock that has begun.
func TestRevokeDuringUnlock(t *testing.T) {
	rdb := dialServer(t, runParallel(t))
	c, name := newClient(t, rdb), newKey()
	l := lockNow(t, c.Multi([]string{name, name + "2"}, redislock.Options{}))
	rdb.client.AddHook(beforeCommand([]string{"evalsha"}, func() {
		redislock.RevokeAll(c)
		waitUntil(t, "only Unlock runs", func() bool { _, tasks, _ := redislock.ShutdownOf(c); return tasks == 1 })
	}))
	unlockLease(t, l)
}

// TestShutdownDuringGrant: Shutdown may give a lock back before Lock returns it. The race
// detector checks that the two do not share a field of the lease.
func TestShutdownDuringGrant(t *testing.T) {
	rdb := dialServer(t, runParallel(t), func(o *redis.Options) { o.ContextTimeoutEnabled = true })
	c, shut := newClient(t, rdb), make(chan error)
	l := lockNow(t, traced{c.Mutex(newKey(), redislock.Options{}), &redislock.Trace{Granted: func(locks.GrantedInfo) {
		rdb.stall.Store(true)
		go func() { shut <- c.Shutdown(context.WithoutCancel(t.Context())) }()
		time.Sleep(100 * time.Millisecond) // anything else may synchronize the two
	}}})
	rdb.stall.Store(false)
	expectNoError(t, <-shut)
	requireOver(t, "Shutdown", l)
}

// TestShutdownNames: Shutdown with an expired context names a lock whose Unlock has ended the
// lease without a request yet, and a lock that the server grants after the client has closed. Without
// an end it gives back a lock that the server has granted to a Lock in progress.
func TestShutdownNames(t *testing.T) {
	at := runParallel(t)
	admin := dialServer(t, at).client
	expired, cancel := context.WithCancel(t.Context())
	cancel()
	for kind, open := range lockables() {
		unlocking, name := newClient(t, dialServer(t, at)), newKey()
		redislock.BeginUnlock(lockNow(t, open(unlocking, name, redislock.Options{})))
		requireNamed(t, kind+", Unlock", unlocking.Shutdown(expired), name)

		for _, end := range []context.Context{expired, context.WithoutCancel(t.Context())} {
			rdb, shut := dialServer(t, at), make(chan error, 1)
			c, granted := newClient(t, rdb), newKey()
			first := lockNow(t, c.PollMutex(newKey(), redislock.PollOptions{})) // it ends when Shutdown gives back what is held
			rdb.client.AddHook(hook(func(ctx context.Context, cmd redis.Cmder, next redis.ProcessHook) error {
				err := next(ctx, cmd)
				if begun, _, _ := redislock.ShutdownOf(c); !begun && len(leftOf(t, admin, granted)) > 0 {
					go func() { shut <- c.Shutdown(end) }()
					<-first.Done()
					waitUntil(t, "the client is closed", func() bool { _, _, closed := redislock.ShutdownOf(c); return closed || end != expired })
				}
				return err
			}))
			_, err := open(c, granted, redislock.Options{}).Lock(t.Context())
			if end == expired {
				requireNamed(t, kind+", Lock", <-shut, granted)
			} else if failed, left := <-shut, leftOf(t, admin, granted); failed != nil || len(left) > 0 {
				t.Errorf("%s: Shutdown during a Lock = %v; left: %v", kind, failed, left)
			}
			if end == expired && !errors.Is(err, redislock.ErrClosed) {
				t.Errorf("%s: Lock = %v, want ErrClosed", kind, err)
			}
		}
	}
}

func requireNamed(t *testing.T, what string, err error, name string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), name+" was not given back") {
		t.Errorf("%s: Shutdown = %v, want one that names %s", what, err, name)
	}
}

func TestShutdownUnanswered(t *testing.T) {
	t.Parallel()
	for _, wait := range []time.Duration{0, 200 * time.Millisecond, unlockWait + 500*time.Millisecond} {
		r := startAll(t, deployments[0])[0]
		c, held := r.client(t), make(map[string]*redislock.Lease)
		for kind, make := range kinds {
			for _, name := range []string{kind + newName(), kind + newName() + "unlocking"} {
				held[name] = lockNow(t, make(c, name, redislock.Options{}))
			}
		}
		requireNoError(t, r.Stop())
		for name, l := range held {
			if strings.HasSuffix(name, "unlocking") {
				go l.Unlock(t.Context())
				requireDone(t, l)
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), wait)
		defer cancel()
		err := c.Shutdown(ctx)
		if text := fmt.Sprint(err); strings.Contains(text, context.Canceled.Error()) || wait > 0 && !strings.Contains(text, "connection refused") {
			t.Errorf("Shutdown = %v, want why each was not given back", err)
		}
		for name, l := range held {
			requireNamed(t, "no server", err, name)
			requireOver(t, "after Shutdown", l)
		}
	}
}

// TestCloseStuck: Close returns even if the client library never returns from a request.
func TestCloseStuck(t *testing.T) {
	t.Parallel()
	addr, dialed := blackHole(t)
	rdb := redis.NewClient(&redis.Options{Addr: addr, ReadTimeout: -1, DialTimeout: time.Millisecond, MaxRetries: -1})
	defer rdb.Close()
	c := redislock.NewClient(rdb, redislock.ClientOptions{})
	go c.Mutex(newName(), redislock.Options{}).Lock(t.Context())
	waitUntil(t, "it asks", func() bool { return dialed.Load() > 0 })
	closed := make(chan error)
	go func() { closed <- c.Close() }()
	select {
	case err := <-closed:
		if err == nil || !strings.Contains(err.Error(), "ReadTimeout") {
			t.Errorf("Close = %v, want what to do", err)
		}
	case <-time.After(patience):
		t.Error("Close does not return")
	}
}

type drainRun struct {
	kind  lockKind
	name  string
	locks []tryLocker // one for each client
	times atomic.Int32
}

// TestDrain: after random faults no lock of any kind is free while it has waiters.
func TestDrain(t *testing.T) {
	r := startAll(t, deployments[0])[0]
	const window = 1500 * time.Millisecond
	admin := r.connect(t)
	var runs []*drainRun
	for _, k := range lockKinds {
		d := &drainRun{kind: k, name: newName()}
		for range 2 {
			d.locks = append(d.locks, k.make(r.client(t), d.name, redislock.Options{TTL: 2 * time.Second, HandoffTimeout: 100 * time.Millisecond}))
		}
		runs = append(runs, d)
	}
	ctx, cancel := context.WithTimeout(t.Context(), window)
	defer cancel()
	var all sync.WaitGroup
	all.Go(func() { // connections break, all at once
		for ctx.Err() == nil {
			time.Sleep(window / 8)
			admin.ClientKillByFilter(t.Context(), "TYPE", []string{"normal", "pubsub"}[rand.IntN(2)], "SKIPME", "yes")
		}
	})
	for _, d := range runs {
		for i := range 4 {
			all.Go(func() {
				for ctx.Err() == nil {
					d.step(t, d.locks[i%2])
				}
			})
		}
	}
	all.Wait()
	for _, d := range runs {
		began := time.Now()
		waitUntil(t, d.kind.name+": nothing is left", func() bool { return len(leftOf(t, admin, d.name)) == 0 })
		t.Logf("%s: %d acquisitions; drained %v later", d.kind.name, d.times.Load(), time.Since(began))
		if d.times.Load() < 5 {
			t.Errorf("%s: hardly anything happened", d.kind.name)
		}
	}
}

func (d *drainRun) step(t *testing.T, m tryLocker) {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if rand.IntN(4) == 0 {
		ctx, cancel = context.WithTimeout(ctx, rand.N(10*time.Millisecond))
		defer cancel()
	}
	began := time.Now()
	l, err := m.Lock(ctx)
	if err != nil {
		if time.Since(began) > patience/2 {
			t.Errorf("%s: a waiter was stuck: %v", d.kind.name, err)
		}
		return
	}
	time.Sleep(time.Millisecond)
	d.times.Add(1)
	l.Unlock(ctx) // it may have been lost with its connection
}

func queueOf(t *testing.T, rdb redis.UniversalClient, name string) bool {
	return slices.ContainsFunc(keysOf(t, rdb, name), func(key string) bool { return strings.HasSuffix(key, "~queue") })
}
