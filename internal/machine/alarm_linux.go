package machine

import (
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// An Alarm lets one goroutine at a time sleep for less than a millisecond. In an idle process
// a Go timer fires up to 1 ms late, because epoll_wait counts in milliseconds; a kernel timer
// fires within tens of microseconds. The nil Alarm does not sleep.
type Alarm struct {
	file *os.File
	raw  interface{ Control(func(uintptr)) error }
	buf  [8]byte
}

// NewAlarm returns an alarm, or nil if the system offers none.
func NewAlarm() *Alarm {
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		return nil
	}
	a := &Alarm{file: os.NewFile(uintptr(fd), "alarm")}
	if a.raw, err = a.file.SyscallConn(); err != nil {
		a.file.Close()
		return nil
	}
	return a
}

// Sleep sleeps for d > 0 and reports whether it did.
func (a *Alarm) Sleep(d time.Duration) bool {
	if a == nil {
		return false
	}
	var set error
	spec := unix.ItimerSpec{Value: unix.NsecToTimespec(int64(max(1, d)))}
	if err := a.raw.Control(func(fd uintptr) { set = unix.TimerfdSettime(int(fd), 0, &spec, nil) }); err != nil || set != nil {
		return false
	}
	_, err := a.file.Read(a.buf[:])
	return err == nil
}

// Close releases the alarm. No goroutine may call Sleep afterwards.
func (a *Alarm) Close() {
	if a != nil {
		a.file.Close()
	}
}
