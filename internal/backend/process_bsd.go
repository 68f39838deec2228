//go:build darwin || freebsd

package backend

import "syscall"

// attributes gives a server its own process group.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true}
}
