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
		unlock(t, lock(t, k.make(r.client(t), newName(), redislock.Options{})))
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
			requireAdviceIn(t, kind+" without "+right, "redislock: ", err)
		}
	}
	return failed
}

func requireAdviceIn(t *testing.T, what, prefix string, err error) {
	t.Helper()
	if text := err.Error(); !strings.HasPrefix(text, prefix) || !strings.Contains(text, "rights that a user needs") || strings.Contains(text, "\n") {
		t.Errorf("%s: %q, want one line that says what to do", what, text)
	}
}

// user returns r with a new user that has these rights.
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
				err := contend(ctx, m, k.make(b, name, o))
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

// contend lets a hand a lock over to b, after another waiter has left and a renewal, or returns
// an error.
func contend(ctx context.Context, a, b tryLocker) error {
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
		}
		got <- err
	}()
	select {
	case err := <-got: // it failed
		_ = first.Unlock(ctx)
		return err
	case <-time.After(aclLease + aclLease/10):
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

// TestACLTakenAway: a holder notices a lost right at its renewal; refusals may be temporary.
func TestACLTakenAway(t *testing.T) {
	const lease = 6 * time.Second
	r := startSingle(t)
	user := r.user(t, documentedACL(t))
	admin := r.admin(t)
	held := make(map[string]*redislock.Lease)
	for kind, make := range kinds {
		held[kind] = lock(t, make(user.client(t), newName(), redislock.Options{TTL: lease}))
	}
	requireNoError(t, admin.Do(t.Context(), "ACL", "SETUSER", user.options.Username, "-pexpire").Err())
	for kind, l := range held {
		requireDone(t, l)
		if err := l.Err(); !errors.Is(err, redislock.ErrLost) || !strings.Contains(err.Error(), "rights that a user needs") || strings.Contains(err.Error(), "is over") {
			t.Errorf("%s: Err = %v, want ErrLost before the deadline, and what to do", kind, err)
		}
		l.Unlock(context.WithoutCancel(t.Context())) // returns the same error
	}
}
