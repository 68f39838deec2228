//go:build !linux

package twin

import "syscall"

// attributes has nothing to ask for: the child sees the end of its input.
func attributes() *syscall.SysProcAttr { return nil }
