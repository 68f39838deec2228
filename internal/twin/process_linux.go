package twin

import "syscall"

// attributes lets the kernel kill the child when the thread that forks it ends,
// as it does when the owner is killed.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
