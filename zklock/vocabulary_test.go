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

func lockables(c *zklock.Client, path string, o zklock.Options) map[string]zklock.Lockable {
	return map[string]zklock.Lockable{
		"mutex":        c.Mutex(path, o),
		"owner":        c.Reentrant(path+"/reentrant", zklock.ReentrantOptions{Options: o}).Owner(),
		"reentrant":    c.Reentrant(path+"/reentrant", zklock.ReentrantOptions{Options: o, Ownership: zklock.ByClient}),
		"writer":       c.RWMutex(path+"/rw", o),
		"reader":       c.RWMutex(path+"/rw", o).RLocker(),
		"writer owner": c.RWMutex(path+"/rw", o).Owner(),
		"semaphore":    c.Semaphore(path+"/semaphore", 1, o),
		"semaphore v2": c.SemaphoreV2(path+"/v2", 1, o),
		"multi":        c.Multi([]string{path + "/m/b", path + "/m/a"}, zklock.MultiOptions{Options: o}),
		"cohort":       c.Cohort(path+"/cohort", zklock.CohortOptions{Wait: o.Wait, MaxHold: o.MaxHold}),
	}
}

func TestVocabulary(t *testing.T) {
	t.Parallel()
	atOnce(t, endpoint(t), []serverTest{
		{"wait", waitsNoLonger},
		{"do", doesEveryKind},
		{"max hold", outstays},
	})
}

func waitsNoLonger(t *testing.T, at harness.Endpoint) {
	holder, waiter, path := dial(t, at, zklock.ClientOptions{}), dial(t, at, zklock.ClientOptions{}), newPath()
	mine, bad := lockables(waiter, path, zklock.Options{Wait: 30 * time.Millisecond}), lockables(waiter, path, zklock.Options{Wait: -1})
	patient := lockables(waiter, path, zklock.Options{}) // 30 ms is short on a busy machine
	for name, theirs := range lockables(holder, path, zklock.Options{}) {
		if name == "reader" {
			theirs = holder.RWMutex(path+"/rw", zklock.Options{}) // readers do not wait for one another
		}
		held := acquire(t, theirs.Lock)
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		_, err := mine[name].Lock(ctx)
		if !errors.Is(err, zklock.ErrNotAcquired) || !errors.Is(err, context.DeadlineExceeded) || ctx.Err() != nil {
			t.Errorf("%s: Lock with a Wait = %v, want ErrNotAcquired and DeadlineExceeded", name, err)
		}
		short, stop := context.WithTimeout(ctx, time.Millisecond)
		if _, err := mine[name].Lock(short); !errors.Is(err, zklock.ErrNotAcquired) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s: Lock whose context ends first = %v, want ErrNotAcquired and DeadlineExceeded", name, err)
		}
		stop()
		if _, err := bad[name].Lock(ctx); !errors.Is(err, zklock.ErrUsage) {
			t.Errorf("%s: Lock with a negative Wait = %v, want ErrUsage", name, err)
		}
		unlock(t, held)
		unlock(t, acquire(t, patient[name].Lock)) // and no waiter is in the way
		cancel()
	}
}

func doesEveryKind(t *testing.T, at harness.Endpoint) {
	c, path := dial(t, at, zklock.ClientOptions{}), newPath()
	paths := map[string]string{
		"mutex": "", "owner": "/reentrant", "reentrant": "/reentrant", "writer": "/rw", "reader": "/rw",
		"writer owner": "/rw", "semaphore": "/semaphore", "semaphore v2": "/v2", "multi": "/m/b", "cohort": "/cohort",
	}
	for name, m := range lockables(c, path, zklock.Options{}) {
		ran := false
		err := zklock.Do(t.Context(), m, func(ctx context.Context, l *zklock.Lease) error {
			ran = true
			if token := l.TokenOf(path + paths[name]); token == 0 || name != "multi" && token != l.Token() {
				t.Errorf("%s: TokenOf its path is %d, and Token %d", name, token, l.Token())
			}
			if token := l.TokenOf(path + "/other"); token != 0 {
				t.Errorf("%s: the token of another path is %d", name, token)
			}
			return ctx.Err()
		})
		if err != nil || !ran {
			t.Errorf("%s: Do = %v, and f has run: %v", name, err, ran)
		}
		k := zklock.Locker(m)
		k.Lock()
		ran = false
		k.Unlock()
	}
}

// outstays: a stuck holder loses the lock when MaxHold is over, and the next one has it.
func outstays(t *testing.T, at harness.Endpoint) {
	const most = 100 * time.Millisecond
	c, other, path := dial(t, at, zklock.ClientOptions{}), dial(t, at, zklock.ClientOptions{}), newPath()
	limited, bad := lockables(c, path, zklock.Options{MaxHold: most}), lockables(c, path, zklock.Options{MaxHold: -1})
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for name, rival := range lockables(other, path, zklock.Options{}) {
		if name == "reader" {
			rival = other.RWMutex(path+"/rw", zklock.Options{}) // readers do not wait for one another
		}
		m := limited[name]
		inTime := acquire(t, m.Lock)
		if until, ok := inTime.Deadline(); !ok || time.Until(until) > most {
			t.Errorf("%s: the deadline is in %v, %t; want %v at most", name, time.Until(until), ok, most)
		}
		if err := inTime.Unlock(ctx); err != nil && !strings.Contains(err.Error(), "MaxHold") { // a slow machine
			t.Errorf("%s: Unlock in time = %v", name, err)
		}
		began := time.Now()
		stuck := acquire(t, m.Lock)
		next := acquire(t, rival.Lock)
		if took := time.Since(began); took < most {
			t.Errorf("%s: the rival has the lock after %v of %v", name, took, most)
		}
		<-stuck.Done()
		for what, err := range map[string]error{"Err": stuck.Err(), "Unlock": stuck.Unlock(ctx)} {
			if !errors.Is(err, zklock.ErrLost) || !strings.Contains(err.Error(), "MaxHold") || errors.Is(err, zklock.ErrNotHeld) != (what == "Unlock") {
				t.Errorf("%s: %s = %v, want one that says that MaxHold is over", name, what, err)
			}
		}
		if err := stuck.Unlock(ctx); !errors.Is(err, zklock.ErrNotHeld) || errors.Is(err, zklock.ErrLost) {
			t.Errorf("%s: the second Unlock = %v, want ErrNotHeld", name, err)
		}
		unlock(t, next)
		if _, err := bad[name].Lock(ctx); !errors.Is(err, zklock.ErrUsage) {
			t.Errorf("%s: Lock with a negative MaxHold = %v, want ErrUsage", name, err)
		}
		unlock(t, acquire(t, rival.Lock)) // the queue is whole
	}
}
