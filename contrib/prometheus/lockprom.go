// Package lockprom counts for Prometheus the steps of locks of packages redislock and zklock.
//
//	trace, err := lockprom.Metrics(lockprom.Options{System: "redis"})
//	if err != nil {
//		return err
//	}
//	locks := redislock.NewClient(rdb, redislock.ClientOptions{Trace: trace})
//
// The metrics, each with the labels system and lock:
//
//   - lock_acquire_duration_seconds, a histogram of the time that Lock and TryLock took; the
//     label outcome is granted, not_acquired, timeout, canceled or error.
//   - lock_hold_duration_seconds, a histogram of leases that were released.
//   - lock_waits_total: acquisitions that waited for another holder.
//   - lock_renewal_failures_total: the lease may still be held, but not for long.
//   - lock_lost_total: leases that ended without Unlock. Any is worth an alert.
//   - lock_held, a gauge: leases that are held.
package lockprom

import (
	"cmp"
	"errors"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"locklab/lock"
)

// Options configures [Metrics].
type Options struct {
	// System is the value of the label system, such as "redis" or "zookeeper".
	System string

	// Registerer takes the metrics; nil is the default. It keeps its existing metrics.
	Registerer prometheus.Registerer

	// Name returns the value of the label lock; nil is the lock's name. Each value costs a
	// series in each metric: return what unbounded names have in common.
	Name func(lock string) string

	// Buckets are the upper bounds of the histograms, in seconds, rising; nil is 19
	// from 0.1 ms to 100 s, each about twice the one before.
	Buckets []float64

	_ struct{}
}

// buckets are from a handover within a process to a wait of minutes, in seconds.
var buckets = prometheus.ExponentialBucketsRange(0.0001, 100, 19)

// Metrics returns a Trace that records metrics. One serves any number of clients.
func Metrics(o Options) (*lock.Trace, error) {
	to := cmp.Or(o.Registerer, prometheus.DefaultRegisterer)
	if o.Buckets == nil {
		o.Buckets = buckets
	}
	var failed error
	histogram := func(name, help string, more ...string) *prometheus.HistogramVec {
		return register(to, &failed, prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: o.Buckets}, append(more, "system", "lock")))
	}
	counter := func(name, help string) *prometheus.CounterVec {
		return register(to, &failed, prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, []string{"system", "lock"}))
	}
	acquire := histogram("lock_acquire_duration_seconds", "Time from Lock or TryLock to its return.", "outcome")
	hold := histogram("lock_hold_duration_seconds", "Time from the return of Lock until the release was confirmed, of leases that were released.")
	waits := counter("lock_waits_total", "Locks that had to wait for another holder.")
	renewals := counter("lock_renewal_failures_total", "Renewals of a lease that were tried and failed.")
	lost := counter("lock_lost_total", "Leases that ended without Unlock.")
	held := register(to, &failed, prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "lock_held", Help: "Leases that are held."}, []string{"system", "lock"}))
	if failed != nil {
		return nil, failed
	}
	labels := func(name string) []string {
		if o.Name != nil {
			name = o.Name(name)
		}
		return []string{o.System, strings.ToValidUTF8(name, "\ufffd")} // the library panics on other bytes
	}
	returned := func(name string, wait time.Duration, outcome string) {
		acquire.WithLabelValues(append([]string{outcome}, labels(name)...)...).Observe(wait.Seconds())
	}
	return &lock.Trace{
		Queued:        func(i lock.QueuedInfo) { waits.WithLabelValues(labels(i.Name)...).Inc() },
		Failed:        func(i lock.FailedInfo) { returned(i.Name, i.Wait, i.Outcome()) },
		RenewalFailed: func(i lock.RenewalFailedInfo) { renewals.WithLabelValues(labels(i.Name)...).Inc() },
		Granted: func(i lock.GrantedInfo) {
			returned(i.Name, i.Wait, "granted")
			held.WithLabelValues(labels(i.Name)...).Inc()
		},
		Released: func(i lock.ReleasedInfo) {
			hold.WithLabelValues(labels(i.Name)...).Observe(i.Held.Seconds())
			held.WithLabelValues(labels(i.Name)...).Dec()
		},
		Lost: func(i lock.LostInfo) {
			lost.WithLabelValues(labels(i.Name)...).Inc()
			held.WithLabelValues(labels(i.Name)...).Dec()
		},
	}, nil
}

// register returns c, or the equal collector that is registered already. It adds an error to failed.
func register[C prometheus.Collector](to prometheus.Registerer, failed *error, c C) C {
	err := to.Register(c)
	if before, ok := errors.AsType[prometheus.AlreadyRegisteredError](err); ok {
		if old, ok := before.ExistingCollector.(C); ok {
			return old
		}
	}
	*failed = errors.Join(*failed, err)
	return c
}
