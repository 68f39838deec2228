package redislock

import (
	"context"
	"testing"

	"github.com/redis/go-redis/v9"

	"locklab/lock"
)

type instant struct {
	redis.Scripter
	reply *redis.Cmd
}

func (s instant) EvalSha(context.Context, string, []string, ...any) *redis.Cmd { return s.reply }

// TestTraceAbsent: without a Trace no step allocates more.
func TestTraceAbsent(t *testing.T) {
	ctx, cancel := context.WithCancel(context.WithValue(t.Context(), t, "something else"))
	defer cancel()
	c := NewClient(nil, ClientOptions{})
	defer c.Close()
	l := &Lease{c: c, ending: ending{alive: context.Background()}}
	step := call{exclusive.release, []string{"a", "b", "c", "d"}, []any{"nonce", 500}}
	server := instant{reply: new(redis.Cmd)}
	begin := func(context.Context) (*Lease, error) { return l, nil }
	for _, test := range []struct {
		name      string
		with, bar func()
	}{
		{"hooks", func() {
			tr := lock.TraceOf(ctx)
			tr.TellQueued("k", 3)
			tr.TellWoken("k", WakeGrant)
			l.released()
		}, func() {}},
		{"request",
			func() { step.run(ctx, server) },
			func() { step.script.Run(ctx, server, step.keys, step.args...) }},
		{"Lock",
			func() { c.await(ctx, "k", 0, begin) },
			func() {
				lock.Await(ctx, c.admit, ErrClosed,
					func() (*Lease, error) { return begin(ctx) },
					func(l *Lease) { l.release(ctx, l.finish(ErrReleased)) })
			}},
	} {
		// The least of some runs: goroutines of others may allocate meanwhile.
		least := func(f func()) float64 {
			n := testing.AllocsPerRun(500, f)
			for range 4 {
				n = min(n, testing.AllocsPerRun(500, f))
			}
			return n
		}
		if got, want := least(test.with), least(test.bar); got > want {
			t.Errorf("%s: %v allocations, %v without the hooks", test.name, got, want)
		}
	}
	// The test can fail: with a Trace there is something to pay.
	traced := WithTrace(ctx, &Trace{Queued: func(QueuedInfo) {}})
	if lock.TraceOf(traced) == nil || lock.TraceOf(ctx) != nil {
		t.Error("the Trace is not where it should be")
	}
}
