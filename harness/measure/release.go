package measure

import (
	"context"
	"errors"
	"time"

	"locklab/harness"
)

// release gives lease back. If Unlock fails before its busy servers have answered, it waits
// for the end of the lease, half as long as the patience: an error, not stuck workers.
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
