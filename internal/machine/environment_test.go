package machine

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"unicode/utf8"

	"locklab/internal/require"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func TestFixtures(t *testing.T) {
	for _, f := range fixtures(t) {
		t.Run(f.name, func(t *testing.T) {
			e := f.read()
			var got bytes.Buffer
			topology := readTopology(f.fsys, f.cpus)
			fmt.Fprintf(&got, "%v\norder %v\n", e, topology.CPUs())
			for _, r := range []Relation{SMTSiblings, SameCache, SameNode, SamePackage} {
				fmt.Fprintf(&got, "within %q %v\n", r, topology.Groups(r))
			}
			for _, c := range e.Caches {
				fmt.Fprintf(&got, "%s: %s\n", c.Name(), c.Detail())
			}
			enc := json.NewEncoder(&got)
			enc.SetIndent("", "  ")
			require.NoError(t, enc.Encode(e))
			if ws := e.Warnings(); f.name == "quiet" && len(ws) > 0 {
				t.Errorf("warnings about a machine without fault: %+v", ws)
			}
			for _, c := range e.Checks() {
				fmt.Fprintf(&got, "check %s: %s: %q, bad %v\n", c.Kind, c.Name, c.Found, c.Bad)
			}
			for _, w := range e.Warnings() {
				fmt.Fprintf(&got, "warning (%s): %s\n remedy: %s\n", w.Kind, w.Text, w.Remedy)
			}
			golden := filepath.Join("testdata", f.name+".golden")
			if *update {
				require.NoError(t, os.WriteFile(golden, got.Bytes(), 0o644))
			}
			want, err := os.ReadFile(golden)
			require.NoError(t, err)
			if !bytes.Equal(got.Bytes(), want) {
				t.Errorf("run with -update if this is right:\n got:\n%s\nwant:\n%s", got.Bytes(), want)
			}
		})
	}
}

func worstEnvironment() Environment {
	load := 2.0
	return Environment{OS: "linux", Arch: "amd64", CPUs: 1, Cores: 4, CPULimit: 0.5, Governor: "powersave",
		Turbo: "on", Capacities: "446+1024", Virtual: "KVM", Clock: "RDTSC", Clocksource: "hpet",
		ClockFloor: 120, ClockStep: 10, ClockError: 150, Load: &load, TSC: "constant"}
}

func TestWarnings(t *testing.T) {
	several := worstEnvironment()
	several.CPUs, several.Clock = 8, "monotonic"
	idle, busy := 0.5, 0.51
	for _, tc := range []struct {
		name string
		e    Environment
		want []string // a part of each text, in order
	}{
		{"nothing known", Environment{CPUs: 4}, nil},
		{"worst", worstEnvironment(), []string{"one processor", "control group allows 0.5", `"powersave"`, "turbo", "446+1024", "KVM guest", "2 threads ran", "hpet", "counter is constant by", "takes 120 ns", "steps of 10 ns", "150 ppm"}},
		{"several", several, []string{"0.5 of 8", `"powersave"`, "turbo", "8 processors share 4 cores", "446+1024", "KVM guest", "system's clock", "takes 120 ns", "steps of 10 ns", "150 ppm"}},
		{"roomy limit", Environment{CPUs: 2, CPULimit: 2}, nil},
		{"no cpufreq", Environment{CPUs: 2, Governor: "none"}, nil},
		{"mixed governors", Environment{CPUs: 2, Governor: "performance+powersave"}, []string{"performance+powersave"}},
		{"arm64 has no TSC to distrust", Environment{CPUs: 2, Clock: "CNTVCT_EL0", Clocksource: "jiffies"}, nil},
		{"load at the limit", Environment{CPUs: 2, Load: &idle}, nil},
		{"load", Environment{CPUs: 2, Load: &busy}, []string{"0.51 threads ran"}},
		{"constant and nonstop", Environment{CPUs: 2, Clock: "RDTSC", TSC: "constant+nonstop"}, nil},
		{"variable", Environment{CPUs: 2, Clock: "RDTSC", TSC: "variable"}, []string{"counter is variable"}},
		{"variable, not in use", Environment{CPUs: 2, Clock: "monotonic", ClockFloor: 40, TSC: "variable"}, []string{"system's clock"}},
		{"floor at the limit", Environment{CPUs: 2, ClockFloor: 100}, nil},
		{"step at the limit", Environment{CPUs: 2, ClockStep: 5}, nil},
		{"rate at the limit", Environment{CPUs: 2, ClockError: 100}, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			checkWarnings(t, tc.e.Warnings(), tc.want)
		})
	}
}

func checkWarnings(t *testing.T, ws []Warning, want []string) {
	t.Helper()
	if len(ws) != len(want) {
		t.Fatalf("got %d warnings, want %d: %+v", len(ws), len(want), ws)
	}
	seen := make(map[string]bool)
	for i, w := range ws {
		if !strings.Contains(w.Text, want[i]) {
			t.Errorf("warning %d is %q, want one about %q", i, w.Text, want[i])
		}
		if !slices.Contains(WarningKinds(), w.Kind) {
			t.Errorf("%q has the kind %q, which is not listed", w.Text, w.Kind)
		}
		for _, s := range []string{w.Text, w.Remedy} {
			if s == "" || seen[s] || strings.HasSuffix(s, ".") || strings.Contains(s, "\n") {
				t.Errorf("%q is empty, said twice, or not one sentence without a full stop", s)
			}
			seen[s] = true
		}
	}
}

func TestCapture(t *testing.T) {
	e := Capture()
	t.Log(e)
	if e.OS != runtime.GOOS || e.Arch != runtime.GOARCH || e.Go != runtime.Version() || e.GOMAXPROCS < 1 {
		t.Errorf("not this program: %+v", e)
	}
	require.Equal(t, "CPUs", e.CPUs, len(CPUOrder()))
	if e.Clock == "" || e.ClockHz <= 0 || e.ClockFloor <= 0 || e.ClockStep <= 0 || e.Atomics == "" {
		t.Errorf("nothing about the clock or CAS: %+v", e)
	}
	if e.ClockRate == "" {
		t.Errorf("the rate of the clock is neither measured nor stated")
	}
	if runtime.GOOS == "linux" && (e.Kernel == "" || e.MemoryMiB == 0 || e.Governor == "") {
		t.Errorf("Linux, but its files were not read: %+v", e)
	}
}

func TestHypervisorByArch(t *testing.T) {
	dmi := fstest.MapFS{"sys/class/dmi/id/sys_vendor": {Data: []byte("QEMU\n")}}
	for _, tc := range []struct {
		arch, kernel, flags, want string
		fsys                      fs.FS
	}{
		{"amd64", "6.1", "fpu", "", dmi}, // an emulator would set the flag
		{"amd64", "6.1", "fpu hypervisor", "QEMU", dmi},
		{"amd64", "6.1", "fpu hypervisor", "unknown hypervisor", fstest.MapFS{}},
		{"amd64", "5.15.90.1-microsoft-standard-WSL2", "hypervisor", "Hyper-V", fstest.MapFS{}},
		{"arm64", "6.1", "", "QEMU", dmi},
		{"arm64", "6.1", "", "", fstest.MapFS{}},
	} {
		got, _ := readHypervisor(tc.fsys, tc.arch, tc.kernel, map[string]string{"flags": tc.flags})
		require.Equal(t, fmt.Sprintf("%s %s flags %q", tc.arch, tc.kernel, tc.flags), got, tc.want)
	}
}

func TestCPULimit(t *testing.T) {
	for _, tc := range []struct {
		name  string
		files map[string]string
		want  float64
	}{
		{"the parent is tighter", map[string]string{
			"proc/self/cgroup":          "0::/a/b\n",
			"sys/fs/cgroup/a/cpu.max":   "50000 100000\n",
			"sys/fs/cgroup/a/b/cpu.max": "200000 100000\n",
		}, 0.5},
		{"version 1", map[string]string{
			"proc/self/cgroup": "4:cpu,cpuacct:/docker/abc\n0::/\n",
			"sys/fs/cgroup/cpu,cpuacct/docker/abc/cpu.cfs_quota_us":  "250000\n",
			"sys/fs/cgroup/cpu,cpuacct/docker/abc/cpu.cfs_period_us": "100000\n",
		}, 2.5},
		{"cpuset is not cpu", map[string]string{
			"proc/self/cgroup":                    "3:cpuset:/\n",
			"sys/fs/cgroup/cpu/cpu.cfs_quota_us":  "250000\n",
			"sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000\n",
		}, 0},
		{"no limit", map[string]string{"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/cpu.max": "max 100000\n"}, 0},
		{"period of nothing", map[string]string{"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/cpu.max": "5 0\n"}, 0},
		{"garbage", map[string]string{"proc/self/cgroup": "::::\n0::\x00\n", "sys/fs/cgroup/cpu.max": "a b\n"}, 0},
	} {
		fsys := fstest.MapFS{}
		for name, text := range tc.files {
			fsys[name] = &fstest.MapFile{Data: []byte(text)}
		}
		if got, _ := readCPULimit(fsys); got != tc.want {
			t.Errorf("%s: limit %v, want %v", tc.name, got, tc.want)
		}
	}
}

// FuzzReadEnvironment gives every file the same content: reading must not panic, and the result
// must encode as JSON.
func FuzzReadEnvironment(f *testing.F) {
	paths := make(map[string]bool)
	for _, fix := range fixtures(f) {
		for path, file := range fix.fsys {
			paths[path] = true
			f.Add(string(file.Data))
		}
	}
	f.Add("18446744073709551616 1")
	f.Add("0::/..//../a\n1:cpu:\n:::")
	f.Add("0-4294967295,1-0")
	f.Fuzz(func(t *testing.T, content string) {
		fsys := fstest.MapFS{}
		for path := range paths {
			fsys[path] = &fstest.MapFile{Data: []byte(content)}
		}
		for _, arch := range []string{"amd64", "arm64"} {
			e := Environment{OS: "linux", Arch: arch}
			readEnvironment(&e, fsys, []int{0, 1, 3})
			if e.MemoryMiB < 0 || e.CPULimit < 0 || e.Cores > 3 || e.Sockets > 3 || !utf8.ValidString(e.String()) {
				t.Errorf("impossible environment %+v", e)
			}
			if _, err := json.Marshal(e); err != nil {
				t.Error(err)
			}
			e.Warnings()
			topology := readTopology(fsys, []int{0, 1, 3})
			for r := SameCPU; r <= Unknown; r++ {
				topology.Groups(r)
			}
			for _, c := range e.Caches {
				if c.KiB < 0 || c.Line < 0 || c.Count < 1 || c.Count > 3*maxIndex {
					t.Errorf("impossible cache %+v", c)
				}
			}
		}
		o := observe(fsys, []int{0, 1})
		NoiseChecks([]Noise{noise(o, o)})
	})
}
