package redislock_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"locklab/internal/leaktest"
	"locklab/redislock"
)

// TestUsage: invalid options are refused without a request.
func TestUsage(t *testing.T) {
	leaktest.All(t)
	rdb := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1"}) // without a server
	defer rdb.Close()
	log := new(sent)
	rdb.AddHook(log)
	c := redislock.NewClient(rdb, redislock.ClientOptions{})
	defer c.Close()
	for what, bad := range map[string]struct {
		name string
		o    redislock.Options
		want string
	}{
		"no name":          {"", redislock.Options{}, "no name"},
		"long name":        {strings.Repeat("x", 1025), redislock.Options{}, "1025 bytes"},
		"short lease":      {"a", redislock.Options{TTL: 999 * time.Microsecond}, "999µs"},
		"lease of nothing": {"a", redislock.Options{TTL: 2 * time.Millisecond}, "at least"},
		"negative lease":   {"a", redislock.Options{TTL: -time.Second}, "-1s"},
		"endless lease":    {"a", redislock.Options{TTL: 1<<63 - 1}, "at most"},
		"negative timeout": {"a", redislock.Options{HandoffTimeout: -time.Second}, "-1s"},
		"short timeout":    {"a", redislock.Options{HandoffTimeout: time.Microsecond}, "grant timeout of 1µs"},
		"negative wait":    {"a", redislock.Options{Wait: -time.Second}, "-1s"},
		"negative outage":  {"a", redislock.Options{Outage: -time.Second}, "-1s"},
		"negative MaxHold": {"a", redislock.Options{MaxHold: -time.Second}, "MaxHold of -1s"},
		"negative margin":  {"a", redislock.Options{Margin: -time.Second}, "-1s"},
		"margin of all":    {"a", redislock.Options{TTL: time.Second, Margin: 988 * time.Millisecond}, "less than the lease of 1s but for what clocks may differ by, 12ms"},
	} {
		makes := map[string]func() tryLocker{
			"redlock": func() tryLocker {
				return redislock.NewRedlock([]*redislock.Client{c}, bad.name, redislock.RedlockOptions{PollOptions: redislock.PollOptions{Options: bad.o}})
			},
		}
		for _, k := range lockKinds {
			if k.name != "Multi" || bad.name != "" { // its test adds to the name
				makes[k.name] = func() tryLocker { return k.make(c, bad.name, bad.o) }
			}
		}
		for kind, lock := range makes {
			_, err := lock().Lock(t.Context())
			_, err2 := lock().TryLock(t.Context())
			for _, err := range []error{err, err2} {
				if text := fmt.Sprint(err); !errors.Is(err, redislock.ErrUsage) || !strings.HasPrefix(text, "redislock: ") || !strings.Contains(text, bad.want) || strings.Contains(text, "\n") {
					t.Errorf("%s: %s: %q, want one line with %s", kind, what, text, bad.want)
				}
			}
		}
	}
	if names := log.take(); len(names) > 0 {
		t.Errorf("%v was sent", names)
	}
}

type state struct {
	name, want string // text in the error of Lock; "" for any
	begin, end func(ctx context.Context, admin redis.UniversalClient) error
}

var states = []state{
	{"read-only replica", "READONLY",
		func(ctx context.Context, admin redis.UniversalClient) error {
			return admin.Do(ctx, "REPLICAOF", "127.0.0.1", "1").Err()
		},
		func(ctx context.Context, admin redis.UniversalClient) error {
			return admin.Do(ctx, "REPLICAOF", "NO", "ONE").Err()
		}},
	{"out of memory", "OOM",
		func(ctx context.Context, admin redis.UniversalClient) error {
			return errors.Join(admin.ConfigSet(ctx, "maxmemory-policy", "noeviction").Err(), admin.ConfigSet(ctx, "maxmemory", "1").Err())
		},
		func(ctx context.Context, admin redis.UniversalClient) error {
			return admin.ConfigSet(ctx, "maxmemory", "0").Err()
		}},
	{"scripts forgotten", "",
		func(ctx context.Context, admin redis.UniversalClient) error { return admin.ScriptFlush(ctx).Err() },
		func(ctx context.Context, admin redis.UniversalClient) error { return admin.ScriptFlush(ctx).Err() }},
}

// TestRefused: a server that refuses to lock is one clear error for every kind of lock, at
// once or after Options.Outage, and nothing is left.
func TestRefused(t *testing.T) {
	t.Parallel()
	r := startAll(t, deployments[0])[0]
	for _, s := range states {
		t.Run(s.name, func(t *testing.T) {
			leaktest.Own(t)
			admin := r.connect(t)
			var all []*refusal
			for _, k := range lockKinds {
				all = append(all, newRefusal(t, r, k))
			}
			for _, f := range all {
				if f.kind.fenced {
					eventually(t, "the second one waits", func() bool { return queueOf(t, admin, f.name) })
				}
			}
			time.Sleep(50 * time.Millisecond) // so do the others, and all listen
			over := func() {
				expectNoError(t, s.end(context.WithoutCancel(t.Context()), admin))
			}
			defer over()
			requireNoError(t, s.begin(t.Context(), admin))
			var work sync.WaitGroup
			for _, f := range all {
				work.Go(func() { f.refused(t, s.want) })
			}
			work.Wait()
			if s.want != "OOM" { // it still releases locks
				over()
			}
			for _, f := range all {
				unlock(t, f.held)
				f.succeeded(t, s.want)
			}
			over()
			for _, f := range all {
				wantFree(t, admin, f.fresh)
				// A waiter that could not leave its queue costs a grant timeout.
				eventually(t, "nothing is left of "+f.kind.name, func() bool { return len(leftOf(t, admin, f.name)) == 0 })
				unlock(t, lock(t, f.kind.make(r.client(t), f.name, redislock.Options{})))
			}
		})
	}
	t.Run("wrong password", func(t *testing.T) { wrongPassword(t, r) })
}

type refusal struct {
	kind        lockKind
	name, fresh string
	lock        tryLocker // the free one
	held        *redislock.Lease
	next        chan got
}

func newRefusal(t *testing.T, r running, k lockKind) *refusal {
	f := &refusal{kind: k, name: newName(), fresh: newName()}
	f.held = lock(t, k.make(r.client(t), f.name, redislock.Options{HandoffTimeout: time.Second}))
	f.next = make(chan got, 1)
	second := k.make(r.client(t), f.name, redislock.Options{HandoffTimeout: time.Second, Outage: 300 * time.Millisecond})
	go func() {
		l, err := second.Lock(t.Context())
		f.next <- got{l, err, time.Now()}
	}()
	f.lock = k.make(r.client(t), f.fresh, redislock.Options{Outage: 300 * time.Millisecond})
	return f
}

// refused checks that the free lock cannot be acquired, and the error.
func (f *refusal) refused(t *testing.T, want string) {
	began := time.Now()
	l, err := f.lock.Lock(t.Context())
	switch text := fmt.Sprint(err); {
	case want == "" && err == nil:
		err = l.Unlock(t.Context())
	case want == "":
	case !strings.HasPrefix(text, "redislock: ") || !strings.Contains(text, want) || !strings.HasSuffix(text, ")") || strings.Contains(text, "\n"):
		t.Errorf("%s: %q, want one line with %s, and what to do", f.kind.name, text, want)
	default:
		err = nil
	}
	if err != nil {
		t.Errorf("%s: %v", f.kind.name, err)
	}
	if took := time.Since(began); took > 5*slack {
		t.Errorf("%s: it took %v", f.kind.name, took)
	}
}

// succeeded checks that the waiter has got the lock, or an error if it had to ask meanwhile. A
// queue hands over without asking, even out of memory; a Multi must ask for its next part.
func (f *refusal) succeeded(t *testing.T, want string) {
	select {
	case g := <-f.next:
		switch text := fmt.Sprint(g.err); {
		case g.err == nil:
			unlock(t, g.l)
		case want == "" || want == "OOM" && f.kind.fenced && f.kind.name != "Multi" || !strings.HasPrefix(text, "redislock: ") || !strings.Contains(text, want) || strings.Contains(text, "\n"):
			t.Errorf("%s: the waiter got %q", f.kind.name, text)
		}
	case <-time.After(patience):
		t.Errorf("%s: the waiter got no answer", f.kind.name)
	}
}

func wrongPassword(t *testing.T, r running) {
	leaktest.Own(t)
	admin := r.connect(t)
	const secret = "hunter2hunter2"
	aclUser(t, r.options, aclUserName, []string{"on", ">" + secret, "+@all", "~*", "&*"})
	user := r
	user.options.Username, user.options.Password = "locks", "not-"+secret
	for _, k := range lockKinds {
		name := newName()
		_, err := k.make(user.client(t), name, redislock.Options{}).Lock(t.Context())
		if text := fmt.Sprint(err); !strings.Contains(text, "WRONGPASS") || !strings.Contains(text, "set Username and Password") || strings.Contains(text, secret) || strings.Contains(text, "\n") || !strings.HasPrefix(text, "redislock: ") {
			t.Errorf("%s: %q, want one line with WRONGPASS", k.name, text)
		}
		wantFree(t, admin, name)
	}
}
