//go:build linux || darwin || freebsd

package redislock_test

import (
	"context"
	"errors"
	"flag"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"golang.org/x/sys/unix"

	"locklab/redislock"
)

var failovers = flag.Int("failovers", 1, "trials of each row of TestFailover, in which Sentinel promotes a replica")

type fall struct {
	running
	t               *testing.T
	primary, backup *redis.Client
}

func newFall(t *testing.T, r running) *fall {
	addrs := r.Endpoint().Addrs[0]
	f := &fall{r, t, redis.NewClient(&redis.Options{Addr: addrs[0]}), redis.NewClient(&redis.Options{Addr: addrs[1]})}
	t.Cleanup(func() { f.primary.Close(); f.backup.Close() })
	return f
}

func (f *fall) signal(i int, s unix.Signal) {
	f.t.Helper()
	requireNoError(f.t, f.Signal(i, s))
}

func (f *fall) info(c *redis.Client, want string) {
	f.t.Helper()
	eventually(f.t, want, func() bool {
		return strings.Contains(c.Info(f.t.Context(), "replication").Val(), want)
	})
}

// part cuts the replica off: it gets no later write of the primary.
func (f *fall) part() {
	f.t.Helper()
	f.signal(1, unix.SIGSTOP) // else it would connect again at once
	requireNoError(f.t, f.primary.ClientKillByFilter(f.t.Context(), "TYPE", "replica").Err())
	f.info(f.primary, "connected_slaves:0")
}

func (f *fall) promote() (took time.Duration) {
	f.t.Helper()
	began := time.Now()
	f.signal(0, unix.SIGKILL)
	f.signal(1, unix.SIGCONT)
	f.info(f.backup, "role:master")
	return time.Since(began)
}

// after locks m, and repeats failures while there is no primary.
func (f *fall) after(m redislock.Lockable) *redislock.Lease {
	f.t.Helper()
	return take(f.t, patient(f, m))
}

const retry = 10 * time.Millisecond

// TestFailover reports how often each claim of the package comment held.
func TestFailover(t *testing.T) {
	rows := []struct {
		name, claim string
		trial       func(f *fall) bool
	}{
		{"before replication: INCR", "a counter gives a number a second time", counterFalls},
		{"before replication: equal clocks", "the token rises", tokenRises},
		{"before replication: release", "the lock stays taken until its lease is over", releaseLost},
		{"after replication: the primary dies", "holders keep their locks, and hand them over to the waiters", nothingLost},
		{"after replication: the primary hangs", "it is handed over to the waiters, which notice", primaryHangs},
	}
	happened := make([]int, len(rows))
	for range *failovers {
		t.Run("trial", func(t *testing.T) {
			servers := startAll(t, slices.Repeat([]deployment{deployments[1]}, len(rows))...)
			t.Run("all", func(t *testing.T) { // their clients close before the servers do
				var all sync.WaitGroup
				defer all.Wait()
				for i, r := range servers {
					f := newFall(t, r)
					all.Go(func() {
						if rows[i].trial(f) {
							happened[i]++
						}
					})
				}
			})
		})
	}
	for i, row := range rows {
		t.Logf("%s: %s: %d of %d", row.name, row.claim, happened[i], *failovers)
		if happened[i] != *failovers {
			t.Errorf("%s: %s in %d of %d trials only", row.name, row.claim, happened[i], *failovers)
		}
	}
}

// failoverLease is longer than a failover, so that renewal notifies the old holder.
const failoverLease = 12 * time.Second

func double(f *fall, lock func(c *redislock.Client) redislock.Lockable) (old, next *redislock.Lease) {
	f.t.Helper()
	a, b := f.client(f.t), f.client(f.t)
	f.part()
	old, err := lock(a).Lock(f.t.Context())
	requireNoError(f.t, err)
	f.promote()
	return old, f.after(lock(b))
}

// ends checks that the lease of the old holder ends before its deadline, the next one not.
func ends(f *fall, old, next *redislock.Lease) {
	f.t.Helper()
	until, _ := old.Deadline()
	began := time.Now()
	select {
	case <-old.Done():
		f.t.Logf("Done is closed %v after the next holder began", time.Since(began))
	case <-time.After(time.Until(until) + slack):
		f.t.Error("the old holder is never told")
	}
	lost(f.t, old)
	expectNoError(f.t, next.Unlock(f.t.Context()))
}

func tokenRises(f *fall) bool {
	name := newName()
	old, next := double(f, func(c *redislock.Client) redislock.Lockable {
		return c.Mutex(name, redislock.Options{TTL: failoverLease})
	})
	ends(f, old, next)
	return next.Token() > old.Token()
}

func counterFalls(f *fall) bool {
	name := newName()
	if f.primary.Incr(f.t.Context(), name).Val() != 1 || f.primary.Wait(f.t.Context(), 1, patience).Val() != 1 {
		f.t.Error("the counter does not begin")
	}
	f.part()
	before := f.primary.Incr(f.t.Context(), name).Val()
	f.promote()
	return f.backup.Incr(f.t.Context(), name).Val() <= before
}

func releaseLost(f *fall) bool {
	const lease = 5 * time.Second
	name := newName()
	o := redislock.Options{TTL: lease, DisableRenewal: true}
	began := time.Now()
	old := lock(f.t, f.client(f.t).Mutex(name, o))
	if f.primary.Wait(f.t.Context(), 1, patience).Val() != 1 {
		f.t.Error("the lock is not replicated")
	}
	f.part()
	unlock(f.t, old)
	f.promote()
	next := f.after(f.client(f.t).Mutex(name, o))
	took := time.Since(began)
	defer next.Unlock(f.t.Context())
	f.t.Logf("a release was lost: the next holder began %v after the last, whose lease was %v", took, lease)
	return took > lease-slack && took < 2*lease && next.Token() > old.Token()
}

// A contest is a lock of one kind that is held, with waiters.
type contest struct {
	kind    lockKind
	held    *redislock.Lease
	waiters []<-chan *redislock.Lease
}

// startContests starts a contest of each kind, and returns when the locks are replicated.
func (f *fall) startContests(waiters int, o redislock.Options) (all []contest) {
	for _, k := range lockKinds {
		name := newName()
		c := contest{kind: k, held: lock(f.t, k.make(f.client(f.t), name, o))}
		for range waiters {
			c.waiters = append(c.waiters, patient(f, k.make(f.client(f.t), name, o)))
		}
		all = append(all, c)
	}
	time.Sleep(100 * time.Millisecond) // all wait
	if f.primary.Wait(f.t.Context(), 1, patience).Val() != 1 {
		f.t.Error("the locks are not replicated")
	}
	return all
}

func nothingLost(f *fall) bool {
	all := f.startContests(1, redislock.Options{TTL: failoverLease, HandoffTimeout: calm.HandoffTimeout})
	f.promote()
	good := true
	for _, c := range all {
		if err := c.held.Err(); err != nil {
			f.t.Errorf("%s: a lock that was replicated is lost: %v", c.kind.name, err)
		}
		f.unlockAfter(c.kind.name, c.held)
		began := time.Now()
		l := <-c.waiters[0]
		if l == nil {
			good = false
			continue
		}
		f.t.Logf("%s: handover after a failover took %v", c.kind.name, time.Since(began))
		if c.kind.fenced && l.Token() <= c.held.Token() {
			f.t.Errorf("%s: token %d after %d", c.kind.name, l.Token(), c.held.Token())
		}
		f.unlockAfter(c.kind.name, l)
	}
	return good
}

// primaryHangs: every waiter has the lock long before the holder's lease would be over.
func primaryHangs(f *fall) bool {
	const lease = 2 * patience
	all := f.startContests(2, redislock.Options{TTL: lease})
	f.signal(0, unix.SIGSTOP)
	defer f.signal(0, unix.SIGCONT)
	f.info(f.backup, "role:master")
	began := time.Now()
	var workers sync.WaitGroup
	for _, c := range all {
		workers.Go(func() {
			f.unlockAfter(c.kind.name, c.held)
			for _, waiter := range c.waiters {
				workers.Go(func() {
					if l := <-waiter; l != nil {
						f.unlockAfter(c.kind.name, l)
					}
				})
			}
		})
	}
	workers.Wait()
	longest := time.Since(began)
	f.t.Logf("all waiters have had it %v after their primary, which hung, was replaced", longest)
	return longest < lease/2
}

func (f *fall) unlockAfter(name string, l *redislock.Lease) {
	if err := l.Unlock(f.t.Context()); err != nil {
		f.t.Errorf("%s: Unlock after a failover: %v", name, err)
	}
}

func patient(f *fall, m redislock.Lockable) <-chan *redislock.Lease {
	got := make(chan *redislock.Lease, 1)
	go func() {
		ctx, cancel := context.WithTimeout(f.t.Context(), 2*patience)
		defer cancel()
		defer close(got)
		for {
			l, err := m.Lock(ctx)
			if err == nil {
				got <- l
				return
			}
			if errors.Is(err, ctx.Err()) {
				f.t.Error(err)
				return
			}
			time.Sleep(retry)
		}
	}()
	return got
}
