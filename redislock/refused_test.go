package redislock_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"locklab/redislock"
)

// TestUsage: invalid options are refused without a request.
func TestUsage(t *testing.T) {
	var dialled atomic.Int32
	rdb := redis.NewClient(&redis.Options{Dialer: func(context.Context, string, string) (net.Conn, error) {
		dialled.Add(1)
		return nil, syscall.ECONNREFUSED
	}})
	defer rdb.Close()
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
		"lease of nothing": {"a", redislock.Options{TTL: 2 * time.Millisecond}, "want 5ms to"},
		"negative lease":   {"a", redislock.Options{TTL: -time.Second}, "-1s"},
		"endless lease":    {"a", redislock.Options{TTL: 1<<63 - 1}, "want 5ms to"},
		"negative timeout": {"a", redislock.Options{HandoffTimeout: -time.Second}, "-1s"},
		"short timeout":    {"a", redislock.Options{HandoffTimeout: time.Microsecond}, "grant timeout of 1µs"},
		"negative wait":    {"a", redislock.Options{Wait: -time.Second}, "-1s"},
		"negative outage":  {"a", redislock.Options{Outage: -time.Second}, "-1s"},
		"negative MaxHold": {"a", redislock.Options{MaxHold: -time.Second}, "MaxHold of -1s"},
		"negative margin":  {"a", redislock.Options{Margin: -time.Second}, "-1s"},
		"margin of all":    {"a", redislock.Options{TTL: time.Second, Margin: 988 * time.Millisecond}, "less than the lease of 1s minus the clock drift of 12ms"},
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
	if n := dialled.Load(); n > 0 {
		t.Errorf("%d connections were made for requests", n)
	}
}

// requireUsage checks that m cannot be locked, for an ErrUsage in one line with want.
func requireUsage(t *testing.T, what string, m redislock.Lockable, want string) {
	t.Helper()
	_, err := m.Lock(t.Context())
	_, err2 := m.(tryLocker).TryLock(t.Context())
	for _, err := range []error{err, err2} {
		if requireOneLine(t, what, err, want); !errors.Is(err, redislock.ErrUsage) {
			t.Errorf("%s: %v, want ErrUsage", what, err)
		}
	}
}

// TestOutOfMemory: a server without memory refuses new locks, with advice after Options.Outage,
// but neither renewals nor releases.
func TestOutOfMemory(t *testing.T) {
	const lease = 1500 * time.Millisecond
	r := startSingle(t)
	admin := r.admin(t)
	held := make(map[string]*redislock.Lease)
	for kind, make := range lockables() {
		held[kind] = lockNow(t, make(r.client(t), newName(), redislock.Options{TTL: lease}))
	}
	owner := r.client(t).Reentrant(newName(), redislock.Options{TTL: lease}).Owner()
	held["outer"], held["inner"] = lockNow(t, owner), lockNow(t, owner)
	for _, set := range [][2]string{{"maxmemory-policy", "noeviction"}, {"maxmemory", "1"}} {
		requireNoError(t, admin.ConfigSet(t.Context(), set[0], set[1]).Err())
	}
	names := make(map[string]string)
	var work sync.WaitGroup
	for kind, make := range lockables() {
		names[kind] = newName()
		m := make(r.client(t), names[kind], redislock.Options{Outage: 300 * time.Millisecond})
		work.Go(func() {
			began := time.Now()
			_, err := m.Lock(t.Context())
			requireOneLine(t, kind, err, "OOM", "("+memoryAdvice+")")
			if took := time.Since(began); took > 5*slack {
				t.Errorf("%s: it took %v", kind, took)
			}
		})
	}
	work.Wait()
	time.Sleep(lease + lease/3)
	unlockLease(t, lockNow(t, owner)) // once more
	for kind, l := range held {
		if err := l.Err(); err != nil {
			t.Errorf("%s: the lease was lost: %v", kind, err)
			continue
		}
		unlockLease(t, l)
	}
	for _, name := range names {
		wantFree(t, admin, name)
	}
}

const memoryAdvice = "give the server more memory: locks need its policy noeviction"

// requireOneLine checks that err is of this package, in one line with these texts.
func requireOneLine(t *testing.T, what string, err error, wants ...string) {
	t.Helper()
	text := fmt.Sprint(err)
	if !strings.HasPrefix(text, "redislock: ") || strings.Contains(text, "\n") {
		t.Errorf("%s: the error is %q, want one line of redislock", what, text)
	}
	for _, want := range wants {
		if !strings.Contains(text, want) {
			t.Errorf("%s: the error is %q, want %s", what, text, want)
		}
	}
}

func TestWrongPassword(t *testing.T) {
	r := startSingle(t)
	admin := r.admin(t)
	const secret = "hunter2hunter2"
	user := r.user(t, []string{"on", ">" + secret, "+@all", "~*", "&*"})
	user.options.Password = "not-" + secret
	for _, k := range lockKinds {
		name := newName()
		_, err := k.make(user.client(t), name, redislock.Options{}).Lock(t.Context())
		requireOneLine(t, k.name, err, "WRONGPASS", "set Username and Password")
		if strings.Contains(err.Error(), secret) {
			t.Errorf("%s: the error shows the password: %v", k.name, err)
		}
		wantFree(t, admin, name)
	}
}

// TestRightsTakenAway: a holder notices lost rights at its renewal, and at Unlock, which is
// repeated until the server allows it.
func TestRightsTakenAway(t *testing.T) {
	const lease = 6 * time.Second
	const advice = "rights that a user needs"
	r := startSingle(t)
	user := r.user(t, []string{"on", ">" + aclPassword, "~*", "&*", "+@all"})
	admin := r.admin(t)
	type pair struct {
		name           string
		unlocked, kept *redislock.Lease
	}
	held := make(map[string]pair)
	for kind, make := range kinds {
		c, name := user.client(t), newName()
		held[kind] = pair{name, lockNow(t, make(c, name, redislock.Options{TTL: time.Hour})), lockNow(t, make(c, newName(), redislock.Options{TTL: lease}))}
	}
	requireNoError(t, admin.Do(t.Context(), "ACL", "SETUSER", user.options.Username, "-@all").Err())
	for kind, p := range held {
		if err := p.unlocked.Unlock(t.Context()); err == nil || !strings.Contains(err.Error(), advice) || errors.Is(err, redislock.ErrNotHeld) {
			t.Errorf("%s: Unlock = %v, want what to do", kind, err)
		}
		requireOver(t, kind, p.unlocked)
		requireDone(t, p.kept)
		if err := p.kept.Err(); !errors.Is(err, redislock.ErrLost) || !strings.Contains(err.Error(), advice) || strings.Contains(err.Error(), "is over") {
			t.Errorf("%s: Err = %v, want ErrLost before the deadline, and what to do", kind, err)
		}
	}
	requireNoError(t, admin.Do(t.Context(), "ACL", "SETUSER", user.options.Username, "+@all").Err())
	for kind, p := range held {
		waitUntil(t, kind+" is free", func() bool { return len(leftOf(t, admin, p.name)) == 0 })
	}
}
