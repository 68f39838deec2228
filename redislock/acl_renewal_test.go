package redislock_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"locklab/internal/leaktest"
	"locklab/redislock"
)

// TestACLRenewal: Lock or Unlock fails for a user without the renewal's or release's right.
func TestACLRenewal(t *testing.T) {
	t.Parallel()
	const lease = 1500 * time.Millisecond
	r := startAll(t, deployments[0])[0]
	leaktest.Own(t)
	rights := documentedACL(t)
	var all sync.WaitGroup
	// The user with all rights loads every script: the next one may not.
	for i, right := range append([]string{""}, rights...) {
		if right != "" && right[0] != '+' {
			continue
		}
		user := fmt.Sprintf("locks%d", i)
		aclUserCalled(t, r.options, user, slices.DeleteFunc(slices.Clone(rights), func(r string) bool { return r == right }))
		as := r
		as.options.Username, as.options.Password, as.called = user, aclPassword, "acl-test"
		for kind, make := range kinds {
			m := make(as.client(t), newName(), redislock.Options{TTL: lease})
			all.Go(func() {
				l, err := m.Lock(t.Context())
				if err == nil {
					time.Sleep(lease + lease/10) // renewed, or over
					lost := l.Err()
					if err = l.Unlock(t.Context()); lost != nil {
						t.Errorf("%s without %q: the lease was lost, for %v", kind, right, lost)
						return
					}
				}
				switch text := fmt.Sprint(err); {
				case err == nil:
				case right == "":
					t.Errorf("%s: %v", kind, err)
				case !strings.HasPrefix(text, "redislock: ") || !strings.Contains(text, "rights that a user needs"):
					t.Errorf("%s without %s: %q, want what to do", kind, right, text)
				}
			})
		}
		if right == "" {
			all.Wait()
		}
	}
	all.Wait()
}

// TestACLWithoutEval: Lock fails for a user that may not load scripts, even loaded ones.
func TestACLWithoutEval(t *testing.T) {
	t.Parallel()
	r := startAll(t, deployments[0])[0]
	leaktest.Own(t)
	for _, lock := range kinds {
		l, err := lock(r.client(t), newName(), redislock.Options{}).Lock(t.Context())
		requireNoError(t, err)
		unlock(t, l) // the server has the scripts to take and release, and not to renew
	}
	user := r.user(t, slices.DeleteFunc(documentedACL(t), func(r string) bool { return r == "+eval" }))
	for kind, lock := range kinds {
		l, err := lock(user.client(t), newName(), redislock.Options{}).Lock(t.Context())
		if text := fmt.Sprint(err); err == nil || !strings.Contains(text, "eval") || !strings.Contains(text, "rights that a user needs") {
			t.Errorf("%s: Lock = %q, want what to do", kind, text)
		}
		if err == nil {
			l.Unlock(t.Context())
		}
	}
}

// TestACLTakenAway: a holder notices a lost right at its renewal; refusals may be temporary.
func TestACLTakenAway(t *testing.T) {
	t.Parallel()
	const lease = 6 * time.Second
	r := startAll(t, deployments[0])[0]
	leaktest.Own(t)
	user := r.user(t, documentedACL(t))
	admin := r.admin(t)
	held := make(map[string]*redislock.Lease)
	for kind, make := range kinds {
		held[kind] = lock(t, make(user.client(t), newName(), redislock.Options{TTL: lease}))
	}
	requireNoError(t, admin.Do(t.Context(), "ACL", "SETUSER", aclUserName, "-pexpire").Err())
	for kind, l := range held {
		select {
		case <-l.Done():
		case <-time.After(patience):
			t.Fatalf("%s: Done stays open", kind)
		}
		if err := l.Err(); !errors.Is(err, redislock.ErrLost) || !strings.Contains(err.Error(), "rights that a user needs") || strings.Contains(err.Error(), "is over") {
			t.Errorf("%s: Err = %v, want ErrLost before the deadline, and what to do", kind, err)
		}
		l.Unlock(context.WithoutCancel(t.Context())) // returns the same error
	}
}

// TestACLName: a client's name is in CLIENT LIST if its user may set it.
func TestACLName(t *testing.T) {
	t.Parallel()
	r := startAll(t, deployments[0])[0]
	leaktest.Own(t)
	admin := r.admin(t)
	for _, more := range []string{"", "+client|setname"} {
		user := r.user(t, append(documentedACL(t), strings.Fields(more)...))
		name := newName()
		held := lock(t, user.client(t).Mutex(name, redislock.Options{}))
		got := begun(t, user.client(t).Mutex(name, redislock.Options{}))
		eventually(t, "the other waits", func() bool { return queueOf(t, admin, name) })
		time.Sleep(50 * time.Millisecond) // and listens
		named := func() bool { return strings.Contains(admin.ClientList(t.Context()).Val(), " name=acl-test ") }
		if more != "" {
			eventually(t, "the connection that listens has the name", named)
		}
		unlock(t, held)
		unlock(t, take(t, got))
		if more == "" && named() {
			t.Error("a user that may not has set the name of a connection")
		}
	}
}
