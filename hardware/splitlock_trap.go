package hardware

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"
)

// ErrSplitLockTrapped reports that the kernel or a hypervisor below it traps locked
// accesses across two lines, so their own cost cannot be measured.
var ErrSplitLockTrapped = errors.New("hardware: split locks are trapped")

// splitLockTrap returns an error if the Linux kernel whose files are under fsys may trap a
// locked access across two lines, and nil for another system.
//
// Linux shows the feature as a flag of /proc/cpuinfo, for any boot option split_lock_detect
// (arch/x86/kernel/cpu/bus_lock.c). Every option but "off" traps on some processors.
func splitLockTrap(fsys fs.FS) error {
	for _, flag := range cpuFeatures(fsys, "flags") {
		if (flag == "split_lock_detect" || flag == "bus_lock_detect") && splitLockMode(fsys) != "off" {
			return fmt.Errorf("%w: this kernel may catch them (flag %s in /proc/cpuinfo); boot it with split_lock_detect=off to measure them", ErrSplitLockTrapped, flag)
		}
	}
	return nil
}

func cpuFeatures(fsys fs.FS, key string) []string {
	for line := range strings.Lines(readTrimmed(fsys, "proc/cpuinfo")) {
		if k, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(k) == key {
			return strings.Fields(value)
		}
	}
	return nil
}

// splitLockMode returns the boot option, "" if it is missing. The kernel takes the last.
func splitLockMode(fsys fs.FS) (mode string) {
	for _, word := range strings.Fields(readTrimmed(fsys, "proc/cmdline")) {
		if value, ok := strings.CutPrefix(word, "split_lock_detect="); ok {
			mode = value
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
