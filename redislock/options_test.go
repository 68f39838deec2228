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
		{"force", optionForce},
	})
}

// optionWait: a Lock that waits in vain, for Options.Wait or its context, leaves nothing.
func optionWait(t *testing.T, at harness.Endpoint) {
	const wait = 60 * time.Millisecond
	a, b, watch := newClient(t, dialServer(t, at)), newClient(t, dialServer(t, at)), dialServer(t, at)
	boom := errors.New("boom")
	for name, kind := range kinds {
		key := newKey()
		m := kind(b, key, redislock.Options{Wait: wait})
		unlockLease(t, lockNow(t, m)) // without waiting
		l := lockNow(t, kind(a, key, redislock.Options{}))
		began := time.Now()
		_, err := m.Lock(t.Context())
		requireBetween(t, name+" waits", time.Since(began), wait, wait)
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
		unlockLease(t, l)
		waitUntil(t, name+": nothing is left", func() bool {
			return watch.client.Exists(t.Context(), key, key+":~queue").Val() == 0
		})
		unlockLease(t, lockNow(t, m)) // it can be locked again
	}
}

type forcer interface {
	ForceUnlock(ctx context.Context) (bool, error)
}

// optionForce: ForceUnlock ends a lease of every kind. The next one has a greater token, though the
// server loses its counter.
func optionForce(t *testing.T, at harness.Endpoint) {
	link := dialServer(t, at, retryThrice)
	a, b := newClient(t, dialServer(t, at)), newClient(t, link)
	for name, kind := range kinds {
		key := newKey()
		m := kind(b, key, redislock.Options{})
		f, ok := m.(forcer)
		if !ok {
			if name != "Multi" && name != "Redlock" { // their parts have it
				t.Errorf("%s has no ForceUnlock", name)
			}
			continue
		}
		if freed, err := f.ForceUnlock(t.Context()); freed || err != nil {
			t.Errorf("%s: ForceUnlock of a free lock = %t, %v", name, freed, err)
		}
		l := lockNow(t, kind(a, key, redislock.Options{}))
		link.lose.Store(1)
		if _, err := f.ForceUnlock(t.Context()); err == nil {
			t.Errorf("%s: ForceUnlock is repeated after a lost reply", name)
		}
		if freed, err := f.ForceUnlock(t.Context()); !freed || err != nil {
			t.Errorf("%s: ForceUnlock = %t, %v", name, freed, err)
		}
		requireNoError(t, link.client.Del(t.Context(), redislock.Companion(key, "token")).Err())
		next := lockNow(t, m)
		if next.Token() < l.Token() || next.Token() == l.Token() && l.Token() > 0 {
			t.Errorf("%s: token %d after %d", name, next.Token(), l.Token())
		}
		requireLost(t, l)
		unlockLease(t, next)
		if _, err := kind(a, "", redislock.Options{}).(forcer).ForceUnlock(t.Context()); !errors.Is(err, redislock.ErrUsage) {
			t.Errorf("%s: ForceUnlock of no name = %v, want ErrUsage", name, err)
		}
	}
}
