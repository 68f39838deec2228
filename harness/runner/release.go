package runner

import (
	"context"
	"errors"
	"time"

	"locklab/harness"
)

// release gives lease back. An Unlock may return before its servers have answered, and go
// on in the background: where thousands of clients join at once a server is busy with them
// for longer than a library waits. The lease says what becomes of it; it is waited for at
// most half as long as workers are, so that the error is told and not that they are stuck.
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
