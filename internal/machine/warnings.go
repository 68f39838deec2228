package machine

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"locklab/internal/numfmt"
)

// maxLoad is the tolerated number of threads per processor that ran before the start.
const maxLoad = 0.25

// maxFloor is the time, in ns, of a reading that must involve the hypervisor or the kernel.
const maxFloor = 100

// maxStep is the clock step, in ns, above which single short spans are imprecise.
const maxStep = 5

// maxRateError is the tolerated spread of the clock rate, in ppm, as of quartz.
const maxRateError = 100

// A property is a check of the idle machine, with its warning.
type property struct {
	Check               // one without a name adds another warning to the check before it
	text, remedy string // of the warning
}

func found(ok bool, format string, args ...any) string {
	if !ok {
		return ""
	}
	return fmt.Sprintf(format, args...)
}

func (e Environment) properties() []property {
	known := func(kind string) bool { return e.OS == "linux" && !slices.Contains(e.Unknown, kind) }
	cpus, processors, cores := numfmt.Plural(e.CPUs, "CPU"), numfmt.Plural(e.CPUs, "processor"), numfmt.Plural(e.Cores, "core")
	load, governor := 0.0, e.Governor
	if e.Load != nil {
		load = *e.Load
	}
	if governor == "none" {
		governor = "the kernel offers no choice"
	}
	return append([]property{
		{Check{kindCPUs, "processors", found(e.CPUs > 0, "%s", cpus), e.CPUs == 1},
			"this process has one processor, so no two workers ever run at the same time",
			"use a machine, or a container, with at least two processors"},
		{Check{kindLimit, "CPU limit of the container", found(known(kindLimit), "%s", limitName(e.CPULimit)), e.CPULimit > 0 && e.CPULimit < float64(e.CPUs)},
			fmt.Sprintf("the control group allows %s of %s, and stops all threads when that is used up", numfmt.Number(e.CPULimit), processors),
			"lift the CPU limit of the container, or allow it whole processors by a cpuset"},
		{Check{kindGovernor, "frequency governor", governor, !slices.Contains([]string{"", "none", "performance"}, e.Governor)},
			fmt.Sprintf("the frequency governor is %q, so the processor speed follows the load", e.Governor),
			"run: sudo cpupower frequency-set -g performance"},
		{Check{kindTurbo, "turbo", e.Turbo, e.Turbo == "on"},
			"turbo is on, so a core runs faster while the others are idle",
			"switch it off: echo 1 | sudo tee /sys/devices/system/cpu/intel_pstate/no_turbo, or echo 0 | sudo tee /sys/devices/system/cpu/cpufreq/boost"},
		{Check{kindSMT, "threads that share a core (SMT)", found(e.Cores > 0, "%s on %s", cpus, cores), e.Cores > 0 && e.Cores < e.CPUs},
			fmt.Sprintf("%s share %s, so workers slow each other down without meeting at the lock", processors, cores),
			"use no more workers than cores with --pin cpu, or switch off the sibling threads: echo off | sudo tee /sys/devices/system/cpu/smt/control"},
		{Check{kindMixed, "kinds of processor", found(known(kindMixed), "%s", cmp.Or(e.Capacities, "alike")), e.Capacities != ""},
			fmt.Sprintf("the processors are not alike (%s), so equal workers do not get equal shares", e.Capacities),
			"let the lab use processors of one kind, by taskset -c"},
		{Check{kindGuest, "virtual machine", found(known(kindGuest), "%s", cmp.Or(e.Virtual, "no")), e.Virtual != ""},
			fmt.Sprintf("this is a %s guest, and the host may move its processors between cores and give them to others", e.Virtual),
			"use bare metal, or compare locks only within one run"},
		{Check{kindLoad, "load before the start", found(e.Load != nil, "%.2f threads on %s", load, cpus), load > maxLoad*float64(e.CPUs)},
			fmt.Sprintf("before the start %.2g threads ran or waited for a processor, on average over a minute, on %s", load, processors),
			"stop other programs, and wait a minute for the average to fall"},
	}, e.clockProperties()...)
}

func (e Environment) clockProperties() []property {
	uncertain := 5 * (e.ClockFloor + e.ClockStep)
	return []property{
		{Check{"clock", "clock of the samples", e.Clock, e.Clock == "monotonic"},
			fmt.Sprintf("samples are timed by the system's clock, not by a cycle counter: one reading takes %.0f ns", e.ClockFloor),
			"use amd64 or arm64, and build without the tag purego"},
		{Check{kindTSC, "time-stamp counter", found(e.TSC != "" && e.Clocksource != "", "%s; the kernel keeps time by %s", e.TSC, e.Clocksource), e.Clock == "RDTSC" && e.distrustsTSC()},
			fmt.Sprintf("the kernel keeps time by %s, as it does when it finds the time-stamp counter unstable, and that counter times the samples", e.Clocksource),
			"build with the tag purego, or use another machine"},
		{Check{Kind: kindTSC, Bad: e.Clock == "RDTSC" && e.TSC != "" && e.TSC != "constant+nonstop"},
			fmt.Sprintf("the time-stamp counter is %s by the flags of the processor, so its rate may change while it times the samples", e.TSC),
			"have the hypervisor pass the flags constant_tsc and nonstop_tsc, fix the frequency, or build with the tag purego"},
		{Check{"clock-floor", "timer floor", found(e.ClockFloor > 0, "%s ns", numfmt.Number(e.ClockFloor)), e.ClockFloor > maxFloor},
			fmt.Sprintf("one reading of the clock takes %.0f ns, so a span below %.0f ns is not known", e.ClockFloor, uncertain),
			"let the kernel keep time by the processor's counter (clocksource tsc), and on a guest have the host not intercept it"},
		{Check{"clock-step", "timer step", found(e.ClockStep > 0, "%s ns", numfmt.Number(e.ClockStep)), e.ClockStep > maxStep},
			fmt.Sprintf("the clock advances in steps of %s ns, so a single span below %.0f ns is not known", numfmt.Number(e.ClockStep), uncertain),
			"read short spans from the throughput, not from the percentiles"},
		{Check{"clock-rate", "rate of the clock", found(e.ClockRate == "measured", "measurements differ by %.2g ppm", e.ClockError), e.ClockError > maxRateError},
			fmt.Sprintf("measurements of the clock's rate differ by %.0f ppm, and so may all times", e.ClockError),
			"stop other programs and run again"},
	}
}

// Warnings returns what makes the machine's figures unreliable, each once, with a remedy.
func (e Environment) Warnings() (ws []Warning) {
	for _, p := range e.properties() {
		if p.Bad {
			ws = append(ws, Warning{Text: p.text, Remedy: p.remedy, Kind: p.Kind})
		}
	}
	return ws
}

// Checks returns the checks of the idle machine, one for each kind of warning of
// [Environment.Warnings].
func (e Environment) Checks() (checks []Check) {
	for _, p := range e.properties() {
		if p.Name != "" {
			checks = append(checks, p.Check)
		} else if p.Bad {
			checks[len(checks)-1].Bad = true
		}
	}
	return checks
}

func (e Environment) distrustsTSC() bool {
	return slices.ContainsFunc([]string{"hpet", "acpi_pm", "jiffies", "pit"}, func(fallback string) bool {
		return strings.HasSuffix(e.Clocksource, fallback) // also "refined-jiffies"
	})
}

// The kinds of warnings about an idle machine.
const (
	kindCPUs     = "cpus"
	kindLimit    = "cpu-limit"
	kindGovernor = "governor"
	kindTurbo    = "turbo"
	kindSMT      = "smt"
	kindMixed    = "mixed-cpus"
	kindGuest    = "guest"
	kindLoad     = "load"
	kindTSC      = "tsc"
)

// WarningKinds returns the kinds of all warnings of [Environment.Warnings] and [NoiseWarnings].
func WarningKinds() (kinds []string) {
	for _, c := range (Environment{}).Checks() {
		kinds = append(kinds, c.Kind)
	}
	for _, d := range disturbances {
		kinds = append(kinds, d.kind)
	}
	return kinds
}

func limitName(limit float64) string {
	if limit <= 0 {
		return "none"
	}
	return numfmt.Number(limit) + " CPUs"
}
