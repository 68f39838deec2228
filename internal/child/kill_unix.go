//go:build unix

package child

import (
	"os"
	"syscall"
)

// killGroup kills p and its children. After p has been waited for, another process may
// have its id: Signal detects that.
func killGroup(p *os.Process) {
	if p.Signal(syscall.Signal(0)) == nil {
		_ = syscall.Kill(-p.Pid, syscall.SIGKILL)
	}
}
