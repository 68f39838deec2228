package redislock_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"locklab/harness"
	"locklab/harness/locktest"
	"locklab/internal/backend"
	locks "locklab/lock"
	"locklab/redislock"
)

// startDurable starts a server that keeps its data, and takes 600 µs to load a key.
func startDurable(t *testing.T) running {
	t.Helper()
	s, err := backend.StartRedisOf(t.Context(), backend.RedisOptions{Persistence: backend.Always,
		Args: []string{"--key-load-delay", "600", "--loading-process-events-interval-bytes", "1024"}})
	locktest.RequireServers(t, harness.KindRedis, err)
	t.Cleanup(func() { expectNoError(t, s.Stop()) })
	return running{deployment: deployments[0], Server: s, options: redis.UniversalOptions{Addrs: s.Endpoint().Addrs[0]}}
}

// startRotated starts a server whose clients use the password "new" once newPassword is set.
func startRotated(t *testing.T) running {
	t.Helper()
	r := startAll(t, deployments[0])[0]
	aclUser(t, r.options, aclUserName, []string{"on", ">" + aclPassword, "~*", "&*", "+@all"})
	newPassword.Store(false)
	r.options.CredentialsProvider = func() (string, string) {
		if newPassword.Load() {
			return aclUserName, "new"
		}
		return aclUserName, aclPassword
	}
	return r
}

var newPassword atomic.Bool // of the clients of startRotated

func startSentinel(t *testing.T) running {
	t.Helper()
	r := startAll(t, deployments[1])[0]
	r.options.MaxRetries = -1 // a repetition by the library makes a success of Unlock a failure
	return r
}

// An outage makes a server unusable for a while, replaces it, or deletes its data.
type outage struct {
	name  string
	start func(t *testing.T) running
	begin func(ctx context.Context, r running, admin *redis.Client) error
	end   func(ctx context.Context, r running, admin *redis.Client) error // nil: it is usable when begin returns
	soon  time.Duration                                                   // in which the waiters are served
	lost  error                                                           // of Unlock
}

const soon = 6 * time.Second // of a lease of 40

var outages = []outage{
	{"connections are refused", startDurable,
		func(_ context.Context, r running, _ *redis.Client) error { return r.Kill(0) },
		func(ctx context.Context, r running, _ *redis.Client) error { return r.Restart(ctx, 0) }, soon, nil},
	{"the server restarts and loads its data", startDurable, restartWithData,
		func(ctx context.Context, _ running, admin *redis.Client) error {
			for err := admin.Ping(ctx).Err(); err != nil; err = admin.Ping(ctx).Err() {
				if ctx.Err() != nil {
					return err
				}
			}
			return nil
		}, soon, nil},
	{"a script keeps it busy", startDurable,
		func(ctx context.Context, _ running, admin *redis.Client) error {
			if err := admin.ConfigSet(ctx, "busy-reply-threshold", "10").Err(); err != nil {
				return err
			}
			go admin.Eval(ctx, "while true do end", nil)
			for !redis.HasErrorPrefix(admin.Ping(ctx).Err(), "BUSY") {
				time.Sleep(time.Millisecond)
			}
			return nil
		},
		func(ctx context.Context, _ running, admin *redis.Client) error { return admin.ScriptKill(ctx).Err() }, soon, nil},
	{"it is a replica", startDurable, replicaOf("yes"), promoteReplica, soon, nil},
	{"it is a replica without a primary", startDurable, replicaOf("no"), promoteReplica, soon, nil},
	{"too few replicas follow", startDurable, configure("min-replicas-to-write", "1"), configure("min-replicas-to-write", "0"), soon, nil},
	{"it cannot write to its disk", startDurable, failSave, configure("stop-writes-on-bgsave-error", "no"), soon, nil},
	{"a new password is refused", startRotated,
		func(ctx context.Context, _ running, admin *redis.Client) error {
			return errors.Join(admin.Do(ctx, "ACL", "SETUSER", aclUserName, "resetpass", ">new").Err(), admin.ClientKillByFilter(ctx, "USER", aclUserName).Err())
		},
		func(context.Context, running, *redis.Client) error { newPassword.Store(true); return nil }, soon, nil},
	{"its data is lost", startDurable,
		func(ctx context.Context, _ running, admin *redis.Client) error { return admin.FlushAll(ctx).Err() },
		nil, soon, redislock.ErrNotHeld},
	{"a replica takes over from a dead primary", startSentinel, promoteAfter(syscall.SIGKILL), nil, patience, nil},
	{"a replica takes over from a primary that hangs", startSentinel, promoteAfter(syscall.SIGSTOP), nil, patience, nil},
}

func restartWithData(ctx context.Context, r running, admin *redis.Client) error {
	// The server checks its clients once per 1024 commands.
	_, err := admin.Pipelined(ctx, func(p redis.Pipeliner) error {
		for i := range 5000 {
			p.Set(ctx, fmt.Sprint("filler", i), "", 0)
		}
		return nil
	})
	if err == nil {
		err = r.Kill(0)
	}
	go r.Restart(ctx, 0)
	return err
}

func configure(name, value string) func(context.Context, running, *redis.Client) error {
	return func(ctx context.Context, _ running, admin *redis.Client) error {
		return admin.ConfigSet(ctx, name, value).Err()
	}
}

// failSave lets a snapshot fail, after which the server refuses writes.
func failSave(ctx context.Context, _ running, admin *redis.Client) error {
	dir, name := admin.ConfigGet(ctx, "dir").Val()["dir"], admin.ConfigGet(ctx, "dbfilename").Val()["dbfilename"]
	err := errors.Join(os.RemoveAll(filepath.Join(dir, name)), os.Mkdir(filepath.Join(dir, name), 0o700), admin.ConfigSet(ctx, "save", "3600 1").Err(), admin.BgSave(ctx).Err())
	for err == nil && !redis.HasErrorPrefix(admin.Set(ctx, "filler", "", 0).Err(), "MISCONF") {
		time.Sleep(time.Millisecond)
		err = ctx.Err()
	}
	return err
}

func replicaOf(stale string) func(context.Context, running, *redis.Client) error {
	return func(ctx context.Context, _ running, admin *redis.Client) error {
		return errors.Join(admin.ConfigSet(ctx, "replica-serve-stale-data", stale).Err(), admin.Do(ctx, "REPLICAOF", "127.0.0.1", "1").Err())
	}
}

func promoteReplica(ctx context.Context, _ running, admin *redis.Client) error {
	return admin.Do(ctx, "REPLICAOF", "NO", "ONE").Err()
}

func promoteAfter(stop syscall.Signal) func(context.Context, running, *redis.Client) error {
	return func(ctx context.Context, r running, admin *redis.Client) error {
		if n, err := admin.Wait(ctx, 1, patience).Result(); n != 1 {
			return fmt.Errorf("%d replicas have the locks: %w", n, err)
		}
		return errors.Join(r.Signal(0, stop), r.awaitPromotion(ctx))
	}
}

// awaitPromotion returns when the second server is the primary.
func (r running) awaitPromotion(ctx context.Context) error {
	backup := redis.NewClient(&redis.Options{Addr: r.Endpoint().Addrs[0][1]})
	defer backup.Close()
	for end := time.Now().Add(patience); !strings.Contains(backup.Info(ctx, "replication").Val(), "role:master"); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			return errors.New("no replica is promoted")
		}
	}
	return nil
}

// TestOutage: holders release their locks while the server is unusable. The waiters keep their
// places and get the lock soon after its return.
func TestOutage(t *testing.T) {
	t.Parallel()
	for _, o := range outages {
		t.Run(o.name, func(t *testing.T) {
			t.Parallel()
			r := o.start(t)
			t.Cleanup(func() { r.Stop() }) // one that was restarted has a goroutine
			o.run(t, r)
		})
	}
}

func (o outage) run(t *testing.T, r running) {
	admin := redis.NewClient(&redis.Options{Addr: r.Endpoint().Addrs[0][0], ReadTimeout: 10 * time.Second, MaxRetries: -1})
	defer admin.Close()
	ctx := context.WithoutCancel(t.Context())
	all := startContests(t, r, redislock.Options{TTL: 2 * patience}, func(lockKind) string { return newName() })
	requireNoError(t, o.begin(ctx, r, admin))
	began := time.Now()
	var work sync.WaitGroup
	for _, c := range all {
		work.Go(func() {
			err := c.held.Unlock(ctx)
			if (o.lost != nil || err != nil && time.Since(began) < unlockWait-100*time.Millisecond) && !errors.Is(err, cmp.Or(o.lost, redislock.ErrNotHeld)) {
				t.Errorf("%s: Unlock returned %v after %v", c.kind.name, err, time.Since(began))
			}
		})
	}
	if o.end != nil {
		time.Sleep(unlockWait + time.Second)
		expectNoError(t, o.end(ctx, r, admin))
	}
	over := time.Now()
	work.Wait()
	for _, c := range all {
		c.requireServed(t, over.Add(o.soon))
	}
	t.Logf("all were served after %v", time.Since(over).Round(time.Millisecond))
	left := r.admin(t)
	for _, c := range all {
		waitUntil(t, "nothing is left of "+c.kind.name, func() bool { return len(leftOf(t, left, c.name)) == 0 })
	}
}

const unlockWait = 2 * time.Second

const waitersOfContest = 3

// A contest is a lock of one kind that is held, with waiters.
type contest struct {
	kind   lockKind
	name   string
	held   *redislock.Lease
	queued chan struct{} // one for each that waits
	served chan error    // one for each waiter that has had the lock
}

// startContests starts a contest of each kind, and returns when most of the waiters wait.
func startContests(t *testing.T, r running, o redislock.Options, name func(lockKind) string) (all []contest) {
	t.Helper()
	admin := r.admin(t)
	for _, k := range lockKinds {
		c := contest{k, name(k), nil, make(chan struct{}, waitersOfContest), make(chan error, waitersOfContest)}
		c.held = lockNow(t, k.make(r.client(t), c.name, o))
		for i := range waitersOfContest {
			m := k.make(r.client(t), c.name, o)
			first := sync.OnceFunc(func() { c.queued <- struct{}{} })
			ctx := redislock.WithTrace(t.Context(), &redislock.Trace{Queued: func(locks.QueuedInfo) { first() }})
			go func() { c.served <- c.serve(ctx, m) }()
			if k.fenced && i == 0 {
				waitUntil(t, "the first waits", func() bool { return queueOf(t, admin, c.name) })
			}
		}
		all = append(all, c)
	}
	for _, c := range all {
		for range waitersOfContest {
			select {
			case <-c.queued:
			case <-time.After(100 * time.Millisecond): // a cohort does not report it
			}
		}
	}
	time.Sleep(100 * time.Millisecond) // most often all listen by now
	return all
}

// requireServed checks that every waiter has had the lock by that time.
func (c contest) requireServed(t *testing.T, until time.Time) {
	t.Helper()
	for range waitersOfContest {
		select {
		case err := <-c.served:
			if err != nil {
				t.Errorf("%s: a waiter: %v", c.kind.name, err)
			}
		case <-time.After(time.Until(until)):
			t.Fatalf("%s: a waiter does not have the lock in time", c.kind.name)
		}
	}
}

// serve locks and unlocks m. A waiter that is late for its grant asks again.
func (c contest) serve(ctx context.Context, m redislock.Lockable) error {
	for {
		l, err := m.Lock(ctx)
		if err == nil {
			if c.kind.fenced && l.Token() <= c.held.Token() {
				return fmt.Errorf("token %d after %d", l.Token(), c.held.Token())
			}
			err = l.Unlock(ctx)
		}
		if !errors.Is(err, redislock.ErrLost) {
			return err
		}
	}
}

// TestOutageWithoutEnd: how long a Lock keeps asking, by a virtual clock, and its error.
func TestOutageWithoutEnd(t *testing.T) { synctest.Test(t, outageWithoutEnd) }

func outageWithoutEnd(t *testing.T) {
	rdb := redis.NewClient(&redis.Options{
		Addr: "127.0.0.1:1", MaxRetries: -1, DialerRetries: 1,
		PoolSize: 1000, // after that many failures the pool dials in the background
		Dialer:   func(context.Context, string, string) (net.Conn, error) { return nil, syscall.ECONNREFUSED },
	})
	defer rdb.Close()
	c := redislock.NewClient(rdb, redislock.ClientOptions{})
	defer c.Close()
	var work sync.WaitGroup
	for _, k := range lockKinds {
		const outage = 300 * time.Millisecond
		m := k.make(c, newName(), redislock.Options{Outage: outage})
		expect := func(what string, lock func() error, least time.Duration, wants ...string) {
			began := time.Now()
			err := lock()
			if took := time.Since(began); err == nil || took < least || took > least+5*slack {
				t.Errorf("%s: %s gave up after %v, want %v: %v", k.name, what, took, least, err)
			}
			requireOneLine(t, k.name+": "+what, err, wants...)
		}
		work.Go(func() {
			expect("Lock", func() error { _, err := m.Lock(t.Context()); return err }, outage, "refused")
			expect("TryLock", func() error { _, err := m.TryLock(t.Context()); return err }, 0, "refused")
			if k.name != "Cohort" { // it asks for all of its waiters
				expect("Lock with a deadline", func() error { return lockFor(t, m, 2*outage) }, 2*outage, "deadline exceeded", "refused")
			}
		})
	}
	work.Wait()
}

func lockFor(t *testing.T, m redislock.Lockable, d time.Duration) error {
	ctx, cancel := context.WithTimeout(t.Context(), d)
	defer cancel()
	_, err := m.Lock(ctx)
	return err
}
