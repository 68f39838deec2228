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
	const (
		intel = "split_lock_detect"
		bus   = "bus_lock_detect"
		boot  = "boot it with split_lock_detect=off"
	)
	for _, test := range []struct {
		name                     string
		flags, cmdline, mitigate string
		want                     []string // nil: it traps nothing
	}{
		{name: "no flag", flags: "fpu tsc", mitigate: "1"},
		{name: "no flag, option", flags: "fpu", cmdline: "split_lock_detect=fatal"},
		{name: "another flag", flags: "no_split_lock_detect split_lock_detect2"},
		{name: "default", flags: intel, cmdline: "quiet", mitigate: "1", want: []string{intel, "sleep for each", boot}},
		{name: "no command line", flags: intel, want: []string{intel, "sleep for each", boot}},
		{name: "warn", flags: "fpu " + intel + " tsc", cmdline: "split_lock_detect=warn", mitigate: "1", want: []string{intel, "sleep"}},
		{name: "warn, no delay", flags: intel, cmdline: "split_lock_detect=warn", mitigate: "0", want: []string{intel, "exception for each"}},
		{name: "bus lock only, warn", flags: bus, mitigate: "1", want: []string{"flag " + bus, "exception for each", boot}},
		{name: "both", flags: bus + " " + intel, mitigate: "1", want: []string{"flag " + intel, "sleep for each"}},
		{name: "fatal", flags: intel, cmdline: "a split_lock_detect=fatal b", want: []string{intel, "SIGBUS", boot}},
		{name: "bus lock only, fatal", flags: bus, cmdline: "split_lock_detect=fatal", want: []string{"flag " + bus, "SIGBUS"}},
		{name: "off", flags: intel + " " + bus, cmdline: "quiet split_lock_detect=off", mitigate: "1"},
		{name: "the last counts, off", flags: intel, cmdline: "split_lock_detect=fatal split_lock_detect=off"},
		{name: "the last counts, fatal", flags: intel, cmdline: "split_lock_detect=off split_lock_detect=fatal", want: []string{"SIGBUS"}},
		{name: "misspelt", flags: intel, cmdline: "split_lock_detect=of", mitigate: "1", want: []string{"sleep"}},
		{name: "misspelt last", flags: intel, cmdline: "split_lock_detect=off split_lock_detect=offf", mitigate: "1", want: []string{"sleep"}},
		{name: "another option", flags: intel, cmdline: "xsplit_lock_detect=off", mitigate: "1", want: []string{"sleep"}},
		{name: "limit", flags: intel + " " + bus, cmdline: "split_lock_detect=ratelimit:10", want: []string{"flag " + bus, "so many", boot}},
		{name: "limit without the exception for it", flags: intel, cmdline: "split_lock_detect=ratelimit:10"},
	} {
		t.Run(test.name, func(t *testing.T) {
			root := fstest.MapFS{"proc/cpuinfo": file("processor\t: 0\nflags\t\t: " + test.flags + "\nbugs\t\t:\n\nprocessor\t: 1\n")}
			if test.cmdline != "" {
				root["proc/cmdline"] = file(test.cmdline + "\n")
			}
			if test.mitigate != "" {
				root["proc/sys/kernel/split_lock_mitigate"] = file(test.mitigate + "\n")
			}
			err := splitLockTrap(root)
			if (err != nil) != (test.want != nil) || err != nil && !errors.Is(err, ErrSplitLockTrapped) {
				t.Fatalf("error is %v", err)
			}
			for _, want := range test.want {
				if !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
					t.Errorf("no %q in %v", want, err)
				}
			}
		})
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

// TestSplitLockAvailable checks that a refusal has a reason that names the responsible
// architecture or setting.
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

func TestReadCacheBytes(t *testing.T) {
	const at = "sys/devices/system/cpu/cpu3/cache/index"
	root := fstest.MapFS{}
	for index, c := range [][3]string{
		{"1", "Data", "48K"}, {"1", "Instruction", "32K"}, {"2", "Unified", "2048K"}, {"3", "Unified", "32768K"},
		{"4", "Unified", "1K"}, {"x", "Unified", "1K"}, {"0", "Data", "1K"},
	} {
		dir := at + string(rune('0'+index))
		root[dir+"/level"], root[dir+"/type"], root[dir+"/size"] = file(c[0]+"\n"), file(c[1]+"\n"), file(c[2]+"\n")
	}
	if got, want := readCacheBytes(root, 3), (cacheBytes{0, 48 << 10, 2 << 20, 32 << 20}); got != want {
		t.Errorf("caches are %v, want %v", got, want)
	}
	root[at+"0/size"] = file("big")
	if got := readCacheBytes(root, 3); got[1] != 0 {
		t.Errorf("caches are %v", got)
	}
	if got := readCacheBytes(root, 0); got != (cacheBytes{}) {
		t.Errorf("caches of another CPU are %v", got)
	}
}

func TestFootprints(t *testing.T) {
	for _, test := range []struct {
		caches cacheBytes
		want   [3]int
	}{
		{cacheBytes{}, [3]int{16 << 10, 256 << 10, 64 << 20}},
		{cacheBytes{0, 48 << 10, 2 << 20, 32 << 20}, [3]int{24 << 10, 1 << 20, 64 << 20}},
		{cacheBytes{0, 32 << 10, 512 << 10, 4 << 20}, [3]int{16 << 10, 256 << 10, 32 << 20}},
		{cacheBytes{0, 32 << 10, 512 << 10, 384 << 20}, [3]int{16 << 10, 256 << 10, 256 << 20}},
	} {
		for i, f := range test.caches.footprints() {
			if f.bytes != test.want[i] || f.batch == 0 || f.name == "" {
				t.Errorf("%v: %+v, want %d bytes", test.caches, f, test.want[i])
			}
		}
	}
	if got := binaryBytes(24<<10) + binaryBytes(64<<20); got != "24 KiB64 MiB" {
		t.Errorf("sizes are %q", got)
	}
}
