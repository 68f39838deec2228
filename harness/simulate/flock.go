//go:build unix && !solaris && !aix

package simulate

import (
	"context"
	"errors"
	"os"
	"syscall"
	"time"
)

// lockFile waits until the caller has the only lock on f, which lasts until f is closed.
// On a file system without locks it does nothing.
func lockFile(ctx context.Context, f *os.File) error {
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			return nil
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(50 * time.Millisecond):
		}
	}
}
