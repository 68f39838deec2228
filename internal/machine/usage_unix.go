//go:build unix

package machine

import (
	"time"

	"golang.org/x/sys/unix"
)

func processUsage() Usage {
	var r unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &r) != nil {
		return Usage{}
	}
	return Usage{
		User: time.Duration(r.Utime.Nano()), System: time.Duration(r.Stime.Nano()),
		Voluntary: int64(r.Nvcsw), Involuntary: int64(r.Nivcsw),
	}
}
