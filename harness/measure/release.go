package measure

import (
	"context"
	"errors"
	"time"

	"locklab/harness"
)

// release gives lease back. An Unlock may return before its servers have answered, and
// continue in the background: a server that thousands of clients join is busy for longer
// than a library waits. release then waits for the end of the lease. It waits half as long
// as the patience with workers, so that the error is reported rather than stuck workers.
func release(ctx context.Context, lease harness.Lease, patience time.Duration) error {
	err := lease.Unlock(ctx)
	if err == nil || errors.Is(err, harness.ErrNotHeld) || lease.Err() != nil || lease.Done() == nil {
		return err
	}
	timer := time.NewTimer(patience / 2)
	defer timer.Stop()
	select {
	case <-lease.Done():
	case <-timer.C:
	}
	if errors.Is(lease.Err(), harness.ErrReleased) {
		return nil
	}
	return err
}
