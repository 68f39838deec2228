package redislock_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
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
				held := lock(t, make(c, kept, redislock.Options{TTL: time.Hour}))
				others := lock(t, make(other, taken, redislock.Options{TTL: time.Hour}))
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
				eventually(t, what+": no place is left in the queue", func() bool { return !queueOf(t, admin, taken) })
				if err := held.Unlock(ctx); !errors.Is(err, redislock.ErrNotHeld) {
					t.Errorf("%s: Unlock = %v", what, err)
				}
				unlock(t, others)
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

func TestShutdownUnanswered(t *testing.T) {
	r := startSingle(t)
	c, name := r.client(t), newName()
	var held []*redislock.Lease
	for kind, make := range kinds {
		held = append(held, lock(t, make(c, name+kind, redislock.Options{})))
	}
	refused := newName()
	requireNoError(t, r.Stop())
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	err := c.Shutdown(ctx)
	for kind := range kinds {
		if err == nil || !strings.Contains(err.Error(), name+kind+" was not given back") {
			t.Errorf("Shutdown = %v, want one that names the %s", err, kind)
		}
	}
	for _, l := range held {
		requireOver(t, "after Shutdown", l)
	}
	if _, err := c.Mutex(refused, redislock.Options{}).Lock(t.Context()); !errors.Is(err, redislock.ErrClosed) {
		t.Errorf("Lock = %v, want ErrClosed", err)
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
	eventually(t, "it asks", func() bool { return dialed.Load() > 0 })
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
