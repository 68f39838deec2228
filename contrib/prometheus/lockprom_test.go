package lockprom_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"

	lockprom "locklab/contrib/prometheus"
	"locklab/harness"
	"locklab/harness/locktest"
	"locklab/lock"
	"locklab/redislock"
	"locklab/zklock"
)

// figures returns the values, or their number, of the lock called "orders".
func figures(t *testing.T, from prometheus.Gatherer, system string) map[string]float64 {
	t.Helper()
	families, err := from.Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := make(map[string]float64)
	for _, f := range families {
		for _, m := range f.Metric {
			name := f.GetName()
			labels := make(map[string]string)
			for _, l := range m.Label {
				labels[l.GetName()] = l.GetValue()
			}
			if labels["system"] != system || labels["lock"] != "orders" {
				t.Errorf("%s has the labels %v", name, labels)
			}
			if o := labels["outcome"]; o != "" {
				name += " " + o
			}
			got[name] += m.GetCounter().GetValue() + m.GetGauge().GetValue() + float64(m.GetHistogram().GetSampleCount())
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
	m := c.Mutex("/locklab-contrib-prometheus/"+t.Name(), zklock.Options{Container: true})
	return client{asLease(m.Lock), asLease(m.TryLock), c.Close}
}

func dialRedis(t *testing.T, trace *lock.Trace) client {
	at := locktest.Endpoint(t, harness.KindRedis)
	rdb := redis.NewClient(&redis.Options{Addr: at.Addrs[0][0], Username: at.Username, Password: at.Password, TLSConfig: at.TLS, ContextTimeoutEnabled: true})
	t.Cleanup(func() { rdb.Close() })
	c := redislock.NewClient(rdb, redislock.ClientOptions{Trace: trace})
	t.Cleanup(func() { c.Close() })
	m := c.Mutex("locklab:contrib-prometheus:"+t.Name(), redislock.Options{TTL: 2 * time.Second})
	return client{asLease(m.Lock), asLease(m.TryLock), c.Close}
}

func TestSteps(t *testing.T) {
	for system, dial := range map[string]func(*testing.T, *lock.Trace) client{"redis": dialRedis, "zookeeper": dialZooKeeper} {
		t.Run(system, func(t *testing.T) { testSteps(t, system, dial) })
	}
}

func testSteps(t *testing.T, system string, dial func(*testing.T, *lock.Trace) client) {
	registry := prometheus.NewPedanticRegistry()
	o := lockprom.Options{System: system, Registerer: registry, Name: func(string) string { return "orders" }}
	if _, err := lockprom.Metrics(o); err != nil {
		t.Fatal(err)
	}
	trace, err := lockprom.Metrics(o) // a second client of the same process
	if err != nil {
		t.Fatal(err)
	}
	m := dial(t, trace)
	ctx := t.Context()
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

	want := map[string]float64{
		"lock_acquire_duration_seconds granted": 2, "lock_acquire_duration_seconds not_acquired": 1, "lock_acquire_duration_seconds timeout": 1,
		"lock_waits_total": 1, "lock_hold_duration_seconds": 1, "lock_lost_total": 1, "lock_renewal_failures_total": 1, "lock_held": 0,
	}
	var got map[string]float64
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		if got = figures(t, registry, system); got["lock_lost_total"] == 1 && got["lock_held"] == 0 { // Lost is told in a goroutine of its own
			break
		}
	}
	for name, n := range want {
		if got[name] != n {
			t.Errorf("%s is %v, want %v", name, got[name], n)
		}
	}
	if len(got) != len(want) {
		t.Errorf("metrics %v, want %v", got, want)
	}
}

func TestForeign(t *testing.T) {
	registry := prometheus.NewRegistry()
	registry.MustRegister(prometheus.NewGauge(prometheus.GaugeOpts{Name: "lock_held"}))
	if _, err := lockprom.Metrics(lockprom.Options{Registerer: registry}); err == nil {
		t.Error("no error")
	}
}
