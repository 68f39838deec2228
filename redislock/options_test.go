package redislock_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"locklab/harness"
	"locklab/redislock"
)

type makeLock = func(c *redislock.Client, name string, o redislock.Options) redislock.Lockable

// kinds are the kinds of lockKinds and Redlock, each with one name.
var kinds = makeKinds()

func makeKinds() map[string]makeLock {
	all := make(map[string]makeLock)
	for _, k := range lockKinds {
		all[k.name] = func(c *redislock.Client, name string, o redislock.Options) redislock.Lockable {
			return k.make(c, name, o)
		}
	}
	all["Multi"] = func(c *redislock.Client, name string, o redislock.Options) redislock.Lockable {
		return c.Multi([]string{name}, o)
	}
	all["Redlock"] = func(c *redislock.Client, name string, o redislock.Options) redislock.Lockable {
		return redislock.NewRedlock([]*redislock.Client{c}, name, redislock.RedlockOptions{PollOptions: redislock.PollOptions{Options: o}})
	}
	return all
}

func TestOptions(t *testing.T) {
	runOnServer(t, []serverTest{
		{"wait", optionWait},
		{"wrong client name", optionBadName},
	})
}

// optionWait: a Lock that waits in vain, for Options.Wait or its context, leaves nothing.
func optionWait(t *testing.T, at harness.Endpoint) {
	const wait = 60 * time.Millisecond
	a, b, watch := newClient(t, dial(t, at)), newClient(t, dial(t, at)), dial(t, at)
	boom := errors.New("boom")
	for name, kind := range kinds {
		key := newKey()
		m := kind(b, key, redislock.Options{Wait: wait})
		unlock(t, lock(t, m)) // without waiting
		l := lock(t, kind(a, key, redislock.Options{}))
		began := time.Now()
		_, err := m.Lock(t.Context())
		between(t, name+" waits", time.Since(began), wait, wait)
		if !errors.Is(err, redislock.ErrNotAcquired) || !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(fmt.Sprint(err), "60ms") {
			t.Errorf("%s: Lock = %v, want ErrNotAcquired and DeadlineExceeded, and the wait", name, err)
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(20*time.Millisecond, func() { cancel(boom) })
		_, err = kind(b, key, redislock.Options{}).Lock(ctx)
		for _, want := range []error{redislock.ErrNotAcquired, context.Canceled, boom} {
			if !errors.Is(err, want) {
				t.Errorf("%s: Lock = %v, which does not wrap %v", name, err, want)
			}
		}
		unlock(t, l)
		eventually(t, name+": nothing is left", func() bool {
			return watch.Exists(t.Context(), key, key+":~queue").Val() == 0
		})
		unlock(t, lock(t, m)) // it can be locked again
	}
}

func optionBadName(t *testing.T, at harness.Endpoint) {
	rdb := dial(t, at).Client
	for _, name := range []string{"a b", "a:b", "@a", "-a", "ä", "a\n", "a{b}", strings.Repeat("a", 65)} {
		c := redislock.NewClient(rdb, redislock.ClientOptions{Name: name})
		for kind, make := range kinds {
			if _, err := make(c, newKey(), redislock.Options{}).Lock(t.Context()); !errors.Is(err, redislock.ErrUsage) {
				t.Errorf("%s: Lock of a client called %q = %v, want ErrUsage", kind, name, err)
			}
		}
		c.Close()
	}
}
