package lockotel_test

import (
	"context"
	"errors"
	"maps"
	"slices"
	"testing"
	"unicode/utf8"

	"go.opentelemetry.io/otel/attribute"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	lockotel "locklab/contrib/otel"
	"locklab/lock"
)

// figures returns the sums, or numbers of values, of the lock called "orders\ufffd".
func figures(t *testing.T, reader sdkmetric.Reader, system string) map[string]int64 {
	t.Helper()
	var all metricdata.ResourceMetrics
	if err := reader.Collect(t.Context(), &all); err != nil {
		t.Fatal(err)
	}
	got := make(map[string]int64)
	add := func(name string, set attribute.Set, n int64) {
		kept, _ := set.Value("lock.system")
		of, _ := set.Value("lock.name")
		if kept.AsString() != system || of.AsString() != "orders\ufffd" {
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

// callHooks calls the hooks of tr as a library does for two acquisitions, four failures, a
// release and a loss.
func callHooks(tr *lock.Trace) {
	tr.Queued(lock.QueuedInfo{Name: "\xff"})
	for _, err := range []error{lock.ErrNotAcquired, context.DeadlineExceeded, context.Canceled, errors.New("no answer: \xff")} {
		tr.Failed(lock.FailedInfo{Err: err})
	}
	tr.Granted(lock.GrantedInfo{})
	tr.Released(lock.ReleasedInfo{})
	tr.Granted(lock.GrantedInfo{})
	tr.RenewalFailed(lock.RenewalFailedInfo{Err: errors.New("no answer")})
	tr.Lost(lock.LostInfo{Err: lock.ErrLost})
}

func TestHooks(t *testing.T) {
	reader := sdkmetric.NewManualReader()
	metrics, err := lockotel.Metrics(lockotel.Options{
		System:        "redis",
		MeterProvider: sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader)),
		Name:          func(string) string { return "orders\xff" },
	})
	if err != nil {
		t.Fatal(err)
	}
	callHooks(metrics)
	want := map[string]int64{
		"lock.acquire.duration granted": 2, "lock.acquire.duration not_acquired": 1, "lock.acquire.duration timeout": 1,
		"lock.acquire.duration canceled": 1, "lock.acquire.duration error": 1,
		"lock.waits": 1, "lock.hold.duration": 1, "lock.lost": 1, "lock.renewal.failures": 1, "lock.held": 0,
	}
	if got := figures(t, reader, "redis"); !maps.Equal(got, want) {
		t.Errorf("metrics %v, want %v", got, want)
	}

	spans := tracetest.NewSpanRecorder()
	ctx, span := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spans)).Tracer("test").Start(t.Context(), "handler")
	callHooks(lock.TraceOf(lockotel.Events(ctx)))
	span.End()
	var events []string
	for _, e := range spans.Ended()[0].Events() {
		events = append(events, e.Name)
		for _, a := range e.Attributes {
			if text := a.Value.AsString(); !utf8.ValidString(text) {
				t.Errorf("%s has %s = %q, not in UTF-8", e.Name, a.Key, text)
			}
		}
	}
	if want := []string{"lock.queued", "lock.failed", "lock.failed", "lock.failed", "lock.failed", "lock.granted", "lock.released", "lock.granted", "lock.renewal_failed", "lock.lost"}; !slices.Equal(events, want) {
		t.Errorf("the span has the events %v, want %v", events, want)
	}
}

func TestNoSpan(t *testing.T) {
	if ctx := t.Context(); lockotel.Events(ctx) != ctx {
		t.Error("the context has a trace that nothing reads")
	}
}
