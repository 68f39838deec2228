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

// TestShutdownDuringUnlock: Shutdown lets an Unlock in progress repeat its request.
func TestShutdownDuringUnlock(t *testing.T) {
	at := runParallel(t)
	for kind, open := range lockables() {
		rdb, name, shut := dialServer(t, at), newKey(), make(chan error)
		c := newClient(t, rdb)
		l := lockNow(t, open(c, name, redislock.Options{}))
		rdb.client.AddHook(beforeCommand([]string{"evalsha"}, func() {
			go func() { shut <- c.Shutdown(context.WithoutCancel(t.Context())) }()
			waitUntil(t, "Shutdown has begun", func() bool {
				_, err := c.PollMutex(newKey(), redislock.PollOptions{}).TryLock(t.Context())
				return errors.Is(err, redislock.ErrClosed)
			})
			rdb.lose.Store(1)
		}))
		if err := l.Unlock(t.Context()); err != nil && !errors.Is(err, redislock.ErrNotHeld) {
			t.Errorf("%s: %v", kind, err)
		}
		if err := <-shut; err != nil || len(leftOf(t, rdb.client, name)) > 0 {
			t.Errorf("%s: Shutdown = %v; left: %v", kind, err, leftOf(t, rdb.client, name))
		}
	}
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
			if err == nil || !strings.Contains(err.Error(), name+" was not given back") {
				t.Errorf("Shutdown = %v, want one that names %s", err, name)
			}
			requireOver(t, "after Shutdown", l)
		}
		if _, err := c.Mutex(newName(), redislock.Options{}).Lock(t.Context()); !errors.Is(err, redislock.ErrClosed) {
			t.Errorf("Lock = %v, want ErrClosed", err)
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
		if err := awaitDrained(t, admin, d.name, patience); err != nil {
			t.Errorf("%s: %v", d.kind.name, err)
		}
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

// awaitDrained waits until nothing is left of an unused lock. The error lists the rest.
func awaitDrained(t *testing.T, rdb redis.UniversalClient, name string, most time.Duration) error {
	for end := time.Now().Add(most); ; time.Sleep(5 * time.Millisecond) {
		left := leftOf(t, rdb, name)
		if len(left) == 0 {
			return nil
		}
		if time.Now().After(end) {
			held := slices.Contains(left, name)
			return fmt.Errorf("after %v %v is left; held: %t", most, left, held)
		}
	}
}

// TestDrainRejects: the check fails for a lock whose release forgets the waiters.
func TestDrainRejects(t *testing.T) {
	r := startAll(t, deployments[0])[0]
	admin := r.connect(t)
	for _, k := range lockKinds {
		if !k.fenced || k.name == "Cohort" {
			continue // no queue in the server, or another kind's
		}
		name := newName()
		lockNow(t, k.make(r.client(t), name, redislock.Options{}))
		ctx, leave := context.WithCancel(t.Context())
		failed := make(chan error, 1)
		second := k.make(r.client(t), name, redislock.Options{})
		go func() {
			_, err := second.Lock(ctx)
			failed <- err
		}()
		waitUntil(t, "there is a waiter", func() bool { return queueOf(t, admin, name) })
		time.Sleep(100 * time.Millisecond)           // it listens, and does not ask again
		for _, key := range keysOf(t, admin, name) { // a Multi has several
			if !strings.HasSuffix(key, "~queue") {
				admin.Del(t.Context(), key)
			}
		}
		if err := awaitDrained(t, admin, name, 200*time.Millisecond); err == nil {
			t.Errorf("%s: a lock that has a waiter is free, and the check does not see it", k.name)
		}
		leave()
		if err := <-failed; !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", k.name, err)
		}
	}
}

func queueOf(t *testing.T, rdb redis.UniversalClient, name string) bool {
	return slices.ContainsFunc(keysOf(t, rdb, name), func(key string) bool { return strings.HasSuffix(key, "~queue") })
}
