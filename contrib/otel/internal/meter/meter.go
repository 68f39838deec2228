// Package meter is the instruments that tell of a lock, whatever keeps it.
package meter

import (
	"context"
	"errors"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

// Options is as redislockotel.Options and zklockotel.Options have it.
type Options struct {
	MeterProvider metric.MeterProvider
	Name          func(lock string) string
}

// A Meter records what becomes of locks. Any number of goroutines may use it.
type Meter struct {
	system      attribute.KeyValue
	name        func(string) string
	notAcquired error

	acquire, hold         metric.Float64Histogram
	waits, renewals, lost metric.Int64Counter
	held                  metric.Int64UpDownCounter
}

// New returns the Meter of the locks that a system keeps, such as "redis", as the
// instrumentation scope. notAcquired is the error of a Lock or TryLock that another
// holder was in the way of.
func New(o Options, scope, system string, notAcquired error) (*Meter, error) {
	provider := o.MeterProvider
	if provider == nil {
		provider = otel.GetMeterProvider()
	}
	from := provider.Meter(scope)
	m := &Meter{system: attribute.String("lock.system", system), name: o.Name, notAcquired: notAcquired}
	var errs [6]error
	seconds := metric.WithUnit("s")
	m.acquire, errs[0] = from.Float64Histogram("lock.acquire.duration", seconds, metric.WithDescription("Time from Lock or TryLock to its return."))
	m.hold, errs[1] = from.Float64Histogram("lock.hold.duration", seconds, metric.WithDescription("Time from the return of Lock to Unlock, of leases that were released."))
	m.waits, errs[2] = from.Int64Counter("lock.waits", metric.WithUnit("{wait}"), metric.WithDescription("Locks that had to wait for another holder."))
	m.renewals, errs[3] = from.Int64Counter("lock.renewal.failures", metric.WithUnit("{renewal}"), metric.WithDescription("Renewals of a lease that were tried and failed."))
	m.lost, errs[4] = from.Int64Counter("lock.lost", metric.WithUnit("{lease}"), metric.WithDescription("Leases that ended without Unlock."))
	m.held, errs[5] = from.Int64UpDownCounter("lock.held", metric.WithUnit("{lease}"), metric.WithDescription("Leases that are held."))
	return m, errors.Join(errs[:]...)
}

// of returns the attributes of the lock with that name, and more.
func (m *Meter) of(name string, more ...attribute.KeyValue) metric.MeasurementOption {
	if m.name != nil {
		name = m.name(name)
	}
	return metric.WithAttributes(append(more, m.system, attribute.String("lock.name", name))...)
}

// Queued records the beginning of a wait.
func (m *Meter) Queued(name string) { m.waits.Add(context.Background(), 1, m.of(name)) }

// Granted records a Lock that has succeeded after wait.
func (m *Meter) Granted(name string, wait time.Duration) {
	m.returned(name, wait, "granted")
	m.held.Add(context.Background(), 1, m.of(name))
}

// Failed records a Lock that has failed after wait.
func (m *Meter) Failed(name string, wait time.Duration, err error) {
	outcome := "error"
	switch {
	case errors.Is(err, context.Canceled):
		outcome = "canceled"
	case errors.Is(err, context.DeadlineExceeded):
		outcome = "timeout"
	case errors.Is(err, m.notAcquired):
		outcome = "not_acquired"
	}
	m.returned(name, wait, outcome)
}

func (m *Meter) returned(name string, wait time.Duration, outcome string) {
	m.acquire.Record(context.Background(), wait.Seconds(), m.of(name, attribute.String("lock.outcome", outcome)))
}

// RenewalFailed records a renewal that failed.
func (m *Meter) RenewalFailed(name string) { m.renewals.Add(context.Background(), 1, m.of(name)) }

// Released records an Unlock of a lease held for so long.
func (m *Meter) Released(name string, held time.Duration) {
	m.hold.Record(context.Background(), held.Seconds(), m.of(name))
	m.held.Add(context.Background(), -1, m.of(name))
}

// Lost records a lease that has ended without Unlock.
func (m *Meter) Lost(name string) {
	m.lost.Add(context.Background(), 1, m.of(name))
	m.held.Add(context.Background(), -1, m.of(name))
}
