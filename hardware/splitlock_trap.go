package hardware

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"
)

// ErrSplitLockTrapped says that locked accesses across two lines are caught by
// the kernel or by a hypervisor below it, so their own cost cannot be measured.
var ErrSplitLockTrapped = errors.New("hardware: split locks are trapped")

// splitLockTrap returns why the Linux kernel whose files are under fsys would
// catch a locked access across two lines, nil if it would not. On another system
// the files are missing, and it would not.
//
// Linux shows what the processor can detect as flags of /proc/cpuinfo, which the
// boot option split_lock_detect does not take away, and acts as that option
// says: "warn" if it is missing or misspelt (arch/x86/kernel/cpu/bus_lock.c).
func splitLockTrap(fsys fs.FS) error {
	flags := cpuFlags(fsys)
	alignment, debug := slices.Contains(flags, "split_lock_detect"), slices.Contains(flags, "bus_lock_detect")
	if !alignment && !debug {
		return nil
	}
	flag := "split_lock_detect"
	if !alignment {
		flag = "bus_lock_detect"
	}
	var effect string
	switch mode := splitLockMode(fsys); {
	case mode == "off", mode == "ratelimit" && !debug: // a limit is for the debug exception only
		return nil
	case mode == "ratelimit":
		effect, flag = "lets only so many pass in a second", "bus_lock_detect"
	case mode == "fatal":
		effect = "ends the process with SIGBUS"
	case alignment && readTrimmed(fsys, "proc/sys/kernel/split_lock_mitigate") != "0":
		effect = "makes the process sleep for each"
	default:
		effect = "takes an exception for each"
	}
	return fmt.Errorf("%w: this kernel %s (flag %s in /proc/cpuinfo); boot it with split_lock_detect=off to measure them", ErrSplitLockTrapped, effect, flag)
}

// cpuFlags returns the flags of the first processor.
func cpuFlags(fsys fs.FS) []string {
	for line := range strings.Lines(readTrimmed(fsys, "proc/cpuinfo")) {
		if key, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == "flags" {
			return strings.Fields(value)
		}
	}
	return nil
}

// splitLockMode returns "off", "warn", "fatal" or "ratelimit". Of several
// options the kernel takes the last.
func splitLockMode(fsys fs.FS) string {
	mode := "warn"
	for _, word := range strings.Fields(readTrimmed(fsys, "proc/cmdline")) {
		if value, ok := strings.CutPrefix(word, "split_lock_detect="); ok {
			mode = "warn"
			if name, _, _ := strings.Cut(value, ":"); value == "off" || value == "fatal" || name == "ratelimit" {
				mode = name
			}
		}
	}
	return mode
}

// readTrimmed returns the text of a file, "" if it cannot be read.
func readTrimmed(fsys fs.FS, name string) string {
	text, _ := fs.ReadFile(fsys, name) // what cannot be read is unknown
	return strings.TrimSpace(string(text))
}

// What probeSplit takes for slow: an access that the kernel does not trap takes
// a few microseconds at most.
const slowAccess = time.Millisecond

// probeSplit does a few accesses, one at a time, and returns an error if they
// take so long that something catches them. A hypervisor may, of which the guest
// sees nothing. once does one access and returns how long it took.
//
// One slow access may be a thread that was preempted. And Linux, after it caught
// one, lets the accesses of that CPU pass for two ticks. So it waits after a
// slow one until they are caught again, and judges by the second.
func probeSplit(once func() time.Duration, wait func(time.Duration)) error {
	const (
		accesses = 16
		rearmed  = 50 * time.Millisecond // two ticks are 20 ms at most
	)
	slow := 0
	for range accesses {
		took := once()
		if took < slowAccess {
			continue
		}
		if slow++; slow == 2 {
			return fmt.Errorf("%w: one took %v, so this kernel or the hypervisor below it catches them; run this on a machine without one that does", ErrSplitLockTrapped, took)
		}
		wait(rearmed)
	}
	return nil
}
