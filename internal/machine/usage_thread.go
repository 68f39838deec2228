//go:build linux || freebsd

package machine

import "golang.org/x/sys/unix"

func threadUsage() (Usage, bool) { return usageOf(unix.RUSAGE_THREAD) }
