//go:build !unix

package chaos

import (
	"fmt"

	"locklab/harness"
)

func signalTree(int, bool) error {
	return fmt.Errorf("chaos: %w: this system cannot stop a process", harness.ErrUnavailable)
}
