// Package redislockotel tells OpenTelemetry what locks of package redislock do:
// metrics of all of them by [Metrics], and events of one Lock in the span around it
// by [Events].
//
//	trace, err := redislockotel.Metrics(redislockotel.Options{})
//	if err != nil {
//		return err
//	}
//	locks := redislock.NewClient(rdb, redislock.ClientOptions{Trace: trace})
//
// The metrics, each with the attributes lock.system, which is "redis", and lock.name:
//
//   - lock.acquire.duration, a histogram in seconds, of what Lock and TryLock took;
//     lock.outcome says how it ended: granted, not_acquired, timeout, canceled, error.
//   - lock.hold.duration, a histogram in seconds, of leases that were released.
//   - lock.waits, a counter of acquisitions that had to wait for another holder.
//   - lock.renewal.failures, a counter: the lease may still be held, but not for long.
//   - lock.lost, a counter of leases that ended without Unlock. Any is worth an alert.
//   - lock.held, the leases that are held.
package redislockotel

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"locklab/contrib/otel/internal/meter"
	"locklab/redislock"
)

// Options is what [Metrics] records, and where. The zero value is usable.
type Options struct {
	// MeterProvider makes the instruments; nil is the global one.
	MeterProvider metric.MeterProvider

	// Name returns the value of lock.name for a lock; nil is its name. Each value
	// costs a series in each metric: where names have no bound, such as one for each
	// order, return what they have in common.
	Name func(lock string) string

	_ struct{}
}

// Metrics returns a Trace that records metrics. One serves any number of clients.
func Metrics(o Options) (*redislock.Trace, error) {
	m, err := meter.New(meter.Options{MeterProvider: o.MeterProvider, Name: o.Name}, "locklab/contrib/otel/redislockotel", "redis", redislock.ErrNotAcquired)
	if err != nil {
		return nil, err
	}
	return &redislock.Trace{
		Queued:        func(i redislock.QueuedInfo) { m.Queued(i.Name) },
		Granted:       func(i redislock.GrantedInfo) { m.Granted(i.Name, i.Wait) },
		Failed:        func(i redislock.FailedInfo) { m.Failed(i.Name, i.Wait, i.Err) },
		RenewalFailed: func(i redislock.RenewalFailedInfo) { m.RenewalFailed(i.Name) },
		Released:      func(i redislock.ReleasedInfo) { m.Released(i.Name, i.Held) },
		Lost:          func(i redislock.LostInfo) { m.Lost(i.Name) },
	}, nil
}

// Events returns a context for Lock, TryLock and Do, whose steps become events of the
// span in ctx: lock.queued, lock.woken, lock.granted, lock.failed,
// lock.renewal_failed, lock.released and lock.lost. A span that has ended takes no
// more of them. If ctx has no span that records, Events returns ctx.
func Events(ctx context.Context) context.Context {
	span := trace.SpanFromContext(ctx)
	if !span.IsRecording() {
		return ctx
	}
	tell := func(event, lock string, more ...attribute.KeyValue) {
		span.AddEvent(event, trace.WithAttributes(append(more, attribute.String("lock.name", lock))...))
	}
	why := func(err error) attribute.KeyValue { return attribute.String("error.message", err.Error()) }
	return redislock.WithTrace(ctx, &redislock.Trace{
		Queued: func(i redislock.QueuedInfo) { tell("lock.queued", i.Name, attribute.Int("lock.ahead", i.Ahead)) },
		Woken:  func(i redislock.WokenInfo) { tell("lock.woken", i.Name, attribute.String("lock.why", string(i.Why))) },
		Granted: func(i redislock.GrantedInfo) {
			tell("lock.granted", i.Name, attribute.Int64("lock.token", int64(i.Token)))
		},
		Failed:        func(i redislock.FailedInfo) { tell("lock.failed", i.Name, why(i.Err)) },
		RenewalFailed: func(i redislock.RenewalFailedInfo) { tell("lock.renewal_failed", i.Name, why(i.Err)) },
		Released:      func(i redislock.ReleasedInfo) { tell("lock.released", i.Name) },
		Lost:          func(i redislock.LostInfo) { tell("lock.lost", i.Name, why(i.Err)) },
	})
}
