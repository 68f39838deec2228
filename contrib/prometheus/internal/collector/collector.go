// Package collector is the Prometheus metrics that tell of a lock, whatever keeps it.
package collector

import (
	"context"
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Options is as redislockprom.Options and zklockprom.Options have it.
type Options struct {
	Registerer prometheus.Registerer
	Name       func(lock string) string
	Buckets    []float64
}

// buckets are from a hand-over within a process to a wait of minutes, in seconds.
var buckets = prometheus.ExponentialBucketsRange(0.0001, 100, 19)

// A Collector records what becomes of locks. Any number of goroutines may use it.
type Collector struct {
	system      string
	name        func(string) string
	notAcquired error

	acquire, hold         *prometheus.HistogramVec
	waits, renewals, lost *prometheus.CounterVec
	held                  *prometheus.GaugeVec
}

// New returns the Collector of the locks that a system keeps, such as "redis". The
// metrics may have been registered before, for the same system or another.
// notAcquired is the error of a Lock or TryLock that another holder was in the way of.
func New(o Options, system string, notAcquired error) (*Collector, error) {
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
	c := &Collector{system: system, name: o.Name, notAcquired: notAcquired}
	var errs [6]error
	c.acquire, errs[0] = register(to, histogram("lock_acquire_duration_seconds", "Time from Lock or TryLock to its return.", "outcome"))
	c.hold, errs[1] = register(to, histogram("lock_hold_duration_seconds", "Time from the return of Lock to Unlock, of leases that were released."))
	c.waits, errs[2] = register(to, counter("lock_waits_total", "Locks that had to wait for another holder."))
	c.renewals, errs[3] = register(to, counter("lock_renewal_failures_total", "Renewals of a lease that were tried and failed."))
	c.lost, errs[4] = register(to, counter("lock_lost_total", "Leases that ended without Unlock."))
	c.held, errs[5] = register(to, prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "lock_held", Help: "Leases that are held."}, []string{"system", "lock"}))
	return c, errors.Join(errs[:]...)
}

// register returns c, or the one like it that is registered already.
func register[C prometheus.Collector](to prometheus.Registerer, c C) (C, error) {
	err := to.Register(c)
	if before, ok := errors.AsType[prometheus.AlreadyRegisteredError](err); ok {
		if old, ok := before.ExistingCollector.(C); ok {
			return old, nil
		}
	}
	return c, err
}

// of returns the values of the labels system and lock.
func (c *Collector) of(name string) []string {
	if c.name != nil {
		name = c.name(name)
	}
	return []string{c.system, name}
}

// Queued records the beginning of a wait.
func (c *Collector) Queued(name string) { c.waits.WithLabelValues(c.of(name)...).Inc() }

// Granted records a Lock that has succeeded after wait.
func (c *Collector) Granted(name string, wait time.Duration) {
	c.returned(name, wait, "granted")
	c.held.WithLabelValues(c.of(name)...).Inc()
}

// Failed records a Lock that has failed after wait.
func (c *Collector) Failed(name string, wait time.Duration, err error) {
	outcome := "error"
	switch {
	case errors.Is(err, context.Canceled):
		outcome = "canceled"
	case errors.Is(err, context.DeadlineExceeded):
		outcome = "timeout"
	case errors.Is(err, c.notAcquired):
		outcome = "not_acquired"
	}
	c.returned(name, wait, outcome)
}

func (c *Collector) returned(name string, wait time.Duration, outcome string) {
	c.acquire.WithLabelValues(append([]string{outcome}, c.of(name)...)...).Observe(wait.Seconds())
}

// RenewalFailed records a renewal that failed.
func (c *Collector) RenewalFailed(name string) { c.renewals.WithLabelValues(c.of(name)...).Inc() }

// Released records an Unlock of a lease held for so long.
func (c *Collector) Released(name string, held time.Duration) {
	c.hold.WithLabelValues(c.of(name)...).Observe(held.Seconds())
	c.held.WithLabelValues(c.of(name)...).Dec()
}

// Lost records a lease that has ended without Unlock.
func (c *Collector) Lost(name string) {
	c.lost.WithLabelValues(c.of(name)...).Inc()
	c.held.WithLabelValues(c.of(name)...).Dec()
}
