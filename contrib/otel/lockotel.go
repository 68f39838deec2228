// Package lockotel reports the steps of locks of packages redislock and zklock to
// OpenTelemetry: metrics of all of them by [Metrics], and events of one Lock in the span
// around it by [Events].
//
//	trace, err := lockotel.Metrics(lockotel.Options{System: "redis"})
//	if err != nil {
//		return err
//	}
//	locks := redislock.NewClient(rdb, redislock.ClientOptions{Trace: trace})
//
// The metrics, each with the attributes lock.system and lock.name:
//
//   - lock.acquire.duration, a histogram in seconds of the time that Lock and TryLock took;
//     lock.outcome is granted, not_acquired, timeout, canceled or error.
//   - lock.hold.duration, a histogram in seconds, of leases that were released.
//   - lock.waits, a counter of acquisitions that waited for another holder.
//   - lock.renewal.failures, a counter: the lease may still be held, but not for long.
//   - lock.lost, a counter of leases that ended without Unlock. Any is worth an alert.
//   - lock.held, the leases that are held.
package lockotel

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"locklab/lock"
)

// Options configures [Metrics].
type Options struct {
	// System is the value of lock.system, such as "redis" or "zookeeper".
	System string

	// MeterProvider makes the instruments; nil is the global one.
	MeterProvider metric.MeterProvider

	// Name returns the value of lock.name; nil is the lock's name. Each value costs a series
	// in each metric: return what unbounded names have in common.
	Name func(lock string) string

	_ struct{}
}

// Metrics returns a Trace that records metrics. One serves any number of clients.
func Metrics(o Options) (*lock.Trace, error) {
	var (
		acquire, hold         metric.Float64Histogram
		waits, renewals, lost metric.Int64Counter
		held                  metric.Int64UpDownCounter
		errs                  [6]error
	)
	ctx, provider := context.Background(), cmp.Or(o.MeterProvider, otel.GetMeterProvider())
	from, seconds := provider.Meter("locklab/contrib/otel"), metric.WithUnit("s")
	acquire, errs[0] = from.Float64Histogram("lock.acquire.duration", seconds, metric.WithDescription("Time from Lock or TryLock to its return."))
	hold, errs[1] = from.Float64Histogram("lock.hold.duration", seconds, metric.WithDescription("Time from the return of Lock until the release was confirmed, of leases that were released."))
	waits, errs[2] = from.Int64Counter("lock.waits", metric.WithUnit("{wait}"), metric.WithDescription("Locks that had to wait for another holder."))
	renewals, errs[3] = from.Int64Counter("lock.renewal.failures", metric.WithUnit("{renewal}"), metric.WithDescription("Renewals of a lease that were tried and failed."))
	lost, errs[4] = from.Int64Counter("lock.lost", metric.WithUnit("{lease}"), metric.WithDescription("Leases that ended without Unlock."))
	held, errs[5] = from.Int64UpDownCounter("lock.held", metric.WithUnit("{lease}"), metric.WithDescription("Leases that are held."))
	if err := errors.Join(errs[:]...); err != nil {
		return nil, err
	}
	attributes := func(name string, more ...attribute.KeyValue) metric.MeasurementOption {
		if o.Name != nil {
			name = o.Name(name)
		}
		return metric.WithAttributes(append(more, attribute.String("lock.system", o.System), text("lock.name", name))...)
	}
	returned := func(name string, wait time.Duration, outcome string) {
		acquire.Record(ctx, wait.Seconds(), attributes(name, attribute.String("lock.outcome", outcome)))
	}
	return &lock.Trace{
		Queued:        func(i lock.QueuedInfo) { waits.Add(ctx, 1, attributes(i.Name)) },
		Failed:        func(i lock.FailedInfo) { returned(i.Name, i.Wait, i.Outcome()) },
		RenewalFailed: func(i lock.RenewalFailedInfo) { renewals.Add(ctx, 1, attributes(i.Name)) },
		Granted: func(i lock.GrantedInfo) {
			returned(i.Name, i.Wait, "granted")
			held.Add(ctx, 1, attributes(i.Name))
		},
		Released: func(i lock.ReleasedInfo) {
			hold.Record(ctx, i.Held.Seconds(), attributes(i.Name))
			held.Add(ctx, -1, attributes(i.Name))
		},
		Lost: func(i lock.LostInfo) {
			lost.Add(ctx, 1, attributes(i.Name))
			held.Add(ctx, -1, attributes(i.Name))
		},
	}, nil
}

// text returns an attribute in UTF-8: exporters drop a whole batch for other bytes.
func text(key, value string) attribute.KeyValue {
	return attribute.String(key, strings.ToValidUTF8(value, "\ufffd"))
}

// Events returns a context for Lock, TryLock and Do, whose steps become events of the span in
// ctx: lock.queued, lock.woken, lock.granted, lock.failed, lock.renewal_failed, lock.released
// and lock.lost. Without a span that records, it returns ctx.
func Events(ctx context.Context) context.Context {
	span := trace.SpanFromContext(ctx)
	if !span.IsRecording() {
		return ctx
	}
	add := func(event, name string, more ...attribute.KeyValue) {
		span.AddEvent(event, trace.WithAttributes(append(more, text("lock.name", name))...))
	}
	why := func(err error) attribute.KeyValue { return text("error.message", err.Error()) }
	return lock.WithTrace(ctx, &lock.Trace{
		Queued: func(i lock.QueuedInfo) { add("lock.queued", i.Name, attribute.Int("lock.ahead", i.Ahead)) },
		Woken:  func(i lock.WokenInfo) { add("lock.woken", i.Name, attribute.String("lock.why", string(i.Why))) },
		Granted: func(i lock.GrantedInfo) {
			add("lock.granted", i.Name, attribute.Int64("lock.token", int64(i.Token)))
		},
		Failed:        func(i lock.FailedInfo) { add("lock.failed", i.Name, why(i.Err)) },
		RenewalFailed: func(i lock.RenewalFailedInfo) { add("lock.renewal_failed", i.Name, why(i.Err)) },
		Released:      func(i lock.ReleasedInfo) { add("lock.released", i.Name) },
		Lost:          func(i lock.LostInfo) { add("lock.lost", i.Name, why(i.Err)) },
	})
}
