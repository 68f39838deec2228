package machine

import (
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"locklab/harness"
)

func edited(t *testing.T, path, content string) fixture {
	t.Helper()
	f := readFixture(t, "testdata/quiet.txtar")
	if path != "" {
		f.fsys[path] = &fstest.MapFile{Data: []byte(content)}
	}
	return f
}

func kindsOf(ws []harness.Warning) (kinds []string) {
	for _, w := range ws {
		kinds = append(kinds, w.Kind)
	}
	return kinds
}

// TestKindsFromFiles: each changed file gives one warning, and makes its check bad.
func TestKindsFromFiles(t *testing.T) {
	const sys = "sys/devices/system/cpu/"
	for _, tc := range []struct{ kind, path, content string }{
		{"", "", ""},
		{kindGovernor, sys + "cpu2/cpufreq/scaling_governor", "schedutil\n"},
		{kindTurbo, sys + "cpufreq/policy0/boost", "1\n"},
		{kindSMT, sys + "cpu1/topology/core_id", "0\n"},
		{kindMixed, sys + "cpu0/cpu_capacity", "400\n"},
		{kindLimit, "sys/fs/cgroup/user.slice/cpu.max", "250000 100000\n"},
		{kindLoad, "proc/loadavg", "1.01 0.5 0.1 3/212 4242\n"},
		{kindGuest, "sys/class/dmi/id/product_name", "m7a.large\n"},
		{kindTSC, "sys/devices/system/clocksource/clocksource0/current_clocksource", "hpet\n"},
		{kindTSC, "proc/cpuinfo", "processor: 0\nmodel name: AMD EPYC 9R14\nflags: fpu tsc constant_tsc\n"},
	} {
		f := edited(t, tc.path, tc.content)
		switch tc.kind {
		case kindMixed: // the others are as fast as can be
			for _, cpu := range []string{"1", "2", "3"} {
				f.fsys[sys+"cpu"+cpu+"/cpu_capacity"] = &fstest.MapFile{Data: []byte("1024\n")}
			}
		case kindSMT: // both files list the threads that share a core
			for _, cpu := range []string{"0", "1"} {
				f.fsys[sys+"cpu"+cpu+"/topology/core_cpus_list"] = &fstest.MapFile{Data: []byte("0-1\n")}
			}
		case kindGuest:
			f.fsys["proc/cpuinfo"] = &fstest.MapFile{Data: []byte("flags: tsc constant_tsc nonstop_tsc hypervisor\n")}
		}
		e := f.read()
		var want []string
		if tc.kind != "" {
			want = []string{tc.kind}
		}
		if got := kindsOf(e.Warnings()); !slices.Equal(got, want) {
			t.Errorf("%s = %q: warnings of the kinds %v, want %v", tc.path, tc.content, got, want)
		}
		for _, c := range e.Checks() {
			if c.Bad != (c.Kind == tc.kind) {
				t.Errorf("%s = %q: check %+v", tc.path, tc.content, c)
			}
		}
	}
}

func TestHybrid(t *testing.T) {
	const sys = "sys/devices/system/cpu/cpu0/"
	for name, tc := range map[string]struct {
		files map[string]string
		want  string
	}{
		"event sources":       {map[string]string{"sys/devices/cpu_core/cpus": "0-1", "sys/devices/cpu_atom/cpus": "2-3"}, "cpu_core+cpu_atom"},
		"cores of one kind":   {map[string]string{"sys/devices/cpu_core/cpus": "0-3", "sys/devices/cpu_atom/cpus": "4-7"}, ""},
		"capacity":            {map[string]string{sys + "cpu_capacity": "446", "sys/devices/system/cpu/cpu1/cpu_capacity": "1024"}, "446+1024"},
		"greatest frequency":  {map[string]string{sys + "cpufreq/cpuinfo_max_freq": "4900000"}, "773+1024"},
		"a favoured core":     {map[string]string{sys + "cpufreq/cpuinfo_max_freq": "3900000"}, ""},
		"CPPC":                {map[string]string{sys + "acpi_cppc/highest_perf": "68", "sys/devices/system/cpu/cpu1/acpi_cppc/highest_perf": "44", "proc/cpuinfo": "model name: Intel\nflags: tsc constant_tsc nonstop_tsc\n"}, "662+1024"},
		"CPPC ratings of AMD": {map[string]string{sys + "acpi_cppc/highest_perf": "231", "sys/devices/system/cpu/cpu1/acpi_cppc/highest_perf": "166"}, ""},
	} {
		f := edited(t, "", "")
		for path, text := range tc.files {
			f.fsys[path] = &fstest.MapFile{Data: []byte(text + "\n")}
		}
		e := f.read()
		if e.Capacities != tc.want || slices.Contains(e.Unknown, kindMixed) || slices.Contains(kindsOf(e.Warnings()), kindMixed) != (tc.want != "") {
			t.Errorf("%s: kinds %q, want %q; unknown %v, warnings %v", name, e.Capacities, tc.want, e.Unknown, kindsOf(e.Warnings()))
		}
	}
}

// TestMissingIsUnknown: without its files a check is unknown.
func TestMissingIsUnknown(t *testing.T) {
	for _, tc := range []struct{ kind, part string }{
		{kindLimit, "proc/self/cgroup"},
		{kindLimit, "sys/fs/cgroup/"},
		{kindGovernor, "cpufreq/scaling_governor"},
		{kindTurbo, "boost"},
		{kindSMT, "cpu1/topology"},
		{kindSMT, "/topology"},
		{kindMixed, "cpu1/cpufreq/cpuinfo_max_freq"},
		{kindMixed, "cpuinfo_max_freq"},
		{kindGuest, "proc/cpuinfo"},
		{kindLoad, "proc/loadavg"},
		{kindTSC, "current_clocksource"},
		{kindTSC, "proc/cpuinfo"},
	} {
		f := edited(t, "", "")
		for path := range f.fsys {
			if strings.Contains(path, tc.part) {
				delete(f.fsys, path)
			}
		}
		for _, c := range f.read().Checks() {
			if c.Kind == tc.kind && (c.Found != "" || c.Bad) {
				t.Errorf("without %s: %s is %q, want unknown", tc.part, c.Name, c.Found)
			}
		}
	}
	f := edited(t, "sys/devices/system/cpu/cpu1/cpufreq/scaling_governor", "")
	if got := kindsOf(f.read().Warnings()); !slices.Equal(got, []string{kindGovernor}) {
		t.Errorf("one processor has no governor: warnings %v", got)
	}
}

func TestNoiseFromFiles(t *testing.T) {
	for _, tc := range []struct{ kind, path, content string }{
		{"", "", ""},
		{"", "proc/stat", "cpu0 100 1 100 2000 10 1 10 0 0 0\ncpu1 100 1 100 2000 10 1 10 0 0 0\n"},
		{"steal", "proc/stat", "cpu0 100 1 100 2000 10 1 10 50 0 0\ncpu1 100 1 100 2000 10 1 10 0 0 0\n"},
		{"others", "proc/stat", "cpu0 900 1 100 1100 10 1 10 0 0 0\ncpu1 100 1 100 2000 10 1 10 0 0 0\n"},
		{"pressure", "proc/pressure/cpu", "some avg10=9.00 avg60=0.00 avg300=0.00 total=500052\n"},
		{"throttled", "sys/fs/cgroup/user.slice/cpu.stat", "nr_periods 10\nnr_throttled 3\n"},
		{"heat", "sys/devices/system/cpu/cpu1/thermal_throttle/core_throttle_count", "4\n"},
		{"migrations", "proc/self/task/1/sched", "se.nr_migrations : 21000\n"},
	} {
		at := func(f fixture, second int) observation {
			o := observe(f.fsys, f.cpus)
			o.at, o.own, o.speed = time.Unix(int64(second), 0), 0, 1
			return o
		}
		before := edited(t, "sys/fs/cgroup/user.slice/cpu.stat", "nr_periods 10\nnr_throttled 2\n")
		for _, cpu := range []string{"0", "1", "2", "3"} {
			before.fsys["sys/devices/system/cpu/cpu"+cpu+"/thermal_throttle/core_throttle_count"] = &fstest.MapFile{Data: []byte("0\n")}
		}
		after := fixture{cpus: before.cpus, fsys: fstest.MapFS{}}
		for path, file := range before.fsys {
			after.fsys[path] = file
		}
		if tc.path != "" {
			after.fsys[tc.path] = &fstest.MapFile{Data: []byte(tc.content)}
		}
		n := noise(at(before, 0), at(after, 1))
		n.CPUs = len(before.cpus)
		var want []string
		if tc.kind != "" {
			want = []string{tc.kind}
		}
		if got := kindsOf(NoiseWarnings(n)); !slices.Equal(got, want) {
			t.Errorf("%s = %q: warnings of the kinds %v, want %v", tc.path, tc.content, got, want)
		}
		for _, c := range NoiseChecks([]harness.Noise{n}) {
			if c.Bad != (c.Kind == tc.kind) || c.Found == "" && c.Kind != "steal" && c.Kind != "others" {
				t.Errorf("%s = %q: check %+v", tc.path, tc.content, c)
			}
		}
	}
}
