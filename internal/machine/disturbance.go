package machine

import (
	"cmp"
	"fmt"
	"io/fs"
	"math"
	"slices"
	"time"

	"locklab/internal/numfmt"
)

// A disturbance is one figure of a [Noise]: its text, and the threshold of its warning.
type disturbance struct {
	kind, name string
	value      func(n Noise) float64              // negative if unknown
	badness    func(v float64) float64            // nil is the value itself
	most       float64                            // badness that is tolerated
	figure     func(v float64, digits int) string // formats the value
	text       string                             // the warning, around the figure
	remedy     string
	distant    string // remedy for a window of a distributed lock, if it differs
}

// moveCost is the cost of a thread's move to another processor, without its data in caches.
// BenchmarkMove measured on an AMD EPYC guest 1 to 18 µs for 16 KiB to 1 MiB of data. A waiting worker moves thousands of times per second
// without harm: in a run of 14 remote locks, windows with over 2500 moves per second had 1.02
// times the median rate.
const moveCost = 10 * time.Microsecond

// moving returns the share of the busy processors' time that moves take, or -1.
func moving(n Noise) float64 {
	busy := n.CPUs
	if n.Busy > 0 {
		busy = min(busy, n.Busy)
	}
	if n.Migrations < 0 || n.Window <= 0 || busy < 1 {
		return -1
	}
	return min(1, float64(n.Migrations)*moveCost.Seconds()/(n.Window.Seconds()*float64(busy)))
}

// disturbances are in the order of the table.
var disturbances = []disturbance{
	{
		kind: "steal", name: "taken by the host (steal)", most: 0.01, figure: share,
		value:  func(n Noise) float64 { return n.Steal },
		text:   "the host gave %s of the processor time to other guests",
		remedy: "use a machine whose processors are not shared, or measure longer",
	},
	{
		kind: "others", name: "used by other processes", most: 0.10, figure: share,
		value:   func(n Noise) float64 { return n.Others },
		text:    "other processes used %s of the processor time",
		remedy:  "stop other programs",
		distant: "measure with the servers on another machine, since they are such processes",
	},
	{
		kind: "pressure", name: "a thread waited for a CPU (pressure stall)", most: 0.10, figure: share,
		value:  func(n Noise) float64 { return n.Pressure },
		text:   "some thread waited for a processor during %s of the window",
		remedy: "stop other programs, or use no more threads than processors",
	},
	{
		kind: "throttled", name: "stopped at the CPU limit (throttling)", figure: often,
		value:  func(n Noise) float64 { return float64(n.Throttled) },
		text:   "the control group was stopped %s because its CPU limit was used up",
		remedy: "lift the CPU limit of the container, or use fewer workers",
	},
	{
		kind: "heat", name: "slowed down by heat", figure: often,
		value:  func(n Noise) float64 { return float64(n.Hot) },
		text:   "processors slowed down %s because of heat",
		remedy: "cool the machine, or switch turbo off",
	},
	{
		kind: "speed", name: "speed of a CPU after the window, of before", most: 0.15, figure: share,
		value: func(n Noise) float64 {
			if n.Speed <= 0 {
				return -1
			}
			return n.Speed
		},
		badness: func(v float64) float64 { return math.Abs(v - 1) },
		text:    "the processor ran at %s of the speed it had before the window",
		remedy:  "set the frequency governor to performance and switch turbo off; on a guest, measure again",
	},
	{
		kind: "migrations", name: "lost to moves between CPUs", most: 0.05, figure: share,
		value:  moving,
		text:   "threads of the measured process moved between processors so often that it took about %s of their time",
		remedy: "bind the workers by --pin cpu, or stop other programs",
	},
}

func share(v float64, digits int) string { return fmt.Sprintf("%.*f %%", digits, 100*v) }
func often(v float64, _ int) string      { return numfmt.Plural(int(v), "time") }

func (d disturbance) over(v float64) bool { return v >= 0 && d.bad(v) > d.most }

func (d disturbance) bad(v float64) float64 {
	if d.badness != nil {
		return d.badness(v)
	}
	return v
}

// NoiseWarnings returns a warning with a remedy for each unreliable figure of n, or nil. If
// distributed is true, n is of a window of a distributed lock.
func NoiseWarnings(n Noise, distributed bool) []Warning {
	var ws []Warning
	for _, d := range disturbances {
		if v := d.value(n); d.over(v) {
			remedy := d.remedy
			if distributed {
				remedy = cmp.Or(d.distant, remedy)
			}
			ws = append(ws, Warning{Text: fmt.Sprintf(d.text, d.figure(v, 0)), Remedy: remedy, Kind: d.kind})
		}
	}
	return ws
}

// A Check is a property of the machine that was tested before its figures are trusted.
type Check struct {
	Kind  string // kind of the warning that it may give
	Name  string // tested property
	Found string // "" if the system does not report it
	Bad   bool   // there is a warning about it
}

// NoiseChecks returns a check for each figure of a Noise, bad if any of the windows ns is.
func NoiseChecks(ns []Noise) []Check {
	var checks []Check
	for _, d := range disturbances {
		checks = append(checks, d.check(ns))
	}
	return checks
}

func (d disturbance) check(ns []Noise) Check {
	c := Check{Kind: d.kind, Name: d.name}
	var vs []float64
	bad := 0
	for _, n := range ns {
		v := d.value(n)
		if v >= 0 {
			vs = append(vs, v)
		}
		if d.over(v) {
			bad++
		}
	}
	if len(vs) == 0 {
		return c
	}
	slices.SortFunc(vs, func(a, b float64) int { return cmp.Compare(d.bad(a), d.bad(b)) })
	middle, worst := d.figure(vs[(len(vs)-1)/2], 1), d.figure(vs[len(vs)-1], 1)
	c.Found = worst
	if middle != worst {
		c.Found = middle + " in the median window, " + worst + " in the worst"
	}
	if c.Bad = bad > 0; c.Bad && len(vs) > 1 {
		c.Found += fmt.Sprintf("; too much in %d of %d", bad, len(vs))
	}
	return c
}

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

func changed(n Noise, was Conditions) (out []change) {
	for _, c := range []change{
		{kindCPUs, "number of processors", numfmt.Plural(n.CPUs, "CPU"), numfmt.Plural(was.CPUs, "CPU")},
		{kindLimit, "CPU limit of the control group", limitName(n.Limit), limitName(was.Limit)},
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
func ChangeWarnings(n Noise, was Conditions) (ws []Warning) {
	for _, c := range changed(n, was) {
		ws = append(ws, Warning{Kind: c.kind,
			Text:   fmt.Sprintf("the %s changed: %s when the run began, %s in the window", c.name, c.was, c.now),
			Remedy: "leave the machine as it is through the run, and measure again"})
	}
	return ws
}

// Through returns the checks of e, extended by the conditions of the windows ns.
func (e Environment) Through(ns []Noise) []Check {
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
