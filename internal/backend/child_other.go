//go:build !(linux || darwin || freebsd)

package backend

import (
	"fmt"
	"os/exec"
	"runtime"

	"locklab/harness"
)

// A Child is a helper program of this process; there are none on this system.
type Child struct{}

// StartChild returns an error that wraps [harness.ErrUnavailable].
func StartChild(*exec.Cmd) (*Child, error) {
	return nil, fmt.Errorf("%w: starting helper programs is not supported on %s", harness.ErrUnavailable, runtime.GOOS)
}

// PID returns 0.
func (c *Child) PID() int { return 0 }

// Done returns nil.
func (c *Child) Done() <-chan struct{} { return nil }

// Kill does nothing.
func (c *Child) Kill() {}
