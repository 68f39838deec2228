package redislock_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"locklab/internal/leaktest"
	"locklab/redislock"
)

// TestACLRights: each right of the documented user is needed, or an error comes at once.
func TestACLRights(t *testing.T) {
	t.Parallel()
	r := startAll(t, deployments[0])[0]
	rights := documentedACL(t)
	for _, right := range rights {
		if !strings.ContainsRune("+~&", rune(right[0])) {
			continue
		}
		t.Run(strings.ReplaceAll(right, ":*", ""), func(t *testing.T) {
			leaktest.Own(t)
			others := slices.DeleteFunc(slices.Clone(rights), func(r string) bool { return r == right })
			user := r.user(t, others)
			failed := 0
			// On a busy machine the second client may ask after the first has left, and then
			// needs no right to wait.
			for held := 20 * time.Millisecond; failed == 0 && held <= 2*time.Second; held *= 10 {
				requireNoError(t, r.connect(t).ScriptFlush(t.Context()).Err())
				for kind, err := range everyKind(t, user, held) {
					if err == nil {
						continue
					}
					failed++
					if text := err.Error(); !strings.HasPrefix(text, "redislock: ") || !strings.Contains(text, "rights that a user needs") || strings.Contains(text, "\n") {
						t.Errorf("%s without %s: %q, want one line that says what to do", kind, right, text)
					}
				}
			}
			if failed == 0 {
				t.Errorf("every lock works without %s", right)
			}
		})
	}
	t.Run("with all", func(t *testing.T) {
		for kind, err := range everyKind(t, r.user(t, rights), 20*time.Millisecond) {
			if err != nil {
				t.Errorf("%s: %v", kind, err)
			}
		}
	})
}

// TestACLForce: the documented user may unlock by force; another gets an error of one line.
func TestACLForce(t *testing.T) {
	t.Parallel()
	r := startAll(t, deployments[0])[0]
	rights := documentedACL(t)
	t.Run("with all", func(t *testing.T) {
		leaktest.Own(t)
		user, without := r.user(t, rights), []string(nil)
		for _, k := range lockKinds {
			if _, ok := k.make(user.client(t), newName(), calm).(forcer); !ok {
				without = append(without, k.name)
				continue
			}
			t.Run(k.name, func(t *testing.T) { forceAsUser(t, user, k) })
		}
		if !slices.Equal(without, []string{"multi"}) { // its parts have it
			t.Errorf("%q have no ForceUnlock", without)
		}
	})
	for _, right := range rights {
		if !strings.ContainsRune("+~&", rune(right[0])) {
			continue
		}
		t.Run(strings.ReplaceAll(right, ":*", ""), func(t *testing.T) {
			leaktest.Own(t)
			user := r.user(t, slices.DeleteFunc(slices.Clone(rights), func(r string) bool { return r == right }))
			requireNoError(t, r.connect(t).ScriptFlush(t.Context()).Err())
			for _, k := range lockKinds {
				forceWithout(t, r, user, k, right)
			}
		})
	}
}

func forceAsUser(t *testing.T, user running, k lockKind) {
	name := newName()
	held := lock(t, k.make(user.client(t), name, calm))
	got := begun(t, k.make(user.client(t), name, calm))
	time.Sleep(30 * time.Millisecond) // most often it waits by now
	freed, err := k.make(user.client(t), name, calm).(forcer).ForceUnlock(t.Context())
	if !freed || err != nil {
		t.Errorf("ForceUnlock = %t, %v", freed, err)
	}
	next := take(t, got)
	lost(t, held)
	unlock(t, next)
}

func forceWithout(t *testing.T, r, user running, k lockKind, right string) {
	name, admin := newName(), r.connect(t)
	f, ok := k.make(user.client(t), name, calm).(forcer)
	if !ok {
		return
	}
	held := lock(t, k.make(r.client(t), name, calm))
	defer held.Unlock(t.Context()) // it may have been taken away
	requireNoError(t, admin.ZAdd(t.Context(), redislock.Companion(name, "queue"), redis.Z{Score: 1, Member: "dead:1"}).Err())
	switch freed, err := f.ForceUnlock(t.Context()); {
	case err == nil && !freed:
		t.Errorf("%s without %s: a lock that is held was not freed, without an error", k.name, right)
	case err == nil && right == "~locks:*":
		t.Errorf("%s: a user that may not touch the key frees it", k.name)
	case err != nil:
		if text := err.Error(); !strings.HasPrefix(text, "redislock: force unlock ") || !strings.Contains(text, "rights that a user needs") || strings.Contains(text, "\n") {
			t.Errorf("%s without %s: %q, want one line that says what to do", k.name, right, text)
		}
	}
}

func (r running) user(t *testing.T, rights []string) running {
	t.Helper()
	admin := r.options
	admin.Username, admin.Password = "", ""
	aclUser(t, admin, rights)
	r.options.Username, r.options.Password, r.called = aclUserName, aclPassword, "acl-test"
	return r
}

// everyKind runs two contending processes for each kind at once, and returns the errors.
func everyKind(t *testing.T, r running, held time.Duration) map[string]error {
	admin, failed := r.admin(t), make(map[string]error)
	var mu sync.Mutex
	var all sync.WaitGroup
	for _, k := range lockKinds {
		for _, name := range []string{newName(), newName() + ":{x}"} {
			a, b := r.client(t), r.client(t)
			all.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), patience/2)
				defer cancel()
				m := k.make(a, name, calm)
				err := contend(ctx, m, k.make(b, name, calm), held)
				if err == nil && k.name == "queue" {
					err = passOver(ctx, admin, m, name)
				}
				mu.Lock()
				defer mu.Unlock()
				if failed[k.name] == nil {
					failed[k.name] = err
				}
			})
		}
	}
	all.Wait()
	return failed
}

// calm gives a busy machine time to react.
var calm = redislock.Options{HandoffTimeout: 5 * time.Second}

// contend lets a hand a lock over to b, after another waiter has left, or returns an error.
func contend(ctx context.Context, a, b tryLocker, held time.Duration) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	first, err := a.Lock(ctx)
	if err != nil {
		return err
	}
	short, leave := context.WithTimeout(ctx, 10*time.Millisecond)
	defer leave()
	if l, err := b.Lock(short); err == nil {
		return errors.Join(errors.New("two are inside"), l.Unlock(ctx))
	} else if !errors.Is(err, context.DeadlineExceeded) {
		return errors.Join(err, discard(first.Unlock(ctx)))
	}
	got := make(chan got, 1)
	go func() {
		l, err := b.Lock(ctx)
		got <- struct {
			l   *redislock.Lease
			err error
			at  time.Time
		}{l, err, time.Now()}
	}()
	select {
	case g := <-got: // it failed
		return errors.Join(g.err, discard(first.Unlock(ctx)))
	case <-time.After(held):
	}
	if err := first.Unlock(ctx); err != nil {
		cancel()
		<-got
		return err
	}
	g := <-got
	if g.err != nil {
		return g.err
	}
	return g.l.Unlock(ctx)
}

// passOver releases a queue lock whose only waiter is dead, with an unread notification.
func passOver(ctx context.Context, admin redis.UniversalClient, m tryLocker, name string) error {
	l, err := m.Lock(ctx)
	if err != nil {
		return err
	}
	if err := errors.Join(
		admin.RPush(ctx, redislock.Companion(name, "mail:dead"), "dead:1 0 1 1").Err(),
		admin.ZAdd(ctx, redislock.Companion(name, "queue"), redis.Z{Score: 1, Member: "dead:2"}).Err(),
	); err != nil {
		return errors.Join(err, l.Unlock(ctx))
	}
	return l.Unlock(ctx)
}

func discard(error) error { return nil }
