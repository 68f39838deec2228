package redislock_test

import (
	"context"
	"errors"
	"fmt"
	"math"
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
		for kind, make := range kinds {
			requireUsage(t, kind+": "+what, make(c, bad.name, bad.o), bad.want)
		}
	}
	for _, name := range []string{"a b", "a:b", "@a", "-a", "ä", "a\n", "a{b}", strings.Repeat("a", 65)} {
		misnamed := redislock.NewClient(rdb, redislock.ClientOptions{Name: name})
		defer misnamed.Close()
		for kind, make := range kinds {
			requireUsage(t, kind+" of a client called "+name, make(misnamed, "a", redislock.Options{}), "the client's name")
		}
		requireUsage(t, "misnamed client", redislock.NewRedlock([]*redislock.Client{c, misnamed}, "a", redislock.RedlockOptions{}), "the client's name")
	}
	repeats := redislock.NewClient(rdb, redislock.ClientOptions{Blocking: redis.NewClient(&redis.Options{Addr: "127.0.0.1:1"})})
	defer repeats.Close()
	one := []*redislock.Client{c}
	for _, bad := range []struct {
		m    redislock.Lockable
		want string
	}{
		{repeats.Mutex("a", redislock.Options{}), "MaxRetries"},
		{c.Semaphore("a", -1, redislock.Options{}), "-1 permits"},
		{c.Semaphore("a", 0, redislock.Options{}), "0 permits"},
		{c.Semaphore("a", 1<<30, redislock.Options{}), "permits"},
		{c.Cohort("a", redislock.CohortOptions{Handovers: 1 << 12}), "4096 handovers"},
		{c.Cohort("a", redislock.CohortOptions{Handovers: math.MaxInt}), "handovers"},
		{c.Multi(nil, redislock.Options{}), "no name"},
		{c.Multi([]string{"a", ""}, redislock.Options{}), "no name"},
		{redislock.NewRedlock(nil, "a", redislock.RedlockOptions{}), "without servers"},
		{redislock.NewRedlock([]*redislock.Client{c, nil}, "a", redislock.RedlockOptions{}), ""},
		{redislock.NewRedlock([]*redislock.Client{c, c}, "a", redislock.RedlockOptions{}), ""},
		{redislock.NewRedlock(one, "a", redislock.RedlockOptions{Answer: time.Hour}), ""},
		{redislock.NewRedlock(one, "a", redislock.RedlockOptions{Answer: -1}), ""},
	} {
		requireUsage(t, fmt.Sprintf("%T", bad.m), bad.m, bad.want)
	}
	if names := log.take(); len(names) > 0 {
		t.Errorf("%v was sent", names)
	}
}

// requireUsage checks that m cannot be locked, for an ErrUsage in one line with want.
func requireUsage(t *testing.T, what string, m redislock.Lockable, want string) {
	t.Helper()
	_, err := m.Lock(t.Context())
	_, err2 := m.(tryLocker).TryLock(t.Context())
	for _, err := range []error{err, err2} {
		if text := fmt.Sprint(err); !errors.Is(err, redislock.ErrUsage) || !strings.HasPrefix(text, "redislock: ") || !strings.Contains(text, want) || strings.Contains(text, "\n") {
			t.Errorf("%s: %q, want one line with %s", what, text, want)
		}
	}
}

type state struct {
	name, want string // text in the error of Lock
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
}

// TestRefused: a server that refuses to lock is one clear error for every kind of lock, after
// Options.Outage, and nothing is left.
func TestRefused(t *testing.T) {
	t.Parallel()
	r := startAll(t, deployments[0])[0]
	for _, s := range states {
		t.Run(s.name, func(t *testing.T) {
			leaktest.Own(t)
			admin := r.connect(t)
			requireNoError(t, s.begin(t.Context(), admin))
			names := make([]string, len(lockKinds))
			var work sync.WaitGroup
			for i, k := range lockKinds {
				names[i] = newName()
				m := k.make(r.client(t), names[i], redislock.Options{Outage: 300 * time.Millisecond})
				work.Go(func() {
					began := time.Now()
					_, err := m.Lock(t.Context())
					if text := fmt.Sprint(err); !strings.HasPrefix(text, "redislock: ") || !strings.Contains(text, s.want) || !strings.HasSuffix(text, ")") || strings.Contains(text, "\n") {
						t.Errorf("%s: %q, want one line with %s, and what to do", k.name, text, s.want)
					}
					if took := time.Since(began); took > 5*slack {
						t.Errorf("%s: it took %v", k.name, took)
					}
				})
			}
			work.Wait()
			requireNoError(t, s.end(context.WithoutCancel(t.Context()), admin))
			for i, k := range lockKinds {
				wantFree(t, admin, names[i])
				unlock(t, lock(t, k.make(r.client(t), names[i], redislock.Options{})))
			}
		})
	}
	t.Run("wrong password", func(t *testing.T) { wrongPassword(t, r) })
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
