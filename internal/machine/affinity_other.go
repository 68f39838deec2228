//go:build !linux

package machine

import (
	"errors"
	"fmt"
	"runtime"
)

func affinity() []int { return nil }

func pinThread(cpu int) error {
	return fmt.Errorf("machine: cannot bind a thread to processor %d on %s: %w", cpu, runtime.GOOS, errors.ErrUnsupported)
}
