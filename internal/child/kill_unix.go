//go:build unix

package child

import (
	"os"
	"syscall"
)

func killGroup(p *os.Process) {
	if p.Signal(syscall.Signal(0)) == nil {
		_ = syscall.Kill(-p.Pid, syscall.SIGKILL)
	}
}
