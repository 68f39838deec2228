package zklock

import (
	"context"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"locklab/lock"
)

// TestTraceAbsent: without a Trace the steps allocate nothing, and with one they do.
func TestTraceAbsent(t *testing.T) {
	ctx := context.WithValue(t.Context(), t, "something else")
	c := &Client{lifetime: lifetime{open: t.Context()}}
	q := &queue{c: c, path: "/a"}
	l := &Lease{q: q, life: newLife(t.Context())}
	event := make(chan zk.Event)
	close(event)
	waiting := &ticket{q: q, p: fairQueue}
	steps := func(ctx context.Context) float64 {
		n := testing.AllocsPerRun(500, func() {
			_, a := q.begin(ctx)
			a.end(l, nil)
			waiting.queued = false
			if _, err := waiting.wait(ctx, view{wake: event}); err != nil {
				t.Error(err)
			}
			l.released()
		})
		return n
	}
	if n := steps(ctx); n != 0 {
		t.Errorf("a Lock without a Trace allocates %v times for it", n)
	}
	traced := WithTrace(ctx, &Trace{Queued: func(lock.QueuedInfo) {}})
	if n := testing.AllocsPerRun(500, func() { q.begin(traced) }); n == 0 {
		t.Error("a Lock with a Trace allocates nothing: the test shows nothing")
	}
}

// TestRenewedWithinMaxHold: a lease that MaxHold ends first does not last longer.
func TestRenewedWithinMaxHold(t *testing.T) {
	now := time.Now()
	for _, c := range []struct {
		maxHold time.Duration
		want    int
	}{{0, 1}, {time.Minute, 1}, {time.Second, 0}} {
		l := &Lease{life: newLife(t.Context())}
		if c.maxHold > 0 {
			l.limit.Begin(l.alive, c.maxHold, func() time.Time { return now }, func() {})
		}
		client := &Client{heldLeases: heldLeases{traced: map[*Lease]time.Time{l: now.Add(time.Second)}}}
		if got := len(client.tracedUntil(now.Add(2 * time.Second))); got != c.want {
			t.Errorf("with a MaxHold of %v %d leases last longer, want %d", c.maxHold, got, c.want)
		}
		l.end(nil)
	}
}
