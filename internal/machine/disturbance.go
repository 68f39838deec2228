package machine

import (
	"fmt"
	"math"
	"slices"

	"locklab/harness"
)

// A disturbance is one figure of a [harness.Noise]: how it reads, and from when
// on it is worth a warning.
type disturbance struct {
	kind, name string
	remedy     string
	most       float64                               // what is tolerated
	value      func(n harness.Noise) (float64, bool) // false if it is not known
	size       func(v float64) float64               // how bad; nil is the value itself
	text       func(v float64) string                // the warning
	show       func(v float64) string                // the figure in a table
}

// maxMoves is the moves between processors in a second, for each of them, that are
// tolerated. After each the caches next to the processor are filled anew, which
// takes about 0.1 ms: together a twentieth of the time.
const maxMoves = 500

// disturbances lists them in the order of the table.
var disturbances = []disturbance{
	{
		kind: "steal", name: "taken by the host (steal)", most: 0.01,
		remedy: "use a machine whose processors are not shared, or measure longer",
		value:  func(n harness.Noise) (float64, bool) { return n.Steal, n.Steal >= 0 },
		text: func(v float64) string {
			return fmt.Sprintf("the host gave %.0f %% of the processor time to other guests", 100*v)
		},
		show: share,
	},
	{
		kind: "others", name: "used by other processes", most: 0.10,
		remedy: "stop other programs; measure locks kept by servers with the servers on another machine",
		value:  func(n harness.Noise) (float64, bool) { return n.Others, n.Others >= 0 },
		text: func(v float64) string {
			return fmt.Sprintf("other processes, the servers of a remote lock among them, used %.0f %% of the processor time", 100*v)
		},
		show: share,
	},
	{
		kind: "pressure", name: "a thread waited for a CPU (pressure stall)", most: 0.10,
		remedy: "stop other programs, or use no more threads than processors",
		value:  func(n harness.Noise) (float64, bool) { return n.Pressure, n.Pressure >= 0 },
		text: func(v float64) string {
			return fmt.Sprintf("some thread waited for a processor during %.0f %% of the window", 100*v)
		},
		show: share,
	},
	{
		kind: "throttled", name: "stopped at the CPU limit (throttling)",
		remedy: "lift the CPU limit of the container, or use fewer workers",
		value:  func(n harness.Noise) (float64, bool) { return float64(n.Throttled), n.Throttled >= 0 },
		text: func(v float64) string {
			return fmt.Sprintf("the control group was stopped %s because its CPU limit was used up", plural(int(v), "time"))
		},
		show: often,
	},
	{
		kind: "heat", name: "slowed down by heat",
		remedy: "cool the machine, or switch turbo off",
		value:  func(n harness.Noise) (float64, bool) { return float64(n.Hot), n.Hot >= 0 },
		text: func(v float64) string {
			return fmt.Sprintf("processors slowed down %s because of heat", plural(int(v), "time"))
		},
		show: often,
	},
	{
		kind: "speed", name: "speed of a CPU after the window, of before", most: 0.15,
		remedy: "set the frequency governor to performance and switch turbo off; on a guest, measure again",
		value:  func(n harness.Noise) (float64, bool) { return n.Speed, n.Speed > 0 },
		size:   func(v float64) float64 { return math.Abs(v - 1) },
		text: func(v float64) string {
			return fmt.Sprintf("the processor ran at %.0f %% of the speed it had before the window", 100*v)
		},
		show: share,
	},
	{
		kind: "migrations", name: "threads moved between CPUs", most: maxMoves,
		remedy: "bind the workers by --pin cpu, or stop other programs",
		value: func(n harness.Noise) (float64, bool) {
			if n.Migrations < 0 || n.Window <= 0 || n.CPUs < 1 {
				return 0, false
			}
			return float64(n.Migrations) / n.Window.Seconds() / float64(n.CPUs), true
		},
		text: func(v float64) string {
			return fmt.Sprintf("threads of the measured process moved to another processor %.0f times a second and processor", v)
		},
		show: func(v float64) string { return fmt.Sprintf("%.0f a second and CPU", v) },
	},
}

func share(v float64) string { return fmt.Sprintf("%.1f %%", 100*v) }
func often(v float64) string { return plural(int(v), "time") }

// over returns the figure if it is known and beyond what is tolerated.
func (d disturbance) over(n harness.Noise) (v float64, over bool) {
	v, known := d.value(n)
	return v, known && d.badness(v) > d.most
}

func (d disturbance) badness(v float64) float64 {
	if d.size != nil {
		return d.size(v)
	}
	return v
}

// NoiseWarnings returns what in n makes figures measured meanwhile worth less,
// each with what to do about it; nil if nothing does or the system does not tell.
func NoiseWarnings(n harness.Noise) []harness.Warning {
	var ws []harness.Warning
	for _, d := range disturbances {
		if v, over := d.over(n); over {
			ws = append(ws, harness.Warning{Text: d.text(v), Remedy: d.remedy, Kind: d.kind})
		}
	}
	return ws
}

// A Check is something that was looked at before figures are believed.
type Check struct {
	Kind  string // of the warning that it may give
	Name  string // what was looked at
	Found string // "" if the system does not tell
	Bad   bool   // there is a warning about it
}

// NoiseChecks returns what was seen in the windows ns, one check for each figure
// of a Noise. It is bad if any window is.
func NoiseChecks(ns []harness.Noise) []Check {
	var checks []Check
	for _, d := range disturbances {
		checks = append(checks, d.check(ns))
	}
	return checks
}

func (d disturbance) check(ns []harness.Noise) Check {
	c := Check{Kind: d.kind, Name: d.name}
	var vs []float64
	bad := 0
	for _, n := range ns {
		if v, known := d.value(n); known {
			vs = append(vs, v)
		}
		if _, over := d.over(n); over {
			bad++
		}
	}
	if len(vs) == 0 {
		return c
	}
	slices.SortFunc(vs, func(a, b float64) int {
		switch x, y := d.badness(a), d.badness(b); {
		case x < y:
			return -1
		case x > y:
			return 1
		}
		return 0
	})
	middle, worst := d.show(vs[(len(vs)-1)/2]), d.show(vs[len(vs)-1])
	switch {
	case middle == worst:
		c.Found = worst
	default:
		c.Found = middle + " in the median window, " + worst + " in the worst"
	}
	if c.Bad = bad > 0; c.Bad && len(vs) > 1 {
		c.Found += fmt.Sprintf("; too much in %d of %d", bad, len(vs))
	}
	return c
}
