package redislock_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"locklab/harness"
	"locklab/harness/locktest"
	"locklab/internal/leaktest"
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

// TestElect: a leader that loses the lock leads again; then Elect returns its result.
func TestElect(t *testing.T) {
	at := locktest.Endpoint(t, harness.KindRedis)
	leaktest.Own(t)
	watch, name := dial(t, at), newKey()
	m := newClient(t, dial(t, at)).Mutex(name, redislock.Options{TTL: 150 * time.Millisecond})
	terms, failed := 0, errors.New("failed")
	var tokens []uint64
	err := redislock.Elect(t.Context(), m, func(ctx context.Context, l *redislock.Lease) error {
		terms, tokens = terms+1, append(tokens, l.Token())
		if terms < 3 {
			watch.Del(t.Context(), name)
			<-ctx.Done()
			if err := context.Cause(ctx); !errors.Is(err, redislock.ErrLost) {
				t.Errorf("the cause of the end of a term is %v, want ErrLost", err)
			}
			return []error{nil, failed}[terms-1]
		}
		return failed
	})
	if err != failed || terms != 3 || tokens[0] >= tokens[1] || tokens[1] >= tokens[2] {
		t.Errorf("Elect = %v after %d terms with tokens %v; want %v after 3", err, terms, tokens, failed)
	}
	if owner(t, watch, name) != "" {
		t.Error("the lock is still held")
	}
}
