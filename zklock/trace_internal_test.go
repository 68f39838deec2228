package zklock

import (
	"context"
	"reflect"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
)

// TestTraceAbsent: without a Trace the steps allocate nothing, and with one they do,
// so that the test can fail.
func TestTraceAbsent(t *testing.T) {
	ctx := context.WithValue(t.Context(), t, "something else")
	c := &Client{open: t.Context()}
	q := &queue{c: c, path: "/a"}
	l := &Lease{c: c, path: "/a", life: newLife(t.Context())}
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
	traced := WithTrace(ctx, &Trace{Queued: func(QueuedInfo) {}})
	if n := testing.AllocsPerRun(500, func() { q.begin(traced) }); n == 0 {
		t.Error("a Lock with a Trace allocates nothing: the test shows nothing")
	}
}

// TestWithTrace: an earlier Trace hears everything too, after the later one.
func TestWithTrace(t *testing.T) {
	var heard []string
	note := func(name string) *Trace {
		tr := new(Trace)
		for i := range reflect.TypeFor[Trace]().NumField() {
			f := reflect.ValueOf(tr).Elem().Field(i)
			f.Set(reflect.MakeFunc(f.Type(), func([]reflect.Value) []reflect.Value {
				heard = append(heard, name+" "+reflect.TypeFor[Trace]().Field(i).Name)
				return nil
			}))
		}
		return tr
	}
	tr := reflect.ValueOf(traceOf(WithTrace(WithTrace(WithTrace(nil, &Trace{}), note("outer")), note("inner")))).Elem() //lint:ignore SA1012 nil counts as Background
	for i := range tr.NumField() {
		heard = nil
		tr.Field(i).Call([]reflect.Value{reflect.Zero(tr.Field(i).Type().In(0))})
		name := tr.Type().Field(i).Name
		if len(heard) != 2 || heard[0] != "inner "+name || heard[1] != "outer "+name {
			t.Errorf("%s: heard %q, want inner and outer", name, heard)
		}
	}
}

// TestRenewedWithinMaxHold: a lease that MaxHold ends first does not last longer, however
// often its session is confirmed.
func TestRenewedWithinMaxHold(t *testing.T) {
	now := time.Now()
	for _, c := range []struct {
		maxHold time.Duration
		want    int
	}{{0, 1}, {time.Minute, 1}, {time.Second, 0}} {
		l := &Lease{maxHold: c.maxHold, until: now.Add(c.maxHold)}
		l.life = newLife(t.Context())
		client := &Client{traced: map[*Lease]time.Time{l: now.Add(time.Second)}}
		if got := len(client.tracedUntil(now.Add(2 * time.Second))); got != c.want {
			t.Errorf("with a MaxHold of %v %d leases last longer, want %d", c.maxHold, got, c.want)
		}
		l.end(nil)
	}
}
