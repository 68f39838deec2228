package zklock_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"locklab/harness"
	"locklab/zklock"
)

func TestVocabulary(t *testing.T) {
	runParallel(t, []serverTest{
		{"wait", waitsNoLonger},
		{"do", doesEveryKind},
		{"max hold", outstays},
	})
}

func waitsNoLonger(t *testing.T, at harness.Endpoint) {
	holder, waiter := dial(t, at, zklock.ClientOptions{}), dial(t, at, zklock.ClientOptions{})
	for _, k := range kinds {
		path := newPath()
		mine := k.open(waiter, path, 1, zklock.Options{Wait: 30 * time.Millisecond})
		held := acquire(t, k.rival(holder, path).Lock)
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		_, err := mine.Lock(ctx)
		if !errors.Is(err, zklock.ErrNotAcquired) || !errors.Is(err, context.DeadlineExceeded) || ctx.Err() != nil {
			t.Errorf("%s: Lock with a Wait = %v, want ErrNotAcquired and DeadlineExceeded", k.name, err)
		}
		short, stop := context.WithTimeout(ctx, time.Millisecond)
		if _, err := mine.Lock(short); !errors.Is(err, zklock.ErrNotAcquired) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s: Lock whose context ends first = %v, want ErrNotAcquired and DeadlineExceeded", k.name, err)
		}
		stop()
		unlock(t, held)
		unlock(t, acquire(t, k.lock(waiter, path).Lock)) // no waiter is left; 30 ms is short on a busy machine
		cancel()
	}
}

func doesEveryKind(t *testing.T, at harness.Endpoint) {
	c, d := dial(t, at, zklock.ClientOptions{}), dial(t, at, zklock.ClientOptions{})
	for _, k := range kinds {
		path := newPath()
		m := k.lock(c, path)
		requireNoError(t, zklock.Do(t.Context(), m, func(_ context.Context, l *zklock.Lease) error {
			if token := l.TokenOf(k.path(path)); token == 0 || token != l.Token() || l.TokenOf(path+"/other") != 0 {
				t.Errorf("%s: TokenOf its path is %d, Token %d, and of another path %d", k.name, token, l.Token(), l.TokenOf(path+"/other"))
			}
			return nil
		}))
		locker := zklock.Locker(m)
		locker.Lock()
		expectError(t, lockError(t.Context(), k.rival(d, path).TryLock), zklock.ErrNotAcquired)
		locker.Unlock()
	}
}

// outstays: a stuck holder loses the lock when MaxHold is over, and the next one has it.
func outstays(t *testing.T, at harness.Endpoint) {
	const most = 100 * time.Millisecond
	c, other := dial(t, at, zklock.ClientOptions{}), dial(t, at, zklock.ClientOptions{})
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for _, k := range kinds {
		path := newPath()
		m, rival := k.open(c, path, 1, zklock.Options{MaxHold: most}), k.rival(other, path)
		inTime := acquire(t, m.Lock)
		if until, ok := inTime.Deadline(); !ok || time.Until(until) > most {
			t.Errorf("%s: the deadline is in %v, %t; want %v at most", k.name, time.Until(until), ok, most)
		}
		if err := inTime.Unlock(ctx); err != nil && !strings.Contains(err.Error(), "MaxHold") { // a slow machine
			t.Errorf("%s: Unlock in time = %v", k.name, err)
		}
		began := time.Now()
		stuck := acquire(t, m.Lock)
		next := acquire(t, rival.Lock)
		if took := time.Since(began); took < most {
			t.Errorf("%s: the rival has the lock after %v of %v", k.name, took, most)
		}
		err, unlocked, again := awaitEnd(t, stuck), stuck.Unlock(ctx), stuck.Unlock(ctx)
		expectError(t, err, zklock.ErrLost)
		expectError(t, unlocked, zklock.ErrLost, zklock.ErrNotHeld)
		expectError(t, again, zklock.ErrNotHeld)
		if !strings.Contains(err.Error(), "MaxHold") || !strings.Contains(unlocked.Error(), "MaxHold") || errors.Is(again, zklock.ErrLost) {
			t.Errorf("%s: Err = %v, Unlock = %v, and then %v, want MaxHold in the first two", k.name, err, unlocked, again)
		}
		unlock(t, next)
		unlock(t, acquire(t, rival.Lock)) // the queue is whole
	}
}
