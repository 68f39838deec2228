package redislock_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"locklab/redislock"
)

// TestMaxHold: a stuck holder loses the lock when MaxHold is over, and the next has it.
func TestMaxHold(t *testing.T) {
	at := runParallel(t)
	const most = 200 * time.Millisecond
	for kind, lock := range lockables() {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			c, other, name := newClient(t, dial(t, at)), newClient(t, dial(t, at)), newKey()
			ctx, cancel := context.WithTimeout(t.Context(), patience) // shorter than the lease
			defer cancel()
			m := lock(c, name, redislock.Options{MaxHold: most})
			for range 2 { // in time
				l, err := m.Lock(ctx)
				requireNoError(t, err)
				if until, ok := l.Deadline(); !ok || time.Until(until) > most {
					t.Errorf("the deadline is in %v, %t; want %v at most", time.Until(until), ok, most)
				}
				unlock(t, l)
			}
			began := time.Now()
			stuck, err := m.Lock(ctx)
			requireNoError(t, err)
			rival := lock(other, name, redislock.Options{})
			if kind == "RLocker" {
				rival = other.RWMutex(name, redislock.Options{})
			}
			next, err := rival.Lock(ctx)
			if err != nil {
				t.Fatalf("a rival does not get the lock: %v; its holder: %v", err, stuck.Err())
			}
			defer unlock(t, next)
			if took := time.Since(began); took < most {
				t.Errorf("the rival has the lock after %v of %v", took, most)
			}
			for what, err := range map[string]error{"Err": stuck.Err(), "Unlock": stuck.Unlock(ctx)} {
				if !errors.Is(err, redislock.ErrLost) || !strings.Contains(err.Error(), "MaxHold") || errors.Is(err, redislock.ErrNotHeld) != (what == "Unlock") {
					t.Errorf("%s = %v, want one that says that MaxHold is over", what, err)
				}
			}
			if err := stuck.Unlock(ctx); !errors.Is(err, redislock.ErrNotHeld) {
				t.Errorf("the second Unlock = %v, want ErrNotHeld", err)
			}
			select {
			case <-stuck.Done():
			default:
				t.Error("Done is open")
			}
		})
	}
}
