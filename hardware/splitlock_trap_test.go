package hardware

import (
	"errors"
	"os"
	"runtime"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"locklab/internal/machine"
)

func TestSplitLockTrap(t *testing.T) {
	const intel, bus = "split_lock_detect", "bus_lock_detect"
	for _, test := range []struct {
		name, flags, cmdline string
		want                 string // the flag in the error; "" without one
	}{
		{"no flag", "fpu tsc", "", ""},
		{"no flag, option", "fpu", "split_lock_detect=fatal", ""},
		{"another flag", "no_split_lock_detect split_lock_detect2", "", ""},
		{"default", "fpu " + intel + " tsc", "quiet", intel},
		{"warn", intel, "split_lock_detect=warn", intel},
		{"bus lock only", bus, "", bus},
		{"fatal", bus, "a split_lock_detect=fatal b", bus},
		{"limit", intel, "split_lock_detect=ratelimit:10", intel},
		{"off", intel + " " + bus, "quiet split_lock_detect=off", ""},
		{"the last counts, off", intel, "split_lock_detect=fatal split_lock_detect=off", ""},
		{"the last counts, fatal", intel, "split_lock_detect=off split_lock_detect=fatal", intel},
		{"misspelt last", intel, "split_lock_detect=off split_lock_detect=offf", intel},
		{"another option", intel, "xsplit_lock_detect=off", intel},
	} {
		root := fstest.MapFS{
			"proc/cpuinfo": file("processor\t: 0\nflags\t\t: " + test.flags + "\nbugs\t\t:\n\nprocessor\t: 1\n"),
			"proc/cmdline": file(test.cmdline + "\n"),
		}
		err := splitLockTrap(root)
		if test.want == "" {
			if err != nil {
				t.Errorf("%s: error is %v", test.name, err)
			}
			continue
		}
		if !errors.Is(err, ErrSplitLockTrapped) || !strings.Contains(err.Error(), "flag "+test.want) || !strings.Contains(err.Error(), "boot it with split_lock_detect=off") {
			t.Errorf("%s: error is %v", test.name, err)
		}
	}
	if err := splitLockTrap(fstest.MapFS{}); err != nil {
		t.Errorf("a system without /proc: %v", err)
	}
}

func file(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }

func TestProbeSplit(t *testing.T) {
	const fast, slow = time.Microsecond, 11 * time.Millisecond
	for _, test := range []struct {
		name     string
		took     func(access int, rearmed bool) time.Duration
		trapped  bool
		accesses int
	}{
		{"nothing", func(int, bool) time.Duration { return fast }, false, 16},
		{"each", func(int, bool) time.Duration { return slow }, true, 2},
		{"preempted once", func(i int, _ bool) time.Duration {
			if i == 1 {
				return slow
			}
			return fast
		}, false, 16},
		{"Linux, one and then two ticks free", func(i int, rearmed bool) time.Duration {
			if i == 0 || rearmed {
				return slow
			}
			return fast
		}, true, 2},
	} {
		calls, rearmed := 0, false
		err := probeSplit(func() time.Duration {
			took := test.took(calls, rearmed)
			calls, rearmed = calls+1, false
			return took
		}, func(d time.Duration) { rearmed = d >= 20*time.Millisecond })
		if (err != nil) != test.trapped || err != nil && !errors.Is(err, ErrSplitLockTrapped) || calls != test.accesses {
			t.Errorf("%s: error %v after %d accesses", test.name, err, calls)
		}
	}
}

func TestSplitLockAvailable(t *testing.T) {
	err := splitLockAvailable()
	switch {
	case err == nil && (runtime.GOARCH != "amd64" || len(splitAccesses) == 0 || len(machine.CPUOrder()) < 2):
		t.Error("available without assembly or a second CPU")
	case err == nil && splitLockTrap(os.DirFS("/")) != nil:
		t.Error("available though the kernel traps it")
	case err != nil && (!strings.HasPrefix(err.Error(), "hardware: ") || strings.Contains(err.Error(), "\n")):
		t.Errorf("the reason is %v", err)
	}
}
