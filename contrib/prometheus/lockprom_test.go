package lockprom_test

import (
	"context"
	"errors"
	"maps"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	lockprom "locklab/contrib/prometheus"
	"locklab/lock"
)

// figures returns the values, or their number, of the lock called "orders\ufffd".
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
			if labels["system"] != system || labels["lock"] != "orders\ufffd" {
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

// callHooks calls the hooks of tr as a library does for two acquisitions, four failures, a
// release and a loss.
func callHooks(tr *lock.Trace) {
	tr.Queued(lock.QueuedInfo{})
	for _, err := range []error{lock.ErrNotAcquired, context.DeadlineExceeded, context.Canceled, errors.New("no answer")} {
		tr.Failed(lock.FailedInfo{Err: err})
	}
	tr.Granted(lock.GrantedInfo{})
	tr.Released(lock.ReleasedInfo{})
	tr.Granted(lock.GrantedInfo{})
	tr.RenewalFailed(lock.RenewalFailedInfo{Err: errors.New("no answer")})
	tr.Lost(lock.LostInfo{Err: lock.ErrLost})
}

func TestHooks(t *testing.T) {
	registry := prometheus.NewPedanticRegistry()
	o := lockprom.Options{System: "redis", Registerer: registry, Name: func(string) string { return "orders\xff" }}
	if _, err := lockprom.Metrics(o); err != nil {
		t.Fatal(err)
	}
	trace, err := lockprom.Metrics(o) // a second client of the same process
	if err != nil {
		t.Fatal(err)
	}
	callHooks(trace)
	want := map[string]float64{
		"lock_acquire_duration_seconds granted": 2, "lock_acquire_duration_seconds not_acquired": 1, "lock_acquire_duration_seconds timeout": 1,
		"lock_acquire_duration_seconds canceled": 1, "lock_acquire_duration_seconds error": 1,
		"lock_waits_total": 1, "lock_hold_duration_seconds": 1, "lock_lost_total": 1, "lock_renewal_failures_total": 1, "lock_held": 0,
	}
	if got := figures(t, registry, "redis"); !maps.Equal(got, want) {
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
