package runner

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"locklab/harness"
	"locklab/harness/stat"
	"locklab/internal/machine"
	wireredis "locklab/internal/wire/redis"
	wirezk "locklab/internal/wire/zookeeper"
)

// How long a bare request takes to a server that keeps the lock, and back. A lock
// that waits for an answer cannot take less, so the one is the unit of the other,
// as the time of a transfer is for the locks of one process.
//
// One connection asks, one request at a time. It is opened for each probe and
// closed behind it, so that the server has no more clients in the
// window than the workload says; the lock's own clients, and what they count, know
// nothing of it. It runs wherever the scheduler puts it, also where the workers
// are bound: a client that waits for a socket is woken there.
const (
	tripsMost     = 200                   // samples of a probe
	tripsLeast    = 5                     // samples that a median needs
	tripsSpan     = 20 * time.Millisecond // of a probe, where that gives enough
	tripsSkipped  = 3                     // the first ones open the connection and warm it up
	tripsPatience = 2 * time.Second       // with a server, all together
)

// roundTrips returns times of bare requests to the first server of at in ns, of
// one probe: none if the server could not be reached or stopped answering. That is
// no error: the lock will say so itself, if it needs that server.
func roundTrips(ctx context.Context, clock machine.Clock, at harness.Endpoint) []float64 {
	ctx, cancel := context.WithTimeout(ctx, tripsPatience)
	defer cancel()
	l, err := dial(ctx, at)
	if err != nil {
		return nil
	}
	defer l.close()
	for range tripsSkipped {
		if l.ask(ctx) != nil {
			return nil
		}
	}
	samples := make([]float64, 0, tripsMost)
	begin := clock.Now()
	for len(samples) < tripsMost {
		start := clock.Now()
		if l.ask(ctx) != nil {
			return nil
		}
		end := clock.Now()
		samples = append(samples, float64(clock.Nanoseconds(end-start)))
		if len(samples) >= tripsLeast && clock.Nanoseconds(end-begin) > int64(tripsSpan) {
			break
		}
	}
	return samples
}

// RoundTrip returns how long a bare request to the first server of at and its answer
// take now, in ns by clock: the median of some, 0 if the server does not answer.
func RoundTrip(ctx context.Context, clock machine.Clock, at harness.Endpoint) float64 {
	samples := roundTrips(ctx, clock, at)
	if len(samples) == 0 {
		return 0
	}
	return stat.Median(samples)
}

// A line is a connection to one server.
type line struct {
	ask   func(ctx context.Context) error // sends a bare request and waits for the answer
	close func()
}

// dial returns a line to the first server of at, of the first ensemble.
func dial(ctx context.Context, at harness.Endpoint) (line, error) {
	if len(at.Addrs) == 0 || len(at.Addrs[0]) == 0 {
		return line{}, fmt.Errorf("runner: %w: an endpoint of kind %q without an address", harness.ErrUsage, at.Kind)
	}
	at.Addrs = [][]string{at.Addrs[0][:1]}
	switch at.Kind {
	case harness.KindRedis:
		return dialRedis(at)
	case harness.KindZooKeeper:
		return dialZooKeeper(ctx, at)
	}
	return line{}, fmt.Errorf("runner: %w: no bare request to a server of kind %q is known", harness.ErrUsage, at.Kind)
}

// dialRedis connects with the first request.
func dialRedis(at harness.Endpoint) (line, error) {
	client, _, err := wireredis.Connect(at, func(o *redis.Options) { o.PoolSize = 1 })
	if err != nil {
		return line{}, err
	}
	bare := func(ctx context.Context) error { return client.Ping(ctx).Err() }
	ask := func(ctx context.Context) error {
		err := bare(ctx)
		if err != nil && strings.HasPrefix(err.Error(), "NOPERM ") {
			// A user with the right to nothing but locks of this lab may ask for the
			// time. To be refused takes as long, but fills the server's ACL LOG.
			bare = func(ctx context.Context) error { return client.Time(ctx).Err() }
			err = bare(ctx)
		}
		return err
	}
	return line{ask, func() { client.Close() }}, nil
}

func dialZooKeeper(ctx context.Context, at harness.Endpoint) (line, error) {
	conn, err := wirezk.Connect(ctx, at, wirezk.Options{})
	if err != nil {
		return line{}, err
	}
	// The library's requests know no context. Closing ends them.
	keep := context.AfterFunc(ctx, conn.Close)
	ask := func(context.Context) error {
		_, _, err := conn.Exists("/")
		return err
	}
	return line{ask, func() { keep(); conn.Close() }}, nil
}
