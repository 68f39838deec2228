// Package zklockprom counts for Prometheus what locks of package zklock do.
//
//	trace, err := zklockprom.Metrics(zklockprom.Options{})
//	if err != nil {
//		return err
//	}
//	client, err := zklock.Dial(ctx, servers, zklock.ClientOptions{Trace: trace})
//
// The metrics, each with the labels system, which is "zookeeper", and lock:
//
//   - lock_acquire_duration_seconds, a histogram of what Lock and TryLock took; the
//     label outcome says how it ended: granted, not_acquired, timeout, canceled, error.
//   - lock_hold_duration_seconds, a histogram of leases that were released.
//   - lock_waits_total: acquisitions that had to wait for another holder.
//   - lock_renewal_failures_total: the lease may still be held, but not for long.
//   - lock_lost_total: leases that ended without Unlock. Any is worth an alert.
//   - lock_held, a gauge: leases that are held.
package zklockprom

import (
	"github.com/prometheus/client_golang/prometheus"

	"locklab/contrib/prometheus/internal/collector"
	"locklab/zklock"
)

// Options is what [Metrics] records, and where. The zero value is usable.
type Options struct {
	// Registerer takes the metrics; nil is the default one. A registry that has them
	// already, for other locks, keeps those.
	Registerer prometheus.Registerer

	// Name returns the value of the label lock; nil is the lock's name. Each value
	// costs a series in each metric: where names have no bound, such as one for each
	// order, return what they have in common.
	Name func(lock string) string

	// Buckets are the upper bounds of the histograms, in seconds, rising; nil is 19
	// from 0.1 ms to 100 s, each about twice the one before.
	Buckets []float64

	_ struct{}
}

// Metrics returns a Trace that records metrics. One serves any number of clients.
func Metrics(o Options) (*zklock.Trace, error) {
	c, err := collector.New(collector.Options{Registerer: o.Registerer, Name: o.Name, Buckets: o.Buckets}, "zookeeper", zklock.ErrNotAcquired)
	if err != nil {
		return nil, err
	}
	return &zklock.Trace{
		Queued:        func(i zklock.QueuedInfo) { c.Queued(i.Name) },
		Granted:       func(i zklock.GrantedInfo) { c.Granted(i.Name, i.Wait) },
		Failed:        func(i zklock.FailedInfo) { c.Failed(i.Name, i.Wait, i.Err) },
		RenewalFailed: func(i zklock.RenewalFailedInfo) { c.RenewalFailed(i.Name) },
		Released:      func(i zklock.ReleasedInfo) { c.Released(i.Name, i.Held) },
		Lost:          func(i zklock.LostInfo) { c.Lost(i.Name) },
	}, nil
}
