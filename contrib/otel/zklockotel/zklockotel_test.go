package zklockotel_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"locklab/contrib/otel/zklockotel"
	"locklab/harness"
	"locklab/harness/locktest"
	"locklab/zklock"
)

// figures returns, for each metric and outcome of the lock called "orders", its sum,
// or the number of its values.
func figures(t *testing.T, reader sdkmetric.Reader) map[string]int64 {
	t.Helper()
	var all metricdata.ResourceMetrics
	if err := reader.Collect(t.Context(), &all); err != nil {
		t.Fatal(err)
	}
	got := make(map[string]int64)
	add := func(name string, set attribute.Set, n int64) {
		system, _ := set.Value("lock.system")
		lock, _ := set.Value("lock.name")
		if system.AsString() != "zookeeper" || lock.AsString() != "orders" {
			t.Errorf("%s has the attributes %v", name, set.ToSlice())
		}
		if outcome, ok := set.Value("lock.outcome"); ok {
			name += " " + outcome.AsString()
		}
		got[name] += n
	}
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			switch data := m.Data.(type) {
			case metricdata.Sum[int64]:
				for _, p := range data.DataPoints {
					add(m.Name, p.Attributes, p.Value)
				}
			case metricdata.Histogram[float64]:
				for _, p := range data.DataPoints {
					add(m.Name, p.Attributes, int64(p.Count))
				}
			default:
				t.Errorf("%s is a %T", m.Name, data)
			}
		}
	}
	return got
}

// TestZooKeeper: a lock that is taken, waited for, given up, released and lost, on a
// server, shows each of it in metrics and in the events of a span.
func TestZooKeeper(t *testing.T) {
	at := locktest.Endpoint(t, harness.KindZooKeeper)
	reader := sdkmetric.NewManualReader()
	trace, err := zklockotel.Metrics(zklockotel.Options{
		MeterProvider: sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader)),
		Name:          func(string) string { return "orders" },
	})
	if err != nil {
		t.Fatal(err)
	}
	spans := tracetest.NewSpanRecorder()
	tracer := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spans)).Tracer("test")
	ctx, span := tracer.Start(t.Context(), "handler")
	ctx = zklockotel.Events(ctx)

	locks, err := zklock.Dial(t.Context(), at.Addrs[0], zklock.ClientOptions{Trace: trace, Username: at.Username, Password: at.Password, TLS: at.TLS})
	if err != nil {
		t.Fatal(err)
	}
	defer locks.Close()
	m := locks.Mutex("/locklab-contrib-otel/"+t.Name(), zklock.Options{Container: true})
	lease, err := m.Lock(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.TryLock(ctx); !errors.Is(err, zklock.ErrNotAcquired) {
		t.Fatal(err)
	}
	short, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
	defer cancel()
	if _, err := m.Lock(short); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatal(err)
	}
	if err := lease.Unlock(ctx); err != nil {
		t.Fatal(err)
	}
	if lease, err = m.Lock(ctx); err != nil {
		t.Fatal(err)
	}
	if err := locks.Close(); err != nil { // the lease is lost
		t.Fatal(err)
	}
	<-lease.Done()
	trace.RenewalFailed(zklock.RenewalFailedInfo{Err: errors.New("no answer")}) // as the library would

	want := map[string]int64{
		"lock.acquire.duration granted": 2, "lock.acquire.duration not_acquired": 1, "lock.acquire.duration timeout": 1,
		"lock.waits": 1, "lock.hold.duration": 1, "lock.lost": 1, "lock.renewal.failures": 1, "lock.held": 0,
	}
	var got map[string]int64
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		if got = figures(t, reader); got["lock.lost"] == 1 && got["lock.held"] == 0 { // Lost is told in a goroutine of its own
			break
		}
	}
	for name, n := range want {
		if got[name] != n {
			t.Errorf("%s is %d, want %d", name, got[name], n)
		}
	}
	if len(got) != len(want) {
		t.Errorf("metrics %v, want %v", got, want)
	}
	span.End()
	var events []string
	for _, e := range spans.Ended()[0].Events() {
		events = append(events, e.Name)
	}
	for _, name := range []string{"lock.granted", "lock.failed", "lock.queued", "lock.released", "lock.lost"} {
		if !slices.Contains(events, name) {
			t.Errorf("the span has no event %s: %v", name, events)
		}
	}
}

// TestNoSpan: without a span that records nothing is added to the context.
func TestNoSpan(t *testing.T) {
	if ctx := t.Context(); zklockotel.Events(ctx) != ctx {
		t.Error("the context has a trace that nothing reads")
	}
}
