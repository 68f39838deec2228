package ranks

import (
	"context"
	"errors"
	"time"

	"locklab/harness"
)

// A board is a server's part of a meeting, for one rank. Every method is one request or
// a few. Where a reply may have been lost it may be called again.
type board interface {
	// claim takes the rank, exclusively, until it was not renewed for some time. If
	// another process has it, it returns the value that that has claimed it with. It
	// may return nil for one that is just ending.
	claim(ctx context.Context, value []byte) (taken bool, holder []byte, err error)

	// beat renews the claim, and what is posted in run unless that is "". It returns the
	// values of all claims, by rank, nil where there is none. The error wraps errClaim if
	// the own claim has ended.
	beat(ctx context.Context, run string) ([][]byte, error)

	// post posts the rank's value at a place of a run, once.
	post(ctx context.Context, run, at string, value []byte) error

	// read returns what the ranks posted at a place of a run, nil for those that have not.
	read(ctx context.Context, run, at string) ([][]byte, error)

	// drop takes away what the rank posted at a place.
	drop(ctx context.Context, run, at string) error

	// now reads the server's clock, in ns since 1970, and how much that may be behind it.
	now(ctx context.Context) (now, resolution int64, err error)

	// leave gives up the claim, removes what no rank needs any more, and disconnects, even if it fails.
	leave(ctx context.Context, run string) error

	// expiry is by when a claim that is not renewed has surely ended.
	expiry() time.Duration

	// spread is how far apart the claims of ranks that are gone at once may end.
	spread() time.Duration
}

// A place is whose board it is.
type place struct {
	job         string
	rank, ranks int
}

var (
	// errClaim says that the server does not know the claim of this rank.
	errClaim = errors.New("the server does not know this rank's claim")

	// errRefused says that the server has understood a request, and will refuse it again.
	errRefused = errors.New("the server refuses a request")
)

const (
	answerTime  = 2 * time.Second  // for one request
	connectTime = 10 * time.Second // for a server that does not answer at first
)

// connect returns the board at a server that answers.
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
