package measure

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"locklab/harness"
	"locklab/internal/machine"
	"locklab/internal/stat"
	wireredis "locklab/internal/wire/redis"
	wirezk "locklab/internal/wire/zookeeper"
)

// A lock that waits for an answer cannot beat a bare request, so it is the unit of its times.
// A connection sends one request at a time. It is open during the probe only, so that the
// window has no additional client, and runs anywhere: a client of a socket is woken there.
const (
	tripsMost     = 200                   // samples of a probe
	tripsLeast    = 5                     // samples that a median needs
	tripsSpan     = 10 * time.Millisecond // of a probe, if that gives enough
	tripsSkipped  = 3                     // the first ones open the connection and warm it up
	tripsPatience = 2 * time.Second       // with a server, all together
)

// roundTrips returns the times of bare requests to the first server, in ns, or nil if it does
// not answer: the lock will fail if it needs that server.
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

// RoundTrip returns the current time of a bare request to the first server of at and its
// answer, in ns by clock: the median of some, 0 if the server does not answer.
func RoundTrip(ctx context.Context, clock machine.Clock, at harness.Endpoint) float64 {
	samples := roundTrips(ctx, clock, at)
	if len(samples) == 0 {
		return 0
	}
	return stat.Median(samples)
}

type line struct {
	ask   func(ctx context.Context) error // sends a bare request and waits for the answer
	close func()
}

func dial(ctx context.Context, at harness.Endpoint) (line, error) {
	if len(at.Addrs) == 0 || len(at.Addrs[0]) == 0 {
		return line{}, fmt.Errorf("measure: %w: an endpoint of kind %q without an address", harness.ErrUsage, at.Kind)
	}
	at.Addrs = [][]string{at.Addrs[0][:1]}
	switch at.Kind {
	case harness.KindRedis:
		return dialRedis(at)
	case harness.KindZooKeeper:
		return dialZooKeeper(ctx, at)
	}
	return line{}, fmt.Errorf("measure: %w: no bare request to a server of kind %q is known", harness.ErrUsage, at.Kind)
}

func dialRedis(at harness.Endpoint) (line, error) {
	client, _, err := wireredis.Connect(at, func(o *redis.Options) { o.PoolSize = 1 })
	if err != nil {
		return line{}, err
	}
	bare := func(ctx context.Context) error { return client.Ping(ctx).Err() }
	ask := func(ctx context.Context) error {
		err := bare(ctx)
		if err != nil && strings.HasPrefix(err.Error(), "NOPERM ") {
			// A user with rights only to locks of this lab may request the time. A refusal
			// takes as long, but fills the server's ACL LOG.
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
	// The library's requests take no context. Closing ends them.
	keep := context.AfterFunc(ctx, conn.Close)
	ask := func(context.Context) error {
		_, _, err := conn.Exists("/")
		return err
	}
	return line{ask, func() { keep(); conn.Close() }}, nil
}
