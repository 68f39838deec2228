//go:build !systematic

package atomics

import "syscall"

// yieldThread does not notify the Go scheduler of the call, which cannot block.
func yieldThread() { syscall.RawSyscall(syscall.SYS_SCHED_YIELD, 0, 0, 0) }
