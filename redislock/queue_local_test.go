package redislock_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"locklab/harness"
	"locklab/harness/locktest"
	"locklab/redislock"
)

// TestQueueLocal: handovers within a process, whose notifications come with replies.
func TestQueueLocal(t *testing.T) {
	runAlone(t, locktest.Endpoint(t, harness.KindRedis), []serverTest{
		{"lost reply", localLostReply},
		{"lost reply to a waiter that gives up", localLostLeave},
		{"no reply", localNoReply},
		{"readers", localReaders},
	})
}

// localLostReply: the notification was in the lost reply. Every waiter asks.
func localLostReply(t *testing.T, at harness.Endpoint) {
	const grant = 2 * time.Second
	for name, tweak := range map[string]func(*redis.Options){"by us": func(*redis.Options) {}, "by the library": retryThrice} {
		watch, key := dialServer(t, at), newKey()
		m := newPeer(t, at).Mutex(key, redislock.Options{HandoffTimeout: grant}) // no effect
		p := newPeer(t, at, tweak)
		hurt := p.Mutex(key, redislock.Options{HandoffTimeout: grant})
		l := lockNow(t, hurt)
		a, b, c := enqueueWaiter(t, watch, hurt), enqueueWaiter(t, watch, hurt), enqueueWaiter(t, watch, m)
		p.lose.Store(1)
		_ = l.Unlock(t.Context()) // it fails if the library has repeated the request
		left := time.Now()
		for _, w := range []*waiter{a, b, c} { // in their order
			l, came := w.lease(t)
			requireBetween(t, "a handover whose reply was lost, repeated "+name, came.Sub(left), -time.Second, 0)
			unlockLease(t, l)
			left = time.Now()
		}
	}
}

// localLostLeave: a waiter gives up just as it gets the lock, and the reply to its request,
// with the next notification, is lost.
func localLostLeave(t *testing.T, at harness.Endpoint) {
	o := redislock.Options{HandoffTimeout: 10 * time.Second}
	for _, name := range deathKinds {
		watch, key := dialServer(t, at), newKey()
		l := lockNow(t, kinds[name](newPeer(t, at).Client, key, o))
		p := newPeer(t, at, retryThrice)
		m := kinds[name](p.Client, key, o).(keyed)
		a, b := enqueueWaiter(t, watch, m), enqueueWaiter(t, watch, m)
		waitUntil(t, "it listens", func() bool { return p.mail.Counts().Requests > 1 })
		p.mail.delay.Store(int64(time.Second))
		unlockLease(t, l) // the server has the script from now on
		time.Sleep(50 * time.Millisecond)
		p.lose.Store(1)
		left := time.Now()
		a.withdraw(t) // its notification is on its way
		next, came := b.lease(t)
		requireBetween(t, "a handover whose reply was lost, of a "+name, came.Sub(left), 0, 0)
		unlockLease(t, next)
		p.mail.delay.Store(0)
	}
}

// localNoReply: the reply to a release does not come, nor the notification in it. The waiter is in
// the queue before the release begins, or joins it then.
func localNoReply(t *testing.T, at harness.Endpoint) {
	const grant = 300 * time.Millisecond
	for _, early := range []bool{true, false} {
		watch, key := dialServer(t, at), newKey()
		requireNoError(t, redislock.LoadQueueScripts(t.Context(), watch.client))
		p := newPeer(t, at)
		m := p.Mutex(key, redislock.Options{HandoffTimeout: grant})
		l := lockNow(t, m)
		var w *waiter
		join := func() {
			w = enqueueWaiter(t, watch, m)
			waitUntil(t, "it listens", func() bool { return p.mail.Counts().Requests > 1 })
		}
		if early {
			join()
		}
		begun, resume, gone := make(chan struct{}), make(chan struct{}), make(chan struct{})
		p.link.client.AddHook(beforeCommand([]string{"evalsha"}, func() {
			close(begun)
			<-resume
		}))
		go func() {
			defer close(gone)
			_ = l.Unlock(t.Context())
		}()
		<-begun
		if !early {
			join()
		}
		p.link.delay.Store(int64(5 * grant))
		left := time.Now()
		close(resume)
		waitUntil(t, "it was handed over", func() bool { return countWaiting(t, watch, key) == 0 })
		time.Sleep(50 * time.Millisecond) // its reply is on its way
		p.link.delay.Store(0)             // for other requests
		next, came := w.lease(t)
		requireBetween(t, "a handover whose reply does not come", came.Sub(left), 0, grant)
		<-gone
		expectNoError(t, next.Err())
		unlockLease(t, next)
	}
}

// localReaders: readers of one process, in one mailbox, renew their leases together.
func localReaders(t *testing.T, at harness.Endpoint) {
	const n, most, grant = 300, 150, 3 * time.Second
	watch, key := dialServer(t, at), newKey()
	c := dialServer(t, at)
	server := new(restarted)
	c.client.AddHook(server)
	// A busy machine starts 300 slowly; the watchdog finds some at each run.
	m := newClient(t, c).RWMutex(key, redislock.Options{HandoffTimeout: grant})
	l := lockNow(t, m)
	admitted := make(chan *redislock.Lease, n)
	for range n {
		go func() {
			r, err := m.RLock(t.Context())
			expectNoError(t, err)
			admitted <- r
		}()
	}
	waitUntil(t, "all wait", func() bool { return countWaiting(t, watch, key) == n })
	before := server.sent.Load()
	unlockLease(t, l)
	var readers []*redislock.Lease // all at once
	for range n {
		if r := <-admitted; r != nil {
			readers = append(readers, r)
		}
	}
	for _, r := range readers {
		waitUntil(t, "it has a whole lease", func() bool {
			until, _ := r.Deadline()
			return time.Until(until) > 2*grant || r.Err() != nil
		})
	}
	if sent := server.sent.Load() - before; sent > most {
		t.Errorf("the release, and the first renewal of %d leases, went out in %d batches, want at most %d", n, sent, most)
	} else {
		t.Logf("the release, and the first renewal of %d leases, went out in %d batches", n, sent)
	}
	for _, r := range readers {
		unlockLease(t, r)
	}
}

type restarted struct {
	passThrough
	sent atomic.Int64 // batches with scripts, and scripts sent alone
	done atomic.Bool
}

func (r *restarted) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		r.count(cmd)
		return next(ctx, cmd)
	}
}

func (r *restarted) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		if r.count(cmds[0]) && len(cmds) > 1 && !r.done.Swap(true) {
			for _, cmd := range cmds {
				cmd.Args()[1] = noScriptHash
			}
		}
		return next(ctx, cmds)
	}
}

func (r *restarted) count(cmd redis.Cmder) bool {
	runs := strings.HasPrefix(cmd.Name(), "eval")
	if runs {
		r.sent.Add(1)
	}
	return runs
}
