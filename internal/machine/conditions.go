package machine

import (
	"fmt"
	"io/fs"

	"locklab/harness"
	"locklab/internal/numfmt"
)

// Conditions are the facts of a machine that can change during a run. They are read at the start of
// the run and at both ends of each window.
type Conditions struct {
	CPUs     int
	Limit    float64 `json:",omitempty"` // processors that the control groups allow; 0 is no limit
	Governor string  `json:",omitempty"` // as in Environment
	Turbo    string  `json:",omitempty"`
}

// ReadConditions returns the conditions of this process.
func ReadConditions() Conditions { return readConditions(hostFS(), allowedCPUs()) }

func readConditions(fsys fs.FS, cpus []int) Conditions {
	limit, _ := readCPULimit(fsys)
	return Conditions{len(cpus), limit, readGovernor(fsys, cpus), readTurbo(fsys)}
}

func (c Conditions) worst(d Conditions) Conditions {
	both := func(a, b string) string {
		if a == b || b == "" {
			return a
		}
		return a + "+" + b
	}
	if c.Limit == 0 || d.Limit > 0 && d.Limit < c.Limit {
		c.Limit = d.Limit
	}
	return Conditions{min(c.CPUs, d.CPUs), c.Limit, both(c.Governor, d.Governor), both(c.Turbo, d.Turbo)}
}

// A change is a condition of a window that differs from the start of the run.
type change struct{ kind, name, now, was string }

func changed(n harness.Noise, was Conditions) (out []change) {
	limit := limitName(n.Limit)
	if n.Limit == 0 {
		limit = ""
	}
	for _, c := range []change{
		{kindCPUs, "number of processors", numfmt.Plural(n.CPUs, "CPU"), numfmt.Plural(was.CPUs, "CPU")},
		{kindLimit, "CPU limit of the control group", limit, limitName(was.Limit)},
		{kindGovernor, "frequency governor", n.Governor, was.Governor},
		{kindTurbo, "turbo", n.Turbo, was.Turbo},
	} {
		if c.now != c.was && c.now != "" && c.was != "" {
			out = append(out, c)
		}
	}
	return out
}

// ChangeWarnings returns the differences of n's conditions from the start of the run.
func ChangeWarnings(n harness.Noise, was Conditions) (ws []harness.Warning) {
	for _, c := range changed(n, was) {
		ws = append(ws, harness.Warning{Kind: c.kind,
			Text:   fmt.Sprintf("the %s changed: %s when the run began, %s in the window", c.name, c.was, c.now),
			Remedy: "leave the machine as it is through the run, and measure again"})
	}
	return ws
}

// Through returns the checks of e, extended by the conditions of the windows ns.
func (e Environment) Through(ns []harness.Noise) []Check {
	checks := e.Checks()
	was := Conditions{e.CPUs, e.CPULimit, e.Governor, e.Turbo}
	for i, check := range checks {
		odd, now := 0, ""
		for _, n := range ns {
			for _, c := range changed(n, was) {
				if c.kind == check.Kind {
					odd, now = odd+1, c.now
				}
			}
		}
		if odd > 0 {
			checks[i].Bad, checks[i].Found = true, fmt.Sprintf("%s at the start; in %d of %d windows not, as %s", check.Found, odd, len(ns), now)
		}
	}
	return checks
}
