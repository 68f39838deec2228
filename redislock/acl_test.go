package redislock_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/errgroup"

	"locklab/redislock"
)

// aclLease is short enough that a contended lock is renewed.
const aclLease = 1500 * time.Millisecond

// TestACLRights: the documented user can use and force every kind. Without any of its rights an
// error says at once what to do: no lease is lost, and no lock stays taken.
func TestACLRights(t *testing.T) {
	r := startSingle(t)
	for _, k := range lockKinds { // the server has the scripts to take and release, and not to renew
		unlockLease(t, lockNow(t, k.make(r.client(t), newName(), redislock.Options{})))
	}
	rights := documentedACL(t)
	if failed := requireAdvice(t, r, "+eval", rights); failed < len(lockKinds) {
		t.Errorf("%d kinds fail for a user that may not load scripts, want all", failed)
	}
	if failed := requireAdvice(t, r, "", rights); failed > 0 {
		t.Errorf("%d kinds fail for the documented user", failed)
	}
	var all errgroup.Group
	all.SetLimit(4) // they wait most of the time
	for _, right := range rights {
		if right == "+eval" || !strings.ContainsRune("+~&", rune(right[0])) {
			continue
		}
		all.Go(func() error {
			if requireAdvice(t, r, right, rights) == 0 {
				t.Errorf("every lock works without %s", right)
			}
			return nil
		})
	}
	_ = all.Wait() // no error: the tests report it
}

// requireAdvice uses and forces every kind as a user without that right, "" for none. It checks
// the errors, and returns how many kinds fail.
func requireAdvice(t *testing.T, r running, right string, rights []string) (failed int) {
	user := r.user(t, slices.DeleteFunc(slices.Clone(rights), func(other string) bool { return other == right }))
	for kind, err := range everyKind(t, user) {
		if err != nil {
			failed++
			requireOneLine(t, kind+" without "+right, err, "rights that a user needs")
		}
	}
	return failed
}

func (r running) user(t *testing.T, rights []string) running {
	t.Helper()
	admin := r.options
	admin.Username, admin.Password = "", ""
	r.options.Username, r.options.Password, r.called = rand.Text(), aclPassword, "acl-test" // it may not set the name
	aclUser(t, admin, r.options.Username, rights)
	return r
}

// everyKind runs two contending processes for each kind at once, and returns the errors.
func everyKind(t *testing.T, r running) map[string]error {
	admin, failed := r.admin(t), make(map[string]error)
	var mu sync.Mutex
	var all sync.WaitGroup
	for _, k := range lockKinds {
		for _, name := range []string{newName(), newName() + ":{x}"} {
			a, b := r.client(t), r.client(t)
			all.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), patience/2)
				defer cancel()
				o := redislock.Options{TTL: aclLease, HandoffTimeout: calm.HandoffTimeout}
				m := k.make(a, name, o)
				err := contendBriefly(ctx, m, k.make(b, name, o), k.fenced, aclLease+aclLease/10)
				if f, ok := m.(forcer); ok && err == nil {
					err = forceHeld(ctx, m, f)
				}
				if err == nil && k.name == "Mutex" {
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

// contendBriefly lets a, which holds the lock for that time, hand it over to b, after another waiter has
// left, or returns an error.
func contendBriefly(ctx context.Context, a, b tryLocker, fenced bool, hold time.Duration) error {
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
		_ = first.Unlock(ctx)
		return err
	}
	got := make(chan error, 1)
	go func() {
		l, err := b.Lock(ctx)
		if err == nil {
			err = l.Unlock(ctx)
			if fenced && l.Token() <= first.Token() {
				err = fmt.Errorf("token %d after %d", l.Token(), first.Token())
			}
		}
		got <- err
	}()
	select {
	case err := <-got: // it failed, or the lock was lost
		if err == nil && first.Err() == nil {
			err = errors.New("two are inside")
		}
		_ = first.Unlock(ctx)
		return err
	case <-time.After(hold):
	}
	if err := first.Unlock(ctx); err != nil {
		cancel()
		<-got
		return err
	}
	return <-got
}

func forceHeld(ctx context.Context, m redislock.Lockable, f forcer) error {
	l, err := m.Lock(ctx)
	if err != nil {
		return err
	}
	freed, err := f.ForceUnlock(ctx)
	if lost := l.Unlock(ctx); err == nil && (!freed || !errors.Is(lost, redislock.ErrNotHeld)) {
		err = fmt.Errorf("ForceUnlock of a held lock = %t, and then Unlock = %v", freed, lost)
	}
	return err
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
