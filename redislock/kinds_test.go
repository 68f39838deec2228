package redislock_test

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"locklab/harness"
	"locklab/redislock"
)

func TestKinds(t *testing.T) {
	runOnServer(t, []serverTest{
		{"context that ends late", lateContext},
		{"pauses of a poll", pollPauses},
		{"pubsub: requests", pubsubRequests},
	})
}

// before returns a hook that calls do once, before the first command with one of these names.
func before(names []string, do func()) hook {
	var done atomic.Bool
	return func(ctx context.Context, cmd redis.Cmder, next redis.ProcessHook) error {
		if slices.Contains(names, cmd.Name()) && !done.Swap(true) {
			do()
		}
		return next(ctx, cmd)
	}
}

func begun(t *testing.T, m redislock.Lockable) <-chan *redislock.Lease {
	t.Helper()
	got := make(chan *redislock.Lease, 1)
	go func() {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		l, err := m.Lock(ctx)
		if err != nil {
			t.Error(err)
			close(got)
			return
		}
		got <- l
	}()
	return got
}

func take(t *testing.T, got <-chan *redislock.Lease) *redislock.Lease {
	t.Helper()
	l := <-got
	if l == nil {
		t.FailNow()
	}
	return l
}

type late struct {
	context.Context
	deadline time.Time
}

func (c late) Deadline() (time.Time, bool) { return c.deadline, true }

func lateContext(t *testing.T, at harness.Endpoint) {
	m := pollMutex(t, dial(t, at), newKey(), redislock.Options{})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	time.AfterFunc(200*time.Millisecond, cancel)
	if _, err := m.Lock(late{ctx, time.Now().Add(-time.Millisecond)}); !errors.Is(err, context.Canceled) {
		t.Errorf("Lock past the deadline = %v, want the error of the context", err)
	}
}

func pollPauses(t *testing.T, at harness.Endpoint) {
	client, key := newClient(t, dial(t, at)), newKey()
	l := lock(t, client.PollMutex(key, redislock.PollOptions{}))
	var asked []int
	m := client.PollMutex(key, redislock.PollOptions{Pause: func(n int) time.Duration {
		if asked = append(asked, n); n == 3 {
			unlock(t, l)
		}
		return time.Millisecond
	}})
	unlock(t, lock(t, m))
	if len(asked) != 3 || asked[0] != 1 || asked[2] != 3 {
		t.Errorf("Pause was called for %v, want 1, 2 and 3", asked)
	}
}

func TestBackoff(t *testing.T) {
	const first, most = time.Millisecond, 128 * time.Millisecond
	pause := redislock.Backoff(first, most)
	for _, test := range []struct {
		n     int
		bound time.Duration
	}{
		{-1, first}, {0, first}, {1, first}, {2, 2 * first}, {5, 16 * first}, {8, most}, {9, most}, {70, most}, {1 << 40, most},
	} {
		var longest time.Duration
		for range 1000 {
			d := pause(test.n)
			if d < 0 || d > test.bound {
				t.Fatalf("pause %d is %v, want at most %v", test.n, d, test.bound)
			}
			longest = max(longest, d)
		}
		if longest < test.bound/2 { // by chance once in 2^1000 runs
			t.Errorf("the longest of 1000 pauses %d is %v, want more of %v", test.n, longest, test.bound)
		}
	}
	if d := redislock.Backoff(time.Hour, time.Second)(1); d > time.Second {
		t.Errorf("a first pause of %v, more than the most", d)
	}
}

func pubsubRequests(t *testing.T, at harness.Endpoint) {
	c, w := dial(t, at), dial(t, at)
	key := newKey()
	m := newClient(t, c).PubSubMutex(key, redislock.Options{})
	l := lock(t, m)
	before := w.Counts()
	got := begun(t, newClient(t, w).PubSubMutex(key, redislock.Options{}))
	time.Sleep(300 * time.Millisecond)
	if n := w.Counts().Sub(before).Requests; n != 3 {
		t.Errorf("a waiter sent %d requests in 300 ms, want 3: to subscribe, before that and after", n)
	}
	unlock(t, l)
	unlock(t, take(t, got))
	if n := w.Counts().Sub(before).Requests; n != 5 {
		t.Errorf("a wait and a release cost %d requests, want 5", n)
	}
}
