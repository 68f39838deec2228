package measure

import (
	"os"
	"strings"
)

// RankClockName names this process's CLOCK_MONOTONIC by the kernel's boot (boot_id of
// random(4)) and the time namespace (time_namespaces(7)); ranks with one name read one clock.
// If the system does not report it, the name is unique to the process.
//
// Virtual machines resumed from one snapshot share a name and not a clock: do not spread ranks
// over them.
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
