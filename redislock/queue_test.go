package redislock_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/errgroup"

	"locklab/harness"
	"locklab/harness/locktest"
	"locklab/internal/leaktest"
	"locklab/redislock"
)

func TestQueue(t *testing.T) {
	at := locktest.Endpoint(t, harness.KindRedis)
	leaktest.All(t)
	var patient []serverTest
	defer func() { runBeside(t, at, patient) }()
	for _, test := range []serverTest{
		{"requests at any number of waiters", queueCommands},
		{"requests while it is kept", queueCommandsKept},
		{"a thousand waiters over one connection", queueThousand},
		{"tokens", queueTokens},
		{"renewal", queueRenewal},
		{"renewal of a grant", queueGrantRenewed},
		{"renewals in one batch", queueBatch},
		{"fixed", queueFixed},
		{"reading ends", queueLinger},
		{"blocking client that repeats", queueRepeats},
		{"dead waiters of one process", queueDeadProcess},
		{"Unlock past the lease", queueLateUnlock},
		{"the one that handed over leaves", queueGuardLeaves},
		{"cancelled: first", queueCancelFirst},
		{"cancelled: middle", queueCancelMiddle},
		{"cancelled: notification in flight", queueCancelGranted},
		{"lost reply to Lock", queueLostLock},
		{"lost reply to Unlock", queueLostUnlock},
		{"lost reply to renewal", queueLostRenewal},
		{"reader killed", queueReaderKilled},
		{"no script", queueNoScript},
		{"all notifications read late", queueAllLate},
		{"many waiters whose notifications are read late", queueManyLate},
		{"late notification to another", queueLateToAnother},
		{"silent server", queueSilent},
		{"place left behind", queueLeftPlace},
		{"grant to a waiter that has gone", queueGrantToNone},
		{"mailbox of a dead waiter", queueMailboxOfDead},
		{"many that wait", manyWaitersAsk},
		{"long queue", queueLongQueue},
	} {
		if waitsMostly[test.name] {
			patient = append(patient, test)
			continue
		}
		t.Run(test.name, func(t *testing.T) {
			leaktest.All(t)
			test.run(t, at)
		})
	}
}

// waitsMostly are tests that mostly wait for timeouts, far above concurrent load.
var waitsMostly = map[string]bool{
	"requests while it is kept":         true,
	"fixed":                             true,
	"reading ends":                      true,
	"dead waiters of one process":       true,
	"Unlock past the lease":             true,
	"the one that handed over leaves":   true,
	"cancelled: first":                  true,
	"cancelled: notification in flight": true,
	"lost reply to Unlock":              true,
	"lost reply to renewal":             true,
	"reader killed":                     true,
	"silent server":                     true,
	"place left behind":                 true,
	"mailbox of a dead waiter":          true,
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
		cost := perAcquisition(peers, &times, func() {
			from := times.Load()
			eventually(t, "some acquisitions", func() bool { return times.Load() > from+max(20*n, 800) })
		})
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

func perAcquisition(peers []*peer, times *atomic.Int64, wait func()) float64 {
	count := func() (sum uint64) {
		for _, p := range peers {
			sum += p.counts()
		}
		return sum
	}
	requests, from := count(), times.Load()
	wait()
	return float64(count()-requests) / float64(times.Load()-from)
}

func queueCommandsKept(t *testing.T, at harness.Endpoint) {
	const hold, few = time.Second, 4
	watch := dial(t, at)
	// The first use of a script sends it once more, which is not counted here.
	requireNoError(t, redislock.LoadQueueScripts(t.Context(), watch))
	var cost [2]float64
	var both, measured sync.WaitGroup
	defer both.Wait()
	for k, n := range []int{8, 50} {
		key := newKey()
		peers := make([]*peer, n+1)
		for i := range peers {
			peers[i] = newPeer(t, at)
		}
		first := lock(t, peers[n].Mutex(key, redislock.Options{}))
		var times atomic.Int64
		for _, p := range peers[:n] {
			w := enqueue(t, watch, p.Mutex(key, redislock.Options{}))
			both.Go(func() {
				if g := <-w.got; g.err == nil {
					time.Sleep(hold)
					times.Add(1)
					g.l.Unlock(t.Context())
				}
			})
			defer w.cancel()
		}
		measured.Go(func() {
			time.Sleep(200 * time.Millisecond) // all listen
			cost[k] = perAcquisition(peers, &times, func() {
				first.Unlock(t.Context())
				for times.Load() < few && t.Context().Err() == nil {
					time.Sleep(time.Millisecond)
				}
			})
		})
	}
	measured.Wait()
	t.Logf("8 and 50 processes: %.2f and %.2f requests an acquisition", cost[0], cost[1])
	if d := cost[1] - cost[0]; d > 0.5 || d < -0.5 {
		t.Errorf("50 processes cost %.2f requests an acquisition, 8 cost %.2f", cost[1], cost[0])
	}
}

func queueThousand(t *testing.T, at harness.Endpoint) {
	const n = 1000
	watch := dial(t, at)
	p := newPeer(t, at, func(o *redis.Options) { o.PoolSize = 1 })
	m := p.Mutex(newKey(), redislock.Options{})
	first := lock(t, m)
	ws := make([]*waiter, n)
	for i := range ws {
		ws[i] = enqueue(t, watch, m)
	}
	unlock(t, first)
	for i, w := range ws {
		l, _ := w.lease(t)
		if i+1 < n {
			select {
			case <-ws[i+1].got:
				t.Fatalf("waiter %d is served before %d has left", i+1, i)
			default:
			}
		}
		unlock(t, l)
	}
	for _, c := range []*link{p.link, p.mail} {
		if open := len(c.open()); open > 1 {
			t.Errorf("%d connections are open, want 1", open)
		}
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

func queueRepeats(t *testing.T, at harness.Endpoint) {
	c := dial(t, at)
	p := redislock.NewClient(c.Client, redislock.ClientOptions{Blocking: redis.NewClient(&redis.Options{Addr: at.Addrs[0][0]})})
	defer p.Close()
	_, err := p.Mutex(newKey(), redislock.Options{}).Lock(t.Context())
	if !errors.Is(err, redislock.ErrUsage) || !strings.Contains(fmt.Sprint(err), "MaxRetries") {
		t.Errorf("Lock = %v, want a hint to MaxRetries", err)
	}
}
