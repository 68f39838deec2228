package ranks

import (
	"context"
	"errors"
	"time"

	"locklab/harness"
)

// A board is a server's part of a meeting, for one rank. Every method is one request or a
// few. After a lost reply it may be called again.
type board interface {
	// claim takes the rank exclusively; the claim expires unless renewed. If another
	// process has it, claim returns that process's value, or nil for one that is just
	// ending.
	claim(ctx context.Context, value []byte) (taken bool, holder []byte, err error)

	// beat renews the claim, and the posts of run unless run is "". It returns the
	// values of all claims, by rank, nil for missing ones. The error wraps errClaim
	// if the own claim has ended.
	beat(ctx context.Context, run string) ([][]byte, error)

	// post posts the rank's value at a place of a run, once.
	post(ctx context.Context, run, at string, value []byte) error

	// read returns the values posted at a place of a run, nil for ranks without one.
	read(ctx context.Context, run, at string) ([][]byte, error)

	// drop removes the rank's post at a place.
	drop(ctx context.Context, run, at string) error

	// now returns the server's clock, in ns since 1970, and its resolution: the
	// greatest lag of that reading.
	now(ctx context.Context) (now, resolution int64, err error)

	// leave gives up the claim, removes data that no rank needs any more, and
	// disconnects, even if it fails.
	leave(ctx context.Context, run string) error

	// expiry is the time after which a claim without renewal has surely ended.
	expiry() time.Duration

	// spread is the greatest difference between the ends of claims of ranks that died
	// at the same time.
	spread() time.Duration
}

type place struct {
	job         string
	rank, ranks int
}

var (
	// errClaim reports that the server does not have this rank's claim.
	errClaim = errors.New("the server does not know this rank's claim")

	// errRefused reports that the server rejected a request, and will reject it
	// again.
	errRefused = errors.New("the server refuses a request")
)

const (
	answerTime  = 2 * time.Second  // for one request
	connectTime = 10 * time.Second // for a server that does not answer at first
)

func connect(ctx context.Context, at address, p place, expiry time.Duration) (board, error) {
	connecting, cancel := context.WithTimeout(ctx, connectTime)
	defer cancel()
	var b board
	var err error
	if at.endpoint.Kind == harness.KindZooKeeper {
		b, err = openZooKeeper(connecting, at, p, expiry)
	} else {
		b, err = openRedis(connecting, at, p, expiry)
	}
	if ctx.Err() != nil && err != nil {
		return nil, context.Cause(ctx)
	}
	if err != nil {
		return nil, unreachable(at, err)
	}
	return b, nil
}
