//go:build unix && !linux

package child

import "syscall"

// attributes gives a child its own process group.
func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
