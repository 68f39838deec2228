package zklock

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"locklab/internal/zksession"
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

// TestFailureToldOnce: a Trace gets one RenewalFailed per lost connection.
func TestFailureToldOnce(t *testing.T) {
	var told atomic.Int32
	l := &Lease{q: &queue{path: "/a"}, trace: &Trace{RenewalFailed: func(e lock.RenewalFailedInfo) {
		if !errors.Is(e.Err, errNoConnection) {
			t.Errorf("told of %v", e.Err)
		}
		told.Add(1)
	}}}
	l.life = newLife(t.Context())
	c := &Client{conn: new(zksession.Conn), heldLeases: heldLeases{traced: map[*Lease]time.Time{l: {}}}}
	c.contacts.busy = true // so that no contact is sent
	now := time.Now()
	proof := zksession.Proof{Since: now.Add(-time.Second), Committed: now.Add(-time.Second)}
	for round := range int32(3) {
		c.isUp = true
		c.doContact(proof, now)
		c.isUp = false
		for range 5 {
			c.doContact(proof, now)
		}
		c.work.Wait()
		if n := told.Load(); n != round+1 {
			t.Fatalf("told %d times while the connection was lost %d times", n, round+1)
		}
	}
}
