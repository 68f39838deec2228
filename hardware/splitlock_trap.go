package hardware

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"
)

// ErrSplitLockTrapped reports that the kernel or a hypervisor below it traps locked
// accesses across two lines, so their own cost cannot be measured.
var ErrSplitLockTrapped = errors.New("hardware: split locks are trapped")

// splitLockTrap returns why the Linux kernel whose files are under fsys would trap a locked
// access across two lines, or nil, also for another system.
//
// Linux shows the feature as a flag of /proc/cpuinfo, for any boot option split_lock_detect,
// whose default, also for a misspelt value, is "warn" (arch/x86/kernel/cpu/bus_lock.c).
func splitLockTrap(fsys fs.FS) error {
	flags := cpuFeatures(fsys, "flags")
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
	case mode == "off", mode == "ratelimit" && !debug: // the limit applies to the debug exception only
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

func cpuFeatures(fsys fs.FS, key string) []string {
	for line := range strings.Lines(readTrimmed(fsys, "proc/cpuinfo")) {
		if k, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(k) == key {
			return strings.Fields(value)
		}
	}
	return nil
}

// splitLockMode returns "off", "warn", "fatal" or "ratelimit". If the option is repeated
// the kernel takes the last.
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

func readTrimmed(fsys fs.FS, name string) string {
	text, _ := fs.ReadFile(fsys, name) // an unreadable file counts as unknown
	return strings.TrimSpace(string(text))
}

// slowAccess is far above an untrapped access, some microseconds.
const slowAccess = time.Millisecond

// probeSplit makes a few accesses and returns an error if they are so slow that something
// traps them, perhaps an unseen hypervisor. once makes one access and returns its time.
//
// One slow access may be a preempted thread, and Linux lets a CPU pass for two ticks after a
// trap. So it waits after a slow access, and judges by the second.
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
