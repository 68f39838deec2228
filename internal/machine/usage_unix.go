//go:build unix

package machine

import (
	"time"

	"golang.org/x/sys/unix"
)

func processUsage() Usage {
	u, _ := usageOf(unix.RUSAGE_SELF)
	return u
}

func usageOf(subject int) (Usage, bool) {
	var r unix.Rusage
	if unix.Getrusage(subject, &r) != nil {
		return Usage{}, false
	}
	return Usage{
		User: time.Duration(r.Utime.Nano()), System: time.Duration(r.Stime.Nano()),
		Voluntary: int64(r.Nvcsw), Involuntary: int64(r.Nivcsw),
	}, true
}
