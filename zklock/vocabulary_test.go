package zklock_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"locklab/harness"
	"locklab/zklock"
)

// lockables are all kinds of lock, with a limit to how long their Lock waits.
func lockables(c *zklock.Client, path string, wait time.Duration) map[string]zklock.Lockable {
	o := zklock.Options{Wait: wait}
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
		"cohort":       c.Cohort(path+"/cohort", zklock.CohortOptions{Wait: wait}),
	}
}

// TestVocabulary: what is promised of every kind of lock.
func TestVocabulary(t *testing.T) {
	t.Parallel()
	atOnce(t, endpoint(t), []serverTest{
		{"wait", waitsNoLonger},
		{"do", doesEveryKind},
		{"elect", electsAgain},
	})
}

func waitsNoLonger(t *testing.T, at harness.Endpoint) {
	holder, waiter, path := dial(t, at, zklock.ClientOptions{}), dial(t, at, zklock.ClientOptions{}), newPath()
	mine, bad := lockables(waiter, path, 30*time.Millisecond), lockables(waiter, path, -1)
	for name, theirs := range lockables(holder, path, 0) {
		if name == "reader" {
			theirs = holder.RWMutex(path+"/rw", zklock.Options{}) // readers do not wait for one another
		}
		held := grab(t, theirs.Lock)
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		_, err := mine[name].Lock(ctx)
		if !errors.Is(err, zklock.ErrNotAcquired) || !errors.Is(err, context.DeadlineExceeded) || ctx.Err() != nil {
			t.Errorf("%s: Lock with a Wait = %v, want ErrNotAcquired and DeadlineExceeded", name, err)
		}
		short, stop := context.WithTimeout(ctx, time.Millisecond)
		if _, err := mine[name].Lock(short); errors.Is(err, zklock.ErrNotAcquired) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s: Lock whose context ends first = %v, want DeadlineExceeded only", name, err)
		}
		stop()
		if _, err := bad[name].Lock(ctx); !errors.Is(err, zklock.ErrUsage) {
			t.Errorf("%s: Lock with a negative Wait = %v, want ErrUsage", name, err)
		}
		unlock(t, held)
		unlock(t, grab(t, mine[name].Lock)) // and no waiter is in the way
		cancel()
	}
}

func doesEveryKind(t *testing.T, at harness.Endpoint) {
	c, path := dial(t, at, zklock.ClientOptions{}), newPath()
	paths := map[string]string{
		"mutex": "", "owner": "/reentrant", "reentrant": "/reentrant", "writer": "/rw", "reader": "/rw",
		"writer owner": "/rw", "semaphore": "/semaphore", "semaphore v2": "/v2", "multi": "/m/b", "cohort": "/cohort",
	}
	for name, m := range lockables(c, path, 0) {
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

// electsAgain: a leader whose ticket is removed leads again, in a term of its own.
func electsAgain(t *testing.T, at harness.Endpoint) {
	c, see := dial(t, at, zklock.ClientOptions{SessionTimeout: time.Second}), raw(t, at)
	m := c.Mutex(newPath(), zklock.Options{})
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var tokens []uint64
	err := zklock.Elect(ctx, m, func(ctx context.Context, l *zklock.Lease) error {
		tokens = append(tokens, l.Token())
		if len(tokens) == 1 {
			if err := see.Delete(zklock.Node(l), -1); err != nil {
				t.Error(err)
			}
			<-ctx.Done()
			return errors.New("the first term is over")
		}
		return nil
	})
	if err != nil || len(tokens) != 2 || tokens[1] <= tokens[0] {
		t.Errorf("Elect = %v, after terms with the tokens %d", err, tokens)
	}
}
