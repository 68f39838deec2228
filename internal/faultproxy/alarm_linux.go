package faultproxy

import (
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// fine is a kernel timer that is read like a file (timerfd_create(2)), made when first needed.
// So the runtime wakes the goroutine as for a socket, within some tens of microseconds.
type fine struct {
	file *os.File
	none bool // the system has none to give
}

func (f *fine) ready() bool {
	if f.file != nil || f.none {
		return !f.none
	}
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		f.none = true
		return false
	}
	f.file = os.NewFile(uintptr(fd), "timerfd")
	return true
}

func (f *fine) sleep(d time.Duration) bool {
	raw, err := f.file.SyscallConn()
	if err != nil {
		return false
	}
	spec := unix.ItimerSpec{Value: unix.NsecToTimespec(int64(d))}
	if cerr := raw.Control(func(fd uintptr) { err = unix.TimerfdSettime(int(fd), 0, &spec, nil) }); cerr != nil || err != nil {
		return false
	}
	var expirations [8]byte
	_, err = f.file.Read(expirations[:])
	return err == nil
}

func (f *fine) close() {
	if f.file != nil {
		f.file.Close()
	}
}
