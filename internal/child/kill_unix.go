//go:build unix

package child

import (
	"os"
	"syscall"
)

// killGroup kills p and its children. Once p has been waited for its id may be
// another's, which Signal knows.
func killGroup(p *os.Process) {
	if p.Signal(syscall.Signal(0)) == nil {
		_ = syscall.Kill(-p.Pid, syscall.SIGKILL)
	}
}
