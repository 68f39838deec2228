package ranks

import (
	"os"
	"strings"
)

// ClockName names CLOCK_MONOTONIC as this process reads it: by the boot of the kernel
// (/proc/sys/kernel/random/boot_id, see random(4)) and the time namespace, each of which
// may add an offset of its own (time_namespaces(7)). Ranks with the same name read the
// same clock. Where the system does not tell, the name is one that no other process has.
//
// Virtual machines that go on from one snapshot have the same name and different clocks:
// do not spread ranks over such.
func ClockName() string {
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
