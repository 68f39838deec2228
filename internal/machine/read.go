package machine

import (
	"io/fs"
	"slices"
	"strconv"
	"strings"
)

// readEnvironment fills in the fields that come from the files of Linux under fsys, for a process
// that may use cpus. e.OS and e.Arch are set.
func readEnvironment(e *Environment, fsys fs.FS, cpus []int) {
	e.CPUs = len(cpus)
	if e.OS != "linux" {
		return
	}
	cpuinfo := readText(fsys, "proc/cpuinfo")
	info, parts := parseCPUInfo(cpuinfo), parseArmParts(cpuinfo)
	e.Kernel = readText(fsys, "proc/sys/kernel/osrelease")
	e.CPU = readModel(fsys, info, parts)
	e.MemoryMiB = int(max(0, valueAfter("\nMemTotal:", readText(fsys, "proc/meminfo"))) / 1024)
	unknown := func(known bool, kind string) {
		if !known {
			e.Unknown = append(e.Unknown, kind)
		}
	}
	var known bool
	e.Virtual, known = readHypervisor(fsys, e.Arch, e.Kernel, info)
	unknown(known, kindGuest)
	e.Container = inContainer(fsys)
	e.CPULimit, known = readCPULimit(fsys)
	unknown(known, kindLimit)
	e.Governor = readGovernor(fsys, cpus)
	e.Turbo = readTurbo(fsys)
	e.Capacities, known = readCapacities(fsys, cpus)
	unknown(known, kindMixed)
	e.Caches = ReadCaches(fsys, cpus)
	e.Load, e.TSC = readLoad(fsys), readTSC(info)
	e.Clocksource = readText(fsys, "sys/devices/system/clocksource/clocksource0/current_clocksource")
	t := readTopology(fsys, cpus)
	if !slices.ContainsFunc(cpus, func(cpu int) bool { return readSiblings(fsys, cpu) == nil }) {
		e.Cores = t.parts(func(p Place) int { return p.Core })
	}
	e.Sockets = t.parts(func(p Place) int { return p.Package })
	e.NUMANodes = t.parts(func(p Place) int { return p.Node })
}

func parseCPUInfo(text string) map[string]string {
	info := make(map[string]string)
	for line := range strings.Lines(text) {
		key, value, ok := strings.Cut(line, ":")
		key = strings.ToLower(strings.TrimSpace(key))
		if _, seen := info[key]; ok && !seen {
			info[key] = strings.TrimSpace(value)
		}
	}
	return info
}

// parseArmParts returns the keys of [armParts] for every kind of core in /proc/cpuinfo.
func parseArmParts(text string) (parts []string) {
	implementer := ""
	for line := range strings.Lines(text) {
		key, value, _ := strings.Cut(line, ":")
		switch value = strings.TrimSpace(value); strings.TrimSpace(key) {
		case "CPU implementer":
			implementer = value
		case "CPU part":
			parts = append(parts, implementer+" "+value)
		}
	}
	slices.Sort(parts)
	return slices.Compact(parts)
}

// readModel returns the name of the processor from /proc/cpuinfo, from the part numbers of arm64,
// or else the name of the board.
func readModel(fsys fs.FS, info map[string]string, parts []string) string {
	for _, key := range []string{"model name", "cpu model", "uarch", "cpu"} { // POWER has cpu
		if name := info[key]; name != "" {
			return name
		}
	}
	var names []string
	for _, part := range parts {
		name := armParts[part]
		if name == "" {
			implementer, number, _ := strings.Cut(part, " ")
			name = "arm implementer " + implementer + " part " + number
		}
		names = append(names, name)
	}
	if len(names) > 0 {
		return strings.Join(names, " + ")
	}
	return strings.TrimRight(readText(fsys, "proc/device-tree/model"), "\x00")
}

// armParts maps the implementer and part number of MIDR_EL1 to a name, as in the tables of
// util-linux (sys-utils/lscpu-arm.c).
var armParts = map[string]string{
	"0x41 0xd03": "Arm Cortex-A53",
	"0x41 0xd05": "Arm Cortex-A55",
	"0x41 0xd07": "Arm Cortex-A57",
	"0x41 0xd08": "Arm Cortex-A72",
	"0x41 0xd0b": "Arm Cortex-A76",
	"0x41 0xd0c": "Arm Neoverse-N1",
	"0x41 0xd40": "Arm Neoverse-V1",
	"0x41 0xd41": "Arm Cortex-A78",
	"0x41 0xd44": "Arm Cortex-X1",
	"0x41 0xd49": "Arm Neoverse-N2",
	"0x41 0xd4f": "Arm Neoverse-V2",
	"0x43 0x0af": "Cavium ThunderX2",
	"0x46 0x001": "Fujitsu A64FX",
	"0x48 0xd01": "HiSilicon TaiShan v110",
	"0xc0 0xac3": "Ampere-1",
	"0xc0 0xac4": "Ampere-1a",
}

// readGovernor returns the frequency policies of cpus, "none" without control, "" if unknown.
func readGovernor(fsys fs.FS, cpus []int) string {
	var all []string
	for _, cpu := range cpus {
		g := readText(fsys, "sys/devices/system/cpu/cpu%d/cpufreq/scaling_governor", cpu)
		if g == "" {
			g = "unknown"
			if exists(fsys, "sys/devices/system/cpu/cpu%d", cpu) && !exists(fsys, "sys/devices/system/cpu/cpu%d/cpufreq", cpu) {
				g = "none"
			}
		}
		all = append(all, g)
	}
	slices.Sort(all)
	if all = slices.Compact(all); slices.Equal(all, []string{"unknown"}) {
		return ""
	}
	return strings.Join(all, "+")
}

// speedFiles contain a speed of each processor, the most direct first: see
// https://docs.kernel.org/scheduler/sched-capacity.html, cpufreq and acpi_cppc.
var speedFiles = []string{"cpu_capacity", "cpufreq/cpuinfo_max_freq", "acpi_cppc/highest_perf"}

// readCapacities returns the relative speeds of cpus joined by '+' (the fastest is 1024), or ""
// if within 10 %, and whether there is evidence for each.
func readCapacities(fsys fs.FS, cpus []int) (kinds string, known bool) {
	known = len(cpus) == 1
	for _, file := range speedFiles {
		// AMD's preferred cores have higher ratings but are of the same kind.
		if file == "acpi_cppc/highest_perf" && strings.Contains(readText(fsys, "proc/cpuinfo"), "AMD") {
			continue
		}
		var speeds []int
		for _, cpu := range cpus {
			if c := readInt(fsys, "sys/devices/system/cpu/cpu%d/"+file, cpu); c > 0 {
				speeds = append(speeds, c)
			}
		}
		if kinds == "" {
			kinds = unlike(speeds)
		}
		known = known || len(speeds) == len(cpus)
	}
	return kinds, known || kinds != ""
}

// unlike returns speeds relative to the greatest, 1024, joined by '+'; "" within 10 %.
func unlike(speeds []int) string {
	if len(speeds) == 0 {
		return ""
	}
	slices.Sort(speeds)
	most := speeds[len(speeds)-1]
	if speeds[0] >= most/10*9 {
		return ""
	}
	var texts []string
	for _, c := range slices.Compact(speeds) {
		texts = append(texts, strconv.Itoa(int(int64(c)*1024/int64(most))))
	}
	return strings.Join(slices.Compact(texts), "+")
}

func readTurbo(fsys fs.FS) string {
	for _, s := range []struct{ file, on, off string }{
		{"intel_pstate/no_turbo", "0", "1"},
		{"cpufreq/boost", "1", "0"},
		{"cpufreq/policy0/boost", "1", "0"}, // amd-pstate
	} {
		switch readText(fsys, "sys/devices/system/cpu/%s", s.file) {
		case s.on:
			return "on"
		case s.off:
			return "off"
		}
	}
	return ""
}
