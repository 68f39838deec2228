//go:build unix && !solaris && !aix

package result

import (
	"errors"
	"os"
	"syscall"
)

// lockFile makes the caller f's only writer until f is closed or the process dies.
func lockFile(f *os.File) error {
	err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return errors.New("another locklab is writing it")
	}
	if errors.Is(err, syscall.ENOTSUP) || errors.Is(err, syscall.ENOSYS) || errors.Is(err, syscall.ENOLCK) {
		return nil // a file system without locks, such as some network mounts
	}
	return err
}
