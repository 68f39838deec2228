package measure

import (
	"os"
	"strings"
)

// RankClockName names the CLOCK_MONOTONIC of this process: by the boot of the kernel
// (/proc/sys/kernel/random/boot_id, see random(4)) and the time namespace, each of which
// may add its own offset (time_namespaces(7)). Ranks with the same name read the same
// clock. If the system does not report it, the name is unique to the process.
//
// Virtual machines resumed from one snapshot have the same name and different clocks: do
// not spread ranks over them.
func RankClockName() string {
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ownClock()
	}
	space, err := os.Readlink("/proc/self/ns/time")
	if os.IsNotExist(err) {
		space, err = "time:none", nil // before Linux 5.6
	}
	if err != nil {
		return ownClock()
	}
	return strings.TrimSpace(string(boot)) + " " + space
}
