package machine

import (
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

func editedFixture(t *testing.T, path, content string) fixture {
	t.Helper()
	f := readFixture(t, "testdata/quiet.txtar")
	if path != "" {
		f.fsys[path] = &fstest.MapFile{Data: []byte(content)}
	}
	return f
}

func kindsOf(ws []Warning) (kinds []string) {
	for _, w := range ws {
		kinds = append(kinds, w.Kind)
	}
	return kinds
}

func TestCapacities(t *testing.T) {
	const sys = "sys/devices/system/cpu/cpu0/"
	for name, tc := range map[string]struct {
		files map[string]string
		want  string
	}{
		"capacity":            {map[string]string{sys + "cpu_capacity": "446", "sys/devices/system/cpu/cpu1/cpu_capacity": "1024"}, "446+1024"},
		"greatest frequency":  {map[string]string{sys + "cpufreq/cpuinfo_max_freq": "4900000"}, "773+1024"},
		"a favoured core":     {map[string]string{sys + "cpufreq/cpuinfo_max_freq": "3900000"}, ""},
		"CPPC":                {map[string]string{sys + "acpi_cppc/highest_perf": "68", "sys/devices/system/cpu/cpu1/acpi_cppc/highest_perf": "44", "proc/cpuinfo": "model name: Intel\nflags: tsc constant_tsc nonstop_tsc\n"}, "662+1024"},
		"CPPC ratings of AMD": {map[string]string{sys + "acpi_cppc/highest_perf": "231", "sys/devices/system/cpu/cpu1/acpi_cppc/highest_perf": "166"}, ""},
	} {
		f := editedFixture(t, "", "")
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
		{kindLimit, "cgroup.procs"},
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
		f := editedFixture(t, "", "")
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
	f := editedFixture(t, "sys/devices/system/cpu/cpu1/cpufreq/scaling_governor", "")
	if got := kindsOf(f.read().Warnings()); !slices.Equal(got, []string{kindGovernor}) {
		t.Errorf("one processor has no governor: warnings %v", got)
	}
}
