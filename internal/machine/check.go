package machine

import (
	"cmp"
	"fmt"
	"slices"

	"locklab/harness"
	"locklab/internal/numfmt"
)

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
