package measure

import (
	"context"
	"errors"
	"fmt"
	"time"

	"locklab/harness"
	"locklab/internal/faultproxy"
	"locklab/internal/stat"
)

// The plays of each step: the first open connections, load scripts and adapt. There are more
// if plays differ.
const (
	warm     = 2
	plays    = 5
	mostly   = 4 // this many of them must agree
	most     = 15
	contends = 3 // clients: one holds the lock and the others wait
)

// patience limits a dry run. After settling, a step with more than asking requests polls.
const (
	tripPatience = 20 * time.Second
	settling     = 150 * time.Millisecond
	slow         = 2 * time.Second
	asking       = 10
)

// CountTrips plays v through with the servers at, under the name key, and returns its network
// use. The error wraps harness.ErrUnavailable if the messages cannot be read.
func CountTrips(ctx context.Context, v *harness.Variant, at harness.Endpoint, key string) (trips *harness.Trips, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, tripPatience, fmt.Errorf("measure: %s was not granted within %v", v.Name, tripPatience))
	defer cancel()
	switch {
	case at.TLS != nil:
		return nil, fmt.Errorf("measure: %w: what is sent over TLS cannot be read", harness.ErrUnavailable)
	case at.Kind != harness.KindRedis && at.Kind != harness.KindZooKeeper:
		return nil, fmt.Errorf("measure: %w: messages to a server of kind %q cannot be read", harness.ErrUnavailable, at.Kind)
	}
	r := &dryRun{Clients: Clients{Lock: v, At: at, Key: key}, journal: newJournal()}
	defer func() {
		err = errors.Join(err, r.Close())
		if err != nil {
			trips = nil
			if cause := context.Cause(ctx); cause != nil {
				err = cause
			}
		}
	}()
	trips = new(harness.Trips)
	if err := r.alone(ctx, trips); err != nil {
		return nil, err
	}
	if v.Traits.Permits > 1 {
		return trips, nil
	}
	trips.Behind, err = r.behind(ctx)
	return trips, err
}

type dryRun struct {
	Clients
	journal  *tripJournal
	sessions []harness.Session
}

func (r *dryRun) join(ctx context.Context) error {
	i := len(r.sessions)
	s, err := r.Join(ctx, i, func(server int, s faultproxy.Sighting) { r.journal.see(i, server, s) })
	r.sessions = append(r.sessions, s)
	return err
}

func (r *dryRun) settle(ctx context.Context) (asks bool, err error) {
	first := r.journal.now()
	for began := time.Now(); time.Since(began) < slow; {
		select {
		case <-time.After(time.Millisecond):
		case <-ctx.Done():
			return false, ctx.Err()
		}
		if r.journal.calm(time.Now()) {
			return false, nil
		}
		if time.Since(began) > settling && requests(r.journal.between(first, r.journal.now())) > asking {
			return true, nil
		}
	}
	return false, nil
}

type legs struct{ halves, requests []float64 }

func (l *legs) add(s stamp, requests float64) {
	l.halves, l.requests = append(l.halves, float64(s.halves)), append(l.requests, requests)
}

func (l *legs) enough() bool {
	n, same := len(l.halves), 0
	for _, h := range l.halves {
		if h == stat.Median(l.halves) {
			same++
		}
	}
	return n >= most || n >= plays && mostly*n <= plays*same
}

func (l *legs) leg() harness.Leg {
	if len(l.halves) == 0 {
		return harness.Leg{}
	}
	return harness.Leg{Halves: int(stat.Median(l.halves)), Requests: stat.Median(l.requests)}
}

func (r *dryRun) alone(ctx context.Context, t *harness.Trips) error {
	if err := r.join(ctx); err != nil {
		return err
	}
	var lock, unlock legs
	for n := 0; n < warm || !lock.enough() || !unlock.enough(); n++ {
		asks := r.journal.mark(0)
		lease, err := r.sessions[0].Lock(ctx)
		if err != nil {
			return err
		}
		has := r.journal.mark(0)
		_, err = r.settle(ctx)
		releases := r.journal.mark(0)
		if err := errors.Join(err, lease.Unlock(ctx)); err != nil {
			return err
		}
		free := r.journal.mark(0)
		if _, err := r.settle(ctx); err != nil {
			return err
		}
		if n < warm {
			continue
		}
		end := r.journal.now()
		lock.add(reckon(r.journal.between(asks, has), 0).known[0], requests(r.journal.between(asks, releases)))
		unlock.add(reckon(r.journal.between(releases, free), 0).known[0], requests(r.journal.between(releases, end)))
	}
	r.journal.adaptSilence()
	t.Lock, t.Unlock = lock.leg(), unlock.leg()
	return nil
}
