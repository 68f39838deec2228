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
	"errors"
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

type collector struct {
	system string
	name   func(string) string

	acquire, hold         *prometheus.HistogramVec
	waits, renewals, lost *prometheus.CounterVec
	held                  *prometheus.GaugeVec
}

// Metrics returns a Trace that records metrics. One serves any number of clients.
func Metrics(o Options) (*lock.Trace, error) {
	c, err := register(o)
	if err != nil {
		return nil, err
	}
	return &lock.Trace{
		Queued:        func(i lock.QueuedInfo) { c.waits.WithLabelValues(c.labels(i.Name)...).Inc() },
		Granted:       c.granted,
		Failed:        func(i lock.FailedInfo) { c.returned(i.Name, i.Wait, i.Outcome()) },
		RenewalFailed: func(i lock.RenewalFailedInfo) { c.renewals.WithLabelValues(c.labels(i.Name)...).Inc() },
		Released:      c.released,
		Lost:          c.wasLost,
	}, nil
}

func register(o Options) (*collector, error) {
	to := o.Registerer
	if to == nil {
		to = prometheus.DefaultRegisterer
	}
	if o.Buckets == nil {
		o.Buckets = buckets
	}
	histogram := func(name, help string, more ...string) *prometheus.HistogramVec {
		return prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: o.Buckets}, append(more, "system", "lock"))
	}
	counter := func(name, help string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, []string{"system", "lock"})
	}
	c := &collector{system: o.System, name: o.Name}
	var errs [6]error
	c.acquire, errs[0] = registerOne(to, histogram("lock_acquire_duration_seconds", "Time from Lock or TryLock to its return.", "outcome"))
	c.hold, errs[1] = registerOne(to, histogram("lock_hold_duration_seconds", "Time from the return of Lock to Unlock, of leases that were released."))
	c.waits, errs[2] = registerOne(to, counter("lock_waits_total", "Locks that had to wait for another holder."))
	c.renewals, errs[3] = registerOne(to, counter("lock_renewal_failures_total", "Renewals of a lease that were tried and failed."))
	c.lost, errs[4] = registerOne(to, counter("lock_lost_total", "Leases that ended without Unlock."))
	c.held, errs[5] = registerOne(to, prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "lock_held", Help: "Leases that are held."}, []string{"system", "lock"}))
	return c, errors.Join(errs[:]...)
}

func registerOne[C prometheus.Collector](to prometheus.Registerer, c C) (C, error) {
	err := to.Register(c)
	if before, ok := errors.AsType[prometheus.AlreadyRegisteredError](err); ok {
		if old, ok := before.ExistingCollector.(C); ok {
			return old, nil
		}
	}
	return c, err
}

func (c *collector) labels(name string) []string {
	if c.name != nil {
		name = c.name(name)
	}
	return []string{c.system, name}
}

func (c *collector) granted(i lock.GrantedInfo) {
	c.returned(i.Name, i.Wait, "granted")
	c.held.WithLabelValues(c.labels(i.Name)...).Inc()
}

func (c *collector) returned(name string, wait time.Duration, outcome string) {
	c.acquire.WithLabelValues(append([]string{outcome}, c.labels(name)...)...).Observe(wait.Seconds())
}

func (c *collector) released(i lock.ReleasedInfo) {
	c.hold.WithLabelValues(c.labels(i.Name)...).Observe(i.Held.Seconds())
	c.held.WithLabelValues(c.labels(i.Name)...).Dec()
}

func (c *collector) wasLost(i lock.LostInfo) {
	c.lost.WithLabelValues(c.labels(i.Name)...).Inc()
	c.held.WithLabelValues(c.labels(i.Name)...).Dec()
}
