package redislock_test

import (
	"context"
	"crypto/rand"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"locklab/harness"
	"locklab/harness/locktest"
	"locklab/internal/faultproxy"
	"locklab/internal/leaktest"
	wireredis "locklab/internal/wire/redis"
)

// TestStepsReject: the trials reject locks with each of the faults that they look for.
func TestStepsReject(t *testing.T) {
	at := locktest.Endpoint(t, harness.KindRedis)
	leaktest.All(t)
	for _, c := range []struct {
		name string
		naive
		step
		want string
	}{
		{"no fault of the lock", naive{}, step{op: "ping", when: alone}, "shows nothing"},
		{"a lock for no client", naive{open: true}, step{op: "set", when: behind}, "at once"},
		{"a lost reply leaves an orphan", naive{}, step{op: "set", when: alone}, "deadline"},
		{"a key is left behind", naive{littering: true}, step{op: "set", when: behind}, "still"},
		{"a lost reply to the release", naive{}, step{op: "del", when: leave}, "unlock: EOF"},
	} {
		v := &harness.Variant{Name: "naive", Remote: func(_ context.Context, at harness.Endpoint, key string) (harness.Remote, error) {
			client, _, err := wireredis.Connect(at)
			n := c.naive
			n.Client, n.key = client, "locklab:{"+key+"}"
			return n, err
		}}
		tr := &trial{at: at, v: v, step: c.step, do: faultproxy.LoseReply, patience: time.Second}
		err := tr.run(t.Context())
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want an error with %q", c.name, err, c.want)
		}
		tr.see = dial(t, at).Client
		left, err := tr.left(t.Context())
		if err == nil && len(left) > 0 {
			err = tr.see.Del(t.Context(), left...).Err()
		}
		expectNoError(t, err)
	}
}

type naive struct {
	*redis.Client
	key             string
	open, littering bool
}

func (n naive) Join(context.Context, int) (harness.Session, error) { return naiveSession{n}, nil }

type naiveSession struct{ naive }

func (naiveSession) Close() error { return nil }

func (n naiveSession) Lock(ctx context.Context) (harness.Lease, error) {
	for ; ; time.Sleep(5 * time.Millisecond) {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		taken, err := n.SetNX(ctx, n.key, rand.Text(), time.Minute).Result()
		if n.littering {
			n.Set(ctx, n.key+"-litter", "x", time.Minute)
		}
		if err == nil && (taken || n.open) {
			return naiveLease{n}, nil
		}
	}
}

type naiveLease struct{ n naiveSession }

func (l naiveLease) Unlock(ctx context.Context) error { return l.n.Del(ctx, l.n.key).Err() }
func (naiveLease) Token() uint64                      { return 0 }
func (naiveLease) Done() <-chan struct{}              { return nil }
func (naiveLease) Err() error                         { return nil }
func (naiveLease) Deadline() (time.Time, bool)        { return time.Time{}, false }
