package child

import "syscall"

// attributes gives a child its own process group and binds its life to the life of the
// thread that forks it.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
