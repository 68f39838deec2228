package redislock

import (
	"context"
	"testing"

	"github.com/redis/go-redis/v9"

	"locklab/internal/lease"
)

// An instant server answers every script at once.
type instant struct {
	redis.Scripter
	reply *redis.Cmd
}

func (s instant) EvalSha(context.Context, string, []string, ...any) *redis.Cmd { return s.reply }

// TestTraceAbsent: without a Trace each step costs what it would cost if there
// were none, in allocations.
func TestTraceAbsent(t *testing.T) {
	ctx, cancel := context.WithCancel(context.WithValue(t.Context(), t, "something else"))
	defer cancel()
	c := NewClient(nil, ClientOptions{})
	defer c.Close()
	l := &Lease{c: c, alive: context.Background()}
	step := call{exclusive.release, []string{"a", "b", "c", "d"}, []any{"nonce", 500}}
	server := instant{reply: new(redis.Cmd)}
	begin := func(context.Context) (*Lease, error) { return l, nil }
	for _, test := range []struct {
		name      string
		with, bar func()
	}{
		{"hooks", func() {
			tr := traceOf(ctx)
			tr.queued("k", 3)
			tr.woken("k", WakeGrant)
			l.released()
		}, func() {}},
		{"request",
			func() { step.run(ctx, server) },
			func() { step.script.Run(ctx, server, step.keys, step.args...) }},
		{"Lock",
			func() { c.await(ctx, "k", 0, begin) },
			func() {
				lease.Await(ctx, c.admit, ErrClosed,
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
	if traceOf(traced) == nil || traceOf(ctx) != nil {
		t.Error("the Trace is not where it should be")
	}
}

// TestWithTrace: an earlier Trace hears everything too.
func TestWithTrace(t *testing.T) {
	var heard []string
	note := func(name string) *Trace {
		return &Trace{
			Sent:          func(SentInfo) { heard = append(heard, name+" sent") },
			Answered:      func(AnsweredInfo) { heard = append(heard, name+" answered") },
			Queued:        func(QueuedInfo) { heard = append(heard, name+" queued") },
			Woken:         func(WokenInfo) { heard = append(heard, name+" woken") },
			Granted:       func(GrantedInfo) { heard = append(heard, name+" granted") },
			Failed:        func(FailedInfo) { heard = append(heard, name+" failed") },
			Renewed:       func(RenewedInfo) { heard = append(heard, name+" renewed") },
			RenewalFailed: func(RenewalFailedInfo) { heard = append(heard, name+" renewal failed") },
			Released:      func(ReleasedInfo) { heard = append(heard, name+" released") },
			Lost:          func(LostInfo) { heard = append(heard, name+" lost") },
		}
	}
	ctx := WithTrace(WithTrace(WithTrace(t.Context(), &Trace{}), note("outer")), note("inner"))
	tr := traceOf(ctx)
	tell(tr.Sent, SentInfo{})
	tell(tr.Answered, AnsweredInfo{})
	tr.queued("", 0)
	tr.woken("", WakeTime)
	tell(tr.Granted, GrantedInfo{})
	tell(tr.Failed, FailedInfo{})
	tell(tr.Renewed, RenewedInfo{})
	tell(tr.RenewalFailed, RenewalFailedInfo{})
	tell(tr.Released, ReleasedInfo{})
	tell(tr.Lost, LostInfo{})
	events := []string{"sent", "answered", "queued", "woken", "granted", "failed", "renewed", "renewal failed", "released", "lost"}
	if len(heard) != 2*len(events) {
		t.Fatalf("heard %q", heard)
	}
	for i, e := range events {
		if heard[2*i] != "inner "+e || heard[2*i+1] != "outer "+e {
			t.Errorf("heard %q, want %s of inner and outer", heard[2*i:2*i+2], e)
		}
	}
}
