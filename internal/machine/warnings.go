package machine

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"locklab/harness"
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

// Both in ns: a proven disagreement between processors' clocks, and a possible one. A lesser
// one is below the clock's resolution; see result.Floor.
const (
	maxSkew      = 100
	maxSkewBound = 1000
)

type warnings []harness.Warning

func (ws *warnings) add(when bool, kind, text, remedy string) {
	if when {
		*ws = append(*ws, harness.Warning{Text: text, Remedy: remedy, Kind: kind})
	}
}

// Warnings returns what makes the machine's figures unreliable, each once, with a remedy.
func (e Environment) Warnings() []harness.Warning {
	var ws warnings
	ws.add(e.CPUs == 1, kindCPUs,
		"this process has one processor, so no two workers ever run at the same time",
		"use a machine, or a container, with at least two processors")
	ws.add(e.CPULimit > 0 && e.CPULimit < float64(e.CPUs), kindLimit,
		fmt.Sprintf("the control group allows %s of %s, and stops all threads when that is used up", numfmt.Number(e.CPULimit), numfmt.Plural(e.CPUs, "processor")),
		"lift the CPU limit of the container, or allow it whole processors by a cpuset")
	ws.add(e.Governor != "" && e.Governor != "none" && e.Governor != "performance", kindGovernor,
		fmt.Sprintf("the frequency governor is %q, so the processor speed follows the load", e.Governor),
		"run: sudo cpupower frequency-set -g performance")
	ws.add(e.Turbo == "on", kindTurbo,
		"turbo is on, so a core runs faster while the others are idle",
		"switch it off: echo 1 | sudo tee /sys/devices/system/cpu/intel_pstate/no_turbo, or echo 0 | sudo tee /sys/devices/system/cpu/cpufreq/boost")
	ws.add(e.Cores > 0 && e.Cores < e.CPUs, kindSMT,
		fmt.Sprintf("%s share %s, so workers slow each other down without meeting at the lock", numfmt.Plural(e.CPUs, "processor"), numfmt.Plural(e.Cores, "core")),
		"use no more workers than cores with --pin cpu, or switch off the sibling threads: echo off | sudo tee /sys/devices/system/cpu/smt/control")
	ws.add(e.Capacities != "", kindMixed,
		fmt.Sprintf("the processors are not alike (%s), so equal workers do not get equal shares", e.Capacities),
		"let the lab use processors of one kind, by taskset -c")
	ws.add(e.Virtual != "", kindGuest,
		fmt.Sprintf("this is a %s guest, and the host may move its processors between cores and give them to others", e.Virtual),
		"use bare metal, or compare locks only within one run")
	if e.Load != nil {
		ws.add(*e.Load > maxLoad*float64(e.CPUs), kindLoad,
			fmt.Sprintf("before the start %.2g threads ran or waited for a processor, on average over a minute, on %s", *e.Load, numfmt.Plural(e.CPUs, "processor")),
			"stop other programs, and wait a minute for the average to fall")
	}
	e.warnOfClock(&ws)
	return ws
}

func (e Environment) warnOfClock(ws *warnings) {
	ws.add(e.Clock == "monotonic", kindClock,
		fmt.Sprintf("samples are timed by the system's clock, not by a cycle counter: one reading takes %.0f ns", e.ClockFloor),
		"use amd64 or arm64, and build without the tag purego")
	ws.add(e.Clock == "RDTSC" && e.distrustsTSC(), kindTSC,
		fmt.Sprintf("the kernel keeps time by %s, as it does when it finds the time-stamp counter unstable, and that counter times the samples", e.Clocksource),
		"build with the tag purego, or use another machine")
	ws.add(e.Clock == "RDTSC" && e.TSC != "" && e.TSC != "constant+nonstop", kindTSC,
		fmt.Sprintf("the time-stamp counter is %s by the flags of the processor, so its rate may change while it times the samples", e.TSC),
		"have the hypervisor pass the flags constant_tsc and nonstop_tsc, fix the frequency, or build with the tag purego")
	ws.add(e.ClockFloor > maxFloor, kindFloor,
		fmt.Sprintf("one reading of the clock takes %.0f ns, so a span below %.0f ns is not known", e.ClockFloor, 5*(e.ClockFloor+e.ClockStep)),
		"let the kernel keep time by the processor's counter (clocksource tsc), and on a guest have the host not intercept it")
	ws.add(e.ClockStep > maxStep, kindStep,
		fmt.Sprintf("the clock advances in steps of %s ns, so a single span below %.0f ns is not known", numfmt.Number(e.ClockStep), 5*(e.ClockFloor+e.ClockStep)),
		"read short spans from the throughput, not from the percentiles")
	ws.add(e.ClockError > maxRateError, kindRate,
		fmt.Sprintf("measurements of the clock's rate differ by %.0f ppm, and so may all times", e.ClockError),
		"stop other programs and run again")
	const remedy = "read nothing from handover times shorter than that, or use processors of one package, by taskset -c"
	apart := e.Skew.Offset-e.Skew.Error > maxSkew
	ws.add(apart, kindSkew,
		fmt.Sprintf("the clocks of two processors are %.0f ns apart, give or take %.0f ns", e.Skew.Offset, e.Skew.Error), remedy)
	ws.add(!apart && e.Skew.Bound > maxSkewBound, kindSkew,
		fmt.Sprintf("the clocks of two processors may be up to %.0f ns apart: messages between them are too slow to tell", e.Skew.Bound), remedy)
}

// distrustsTSC reports whether Linux fell back to another clock because of the TSC.
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
	kindClock    = "clock"
	kindTSC      = "tsc"
	kindFloor    = "clock-floor"
	kindStep     = "clock-step"
	kindRate     = "clock-rate"
	kindSkew     = "clock-skew"
)

// WarningKinds returns the kinds of all warnings of [Environment.Warnings] and [NoiseWarnings].
func WarningKinds() []string {
	kinds := []string{kindCPUs, kindLimit, kindGovernor, kindTurbo, kindSMT, kindMixed, kindGuest, kindLoad,
		kindClock, kindTSC, kindFloor, kindStep, kindRate, kindSkew}
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

// Checks returns the checks of the idle machine, one for each kind of warning of
// [Environment.Warnings].
func (e Environment) Checks() []Check {
	found := func(ok bool, format string, args ...any) (text string) {
		if ok {
			text = fmt.Sprintf(format, args...)
		}
		return text
	}
	told := func(kind string) bool { return !slices.Contains(e.Unknown, kind) }
	load := ""
	if e.Load != nil {
		load = fmt.Sprintf("%.2f threads on %s", *e.Load, numfmt.Plural(e.CPUs, "CPU"))
	}
	governor := e.Governor
	if governor == "none" {
		governor = "the kernel offers no choice"
	}
	checks := []Check{
		{Kind: kindCPUs, Name: "processors", Found: found(e.CPUs > 0, "%s", numfmt.Plural(e.CPUs, "CPU"))},
		{Kind: kindLimit, Name: "CPU limit of the container", Found: found(e.OS == "linux" && told(kindLimit), "%s", limitName(e.CPULimit))},
		{Kind: kindGovernor, Name: "frequency governor", Found: governor},
		{Kind: kindTurbo, Name: "turbo", Found: e.Turbo},
		{Kind: kindSMT, Name: "threads that share a core (SMT)", Found: found(e.Cores > 0, "%s on %s", numfmt.Plural(e.CPUs, "CPU"), numfmt.Plural(e.Cores, "core"))},
		{Kind: kindMixed, Name: "kinds of processor", Found: found(e.OS == "linux" && told(kindMixed), "%s", cmp.Or(e.Capacities, "alike"))},
		{Kind: kindGuest, Name: "virtual machine", Found: found(e.OS == "linux" && told(kindGuest), "%s", cmp.Or(e.Virtual, "no"))},
		{Kind: kindLoad, Name: "load before the start", Found: load},
		{Kind: kindClock, Name: "clock of the samples", Found: e.Clock},
		{Kind: kindTSC, Name: "time-stamp counter", Found: found(e.TSC != "" && e.Clocksource != "", "%s; the kernel keeps time by %s", e.TSC, e.Clocksource)},
		{Kind: kindFloor, Name: "timer floor", Found: found(e.ClockFloor > 0, "%s ns", numfmt.Number(e.ClockFloor))},
		{Kind: kindStep, Name: "timer step", Found: found(e.ClockStep > 0, "%s ns", numfmt.Number(e.ClockStep))},
		{Kind: kindRate, Name: "rate of the clock", Found: found(e.ClockRate == "measured", "measurements differ by %.2g ppm", e.ClockError)},
		{Kind: kindSkew, Name: "clocks of the processors", Found: found(e.Skew.CPUs > 0, "within %.0f ns, %s", e.Skew.Bound, numfmt.Plural(e.Skew.Backward, "backward step"))},
	}
	ws := e.Warnings()
	for i, c := range checks {
		checks[i].Bad = slices.ContainsFunc(ws, func(w harness.Warning) bool { return w.Kind == c.Kind })
	}
	return checks
}
