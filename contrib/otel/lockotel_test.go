package lockotel_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"go.opentelemetry.io/otel/attribute"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	lockotel "locklab/contrib/otel"
	"locklab/harness"
	"locklab/harness/locktest"
	"locklab/lock"
	"locklab/redislock"
	"locklab/zklock"
)

// figures returns the sums, or numbers of values, of the lock called "orders".
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
		if kept.AsString() != system || of.AsString() != "orders" {
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

type client struct {
	lock, try func(context.Context) (lock.Lease, error)
	close     func() error
}

func asLease[L lock.Lease](take func(context.Context) (L, error)) func(context.Context) (lock.Lease, error) {
	return func(ctx context.Context) (lock.Lease, error) {
		l, err := take(ctx)
		return l, err
	}
}

func dialZooKeeper(t *testing.T, trace *lock.Trace) client {
	at := locktest.Endpoint(t, harness.KindZooKeeper)
	c, err := zklock.Dial(t.Context(), at.Addrs[0], zklock.ClientOptions{Trace: trace, Username: at.Username, Password: at.Password, TLS: at.TLS})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	m := c.Mutex("/locklab-contrib-otel/"+t.Name(), zklock.Options{Container: true})
	return client{asLease(m.Lock), asLease(m.TryLock), c.Close}
}

func dialRedis(t *testing.T, trace *lock.Trace) client {
	at := locktest.Endpoint(t, harness.KindRedis)
	rdb := redis.NewClient(&redis.Options{Addr: at.Addrs[0][0], Username: at.Username, Password: at.Password, TLSConfig: at.TLS, ContextTimeoutEnabled: true})
	t.Cleanup(func() { rdb.Close() })
	c := redislock.NewClient(rdb, redislock.ClientOptions{Trace: trace})
	t.Cleanup(func() { c.Close() })
	m := c.Mutex("locklab:contrib-otel:"+t.Name(), redislock.Options{TTL: 2 * time.Second})
	return client{asLease(m.Lock), asLease(m.TryLock), c.Close}
}

func TestSteps(t *testing.T) {
	for system, dial := range map[string]func(*testing.T, *lock.Trace) client{"redis": dialRedis, "zookeeper": dialZooKeeper} {
		t.Run(system, func(t *testing.T) { testSteps(t, system, dial) })
	}
}

func testSteps(t *testing.T, system string, dial func(*testing.T, *lock.Trace) client) {
	reader := sdkmetric.NewManualReader()
	trace, err := lockotel.Metrics(lockotel.Options{
		System:        system,
		MeterProvider: sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader)),
		Name:          func(string) string { return "orders" },
	})
	if err != nil {
		t.Fatal(err)
	}
	spans := tracetest.NewSpanRecorder()
	tracer := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spans)).Tracer("test")
	ctx, span := tracer.Start(t.Context(), "handler")
	ctx = lockotel.Events(ctx)

	m := dial(t, trace)
	lease, err := m.lock(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.try(ctx); !errors.Is(err, lock.ErrNotAcquired) {
		t.Fatal(err)
	}
	short, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
	defer cancel()
	if _, err := m.lock(short); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatal(err)
	}
	if err := lease.Unlock(ctx); err != nil {
		t.Fatal(err)
	}
	if lease, err = m.lock(ctx); err != nil {
		t.Fatal(err)
	}
	if err := m.close(); err != nil { // the lease is lost
		t.Fatal(err)
	}
	<-lease.Done()
	trace.RenewalFailed(lock.RenewalFailedInfo{Err: errors.New("no answer")}) // as the library would

	want := map[string]int64{
		"lock.acquire.duration granted": 2, "lock.acquire.duration not_acquired": 1, "lock.acquire.duration timeout": 1,
		"lock.waits": 1, "lock.hold.duration": 1, "lock.lost": 1, "lock.renewal.failures": 1, "lock.held": 0,
	}
	var got map[string]int64
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		if got = figures(t, reader, system); got["lock.lost"] == 1 && got["lock.held"] == 0 { // Lost is told in a goroutine of its own
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

func TestNoSpan(t *testing.T) {
	if ctx := t.Context(); lockotel.Events(ctx) != ctx {
		t.Error("the context has a trace that nothing reads")
	}
}
