package redislock_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"

	"golang.org/x/sync/errgroup"

	"locklab/harness"
	"locklab/harness/locktest"
	"locklab/internal/leaktest"
	"locklab/redislock"
)

func TestQueue(t *testing.T) {
	at := locktest.Endpoint(t, harness.KindRedis)
	leaktest.All(t)
	for _, test := range []serverTest{
		{"requests at any number of waiters", queueCommands},
		{"tokens", queueTokens},
		{"renewal of a grant", queueGrantRenewed},
		{"cancelled: middle", queueCancelMiddle},
		{"all notifications read late", queueAllLate},
		{"many waiters whose notifications are read late", queueManyLate},
		{"late notification to another", queueLateToAnother},
		{"grant to a waiter that has gone", queueGrantToNone},
		{"many that wait", manyWaitersAsk},
		{"long queue", queueLongQueue},
	} {
		t.Run(test.name, func(t *testing.T) {
			leaktest.All(t)
			test.run(t, at)
		})
	}
	runBeside(t, at, []serverTest{ // they mostly wait for timeouts, far above concurrent load
		{"fixed", queueFixed},
		{"dead waiters of one process", queueDeadProcess},
		{"Unlock past the lease", queueLateUnlock},
		{"the one that handed over leaves", queueGuardLeaves},
		{"cancelled: notification in flight", queueCancelGranted},
		{"lost reply to Unlock", queueLostUnlock},
		{"reader killed", queueReaderKilled},
		{"place left behind", queueLeftPlace},
		{"mailbox of a dead waiter", queueMailboxOfDead},
	})
}

// runBeside runs some tests at a time. The caller checks for leaked timers.
func runBeside(t *testing.T, at harness.Endpoint, tests []serverTest) {
	const some = 4 // the longest waits for a quarter of the total
	var all errgroup.Group
	all.SetLimit(some)
	for _, test := range tests {
		all.Go(func() error {
			t.Run(test.name, func(t *testing.T) {
				leaktest.Own(t)
				test.run(t, at)
			})
			return nil
		})
	}
	_ = all.Wait() // no error: the tests report it
}

// queueCommands: an acquisition costs three requests at any number of processes, with one Mutex
// or one for each acquisition, and two if all waiters are in one process.
func queueCommands(t *testing.T, at harness.Endpoint) {
	for _, test := range []struct {
		processes, waiters int // waiters of each process
		fresh              bool
		most               float64
	}{{8, 1, false, 3.1}, {50, 1, false, 3.1}, {8, 1, true, 3.1}, {1, 50, false, 2.1}} {
		key, peers := newKey(), make([]*peer, test.processes)
		requireNoError(t, redislock.LoadQueueScripts(t.Context(), dial(t, at)))
		var times atomic.Int64
		ctx, stop := context.WithCancel(t.Context())
		var all sync.WaitGroup
		for i := range peers {
			peers[i] = newPeer(t, at)
			for range test.waiters {
				all.Go(func() { lockUntil(ctx, peers[i], key, test.fresh, &times) })
			}
		}
		n := int64(test.processes * test.waiters)
		eventually(t, "all have come", func() bool { return times.Load() > 3*n })
		count := func() (sum uint64) {
			for _, p := range peers {
				sum += p.counts()
			}
			return sum
		}
		requests, from := count(), times.Load()
		eventually(t, "some acquisitions", func() bool { return times.Load() > from+max(20*n, 800) })
		cost := float64(count()-requests) / float64(times.Load()-from)
		stop()
		all.Wait()
		t.Logf("%+v: %.3f requests an acquisition", test, cost)
		if cost > test.most {
			t.Errorf("%+v: %.2f requests an acquisition", test, cost)
		}
		for _, p := range peers {
			eventually(t, "nothing is left", func() bool { return redislock.Mailboxes(p.Client) == 0 })
			if open := len(p.mail.open()); open > 1 {
				t.Errorf("%d connections listened, want 1", open)
			}
		}
	}
}

// lockUntil locks and unlocks until ctx ends, by a fresh Mutex each time or one for all.
func lockUntil(ctx context.Context, p *peer, key string, fresh bool, times *atomic.Int64) {
	m := p.Mutex(key, redislock.Options{})
	for {
		if fresh {
			m = p.Mutex(key, redislock.Options{})
		}
		l, err := m.Lock(ctx)
		if err != nil {
			return
		}
		times.Add(1)
		l.Unlock(ctx)
	}
}

// queueTokens: tokens rise, though the server loses its counter.
func queueTokens(t *testing.T, at harness.Endpoint) {
	watch, key := dial(t, at), newKey()
	var last uint64
	for range 3 { // each time a new process
		m := newPeer(t, at).Mutex(key, redislock.Options{})
		l := lock(t, m)
		w := enqueue(t, watch, m)
		unlock(t, l)
		next, _ := w.lease(t)
		unlock(t, next)
		if l.Token() <= last || next.Token() <= l.Token() {
			t.Errorf("tokens %d and %d after %d", l.Token(), next.Token(), last)
		}
		last = next.Token()
		watch.Del(t.Context(), key+":~token") // as if the data were lost
	}
}
