package result

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"locklab/harness/oracle"
	"locklab/internal/machine"
	"locklab/internal/numfmt"
)

// A group is the results of all ranks of one case and round, and their common conclusions.
type group struct {
	parts   []*Result // by rank
	ranks   []Rank
	clocks  clocks
	windows windows

	ordered    holdOrder
	violations []oracle.Violation
	warnings   []warned
}

func newGroup(parts []*Result) *group {
	g := &group{parts: parts, ranks: Each(parts, func(p *Result) Rank { return p.Ranks[0] })}
	g.clocks = newClocks(g.ranks)
	g.windows = newWindows(g.ranks, g.clocks)
	return g
}

func (g *group) merge() *Result {
	for i, p := range g.parts {
		for _, w := range p.Warnings {
			if w.Kind != othersKind || !g.shared(i) { // its other processes are ranks too: see noise
				g.warnings = append(g.warnings, warned{g.ranks[i].Host, w})
			}
		}
	}
	g.judgeHolds()
	g.ordered = g.order()
	out := new(Result)
	for _, r := range MergeRules {
		r.merge(out, g)
	}
	return out
}

func (g *group) shared(i int) bool {
	return slices.ContainsFunc(g.ranks, func(k Rank) bool { return k.Rank != i && k.Machine() == g.ranks[i].Machine() })
}

func (g *group) warn(remedy, format string, args ...any) {
	g.warnings = append(g.warnings, warned{"", machine.Warning{Kind: KindRanks, Text: fmt.Sprintf(format, args...), Remedy: remedy}})
}

// KindRanks is the Kind of warnings about ranks together, such as insufficient clocks.
const KindRanks = "ranks"

// othersKind is the Kind of package machine's warning about other processes.
const othersKind = "others"

type warned struct {
	host string
	machine.Warning
}

// pool returns the warnings, one of each kind and host, or without a kind one of each
// text. If there are several hosts, each warning names its own.
func pool(ws []warned) (out []machine.Warning) {
	type same struct{ host, kind, text string }
	hosts, seen := make(map[string]bool), make(map[same]bool)
	for _, w := range ws {
		if w.host != "" {
			hosts[w.host] = true
		}
	}
	for _, w := range ws {
		k := same{w.host, w.Kind, ""}
		if w.Kind == "" || w.host == "" {
			k.text = w.Text
		}
		if seen[k] {
			continue
		}
		seen[k] = true
		if w.host != "" && len(hosts) > 1 {
			w.Text = "on " + w.host + " " + w.Text
		}
		out = append(out, w.Warning)
	}
	return out
}

func broken(parts []*Result) *Result {
	first := parts[0]
	out := &Result{Lock: first.Lock, Workload: first.Workload, Round: first.Round, Started: first.Started}
	var ws []warned
	for _, p := range parts {
		out.Started = earlier(out.Started, p.Started)
		host, at := "", ""
		for _, k := range p.Ranks {
			host, at = k.Host, place(k.Rank, k.Host)+": "
		}
		for _, v := range p.Violations {
			v.Detail, v.Trace = at+v.Detail, slices.Clone(v.Trace)
			out.Violations = append(out.Violations, v)
		}
		for _, w := range p.Warnings {
			ws = append(ws, warned{host, w})
		}
		out.Ranks = append(out.Ranks, p.Ranks...)
		out.Retries = append(out.Retries, retries(p)...)
	}
	out.Warnings = pool(ws)
	return out
}

func retries(p *Result) (out []string) {
	for _, text := range p.Retries {
		for _, k := range p.Ranks {
			text = place(k.Rank, k.Host) + ": " + text
		}
		out = append(out, text)
	}
	return out
}

// noise returns the worst figures of any host, or nil. The use of other ranks does not count.
func (g *group) noise() *machine.Noise {
	var out *machine.Noise
	for i, p := range g.parts {
		if p.Noise == nil {
			continue
		}
		n := *p.Noise
		for j, q := range g.parts {
			if j != i && g.ranks[j].Machine() == g.ranks[i].Machine() && n.Others > 0 && n.CPUs > 0 && n.Window > 0 {
				n.Others = max(0, n.Others-float64(q.CPU.Time)/(float64(n.Window)*float64(n.CPUs)))
			}
		}
		if out == nil {
			out = &n
			continue
		}
		out.Window, out.CPUs = max(out.Window, n.Window), min(out.CPUs, n.CPUs)
		if n.Busy > 0 && (out.Busy == 0 || n.Busy < out.Busy) { // 0 is all
			out.Busy = n.Busy
		}
		if out.Speed == 0 || n.Speed != 0 && math.Abs(n.Speed-1) > math.Abs(out.Speed-1) { // 0 is unknown
			out.Speed = n.Speed
		}
		out.Steal, out.Others, out.Pressure = max(out.Steal, n.Steal), max(out.Others, n.Others), max(out.Pressure, n.Pressure)
		out.Throttled, out.Hot, out.Migrations = max(out.Throttled, n.Throttled), max(out.Hot, n.Hot), max(out.Migrations, n.Migrations)
	}
	if out != nil {
		for _, w := range machine.NoiseWarnings(*out, true) {
			if w.Kind == othersKind && !slices.ContainsFunc(g.warnings, func(x warned) bool { return x.Kind == w.Kind }) {
				g.warnings = append(g.warnings, warned{"", w})
			}
		}
	}
	return out
}

// roundTrip returns the lower middle rank's, or 0 if the ranks are not about equally far away.
func (g *group) roundTrip() float64 {
	const alike = 1.5
	all := Each(g.parts, func(p *Result) float64 { return p.RoundTrip })
	all = slices.DeleteFunc(all, func(trip float64) bool { return !(trip > 0) })
	if len(all) == 0 {
		return 0
	}
	slices.Sort(all)
	if least, most := all[0], all[len(all)-1]; most > alike*least {
		g.warn("place the ranks equally far from the servers, or read the figures of each rank",
			"the round trip to the server is %v for one rank and %v for another: no figure is given in round trips", nanos(int64(least)), nanos(int64(most)))
		return 0
	}
	return all[(len(all)-1)/2]
}

// nanos returns a time with three significant figures.
func nanos(ns int64) string { return numfmt.Plain(numfmt.Nanos(float64(ns))) }

// MostApart limits how far apart the ranks' windows may open or close, as a share of the
// window. It equals stat.DefaultTolerance: merged rates are too low by the share without a rank.
const MostApart = 0.05

type clocks struct {
	name  []string // by rank: equal for ranks that read the same clock
	shift []int64  // by rank: the difference from its clock to the common one
	error []int64  // by rank: of shift, at most in either direction; -1 if unknown

	one   bool // all ranks read one clock
	known bool // the difference of any two clocks is known
}

// newClocks returns the clocks of ranks. The best known offset of a clock serves all
// ranks that read it: their times are compared directly.
func newClocks(ranks []Rank) clocks {
	c := clocks{one: true, known: true}
	best := make(map[string]Rank)
	for i, k := range ranks {
		name := cmp.Or(k.Clock, fmt.Sprintf("rank %d", i))
		c.name = append(c.name, name)
		if b, ok := best[name]; !ok || k.Error >= 0 && (b.Error < 0 || k.Error < b.Error) {
			best[name] = k
		}
		c.one = c.one && name == c.name[0]
	}
	for _, name := range c.name {
		k := best[name]
		if c.one || k.Error < 0 {
			k.Offset = 0
		}
		c.shift, c.error = append(c.shift, k.Offset), append(c.error, k.Error)
		c.known = c.known && (c.one || k.Error >= 0)
	}
	return c
}

// between returns the greatest error between times of ranks i and j; false if unknown.
func (c clocks) between(i, j int) (ns int64, ok bool) {
	switch {
	case c.name[i] == c.name[j]:
		return 0, true
	case c.error[i] < 0 || c.error[j] < 0:
		return 0, false
	}
	return c.error[i] + c.error[j], true
}

func (c clocks) worst() (most int64) {
	for i := range c.name {
		for j := range i {
			if ns, ok := c.between(i, j); ok {
				most = max(most, ns)
			}
		}
	}
	return most
}

// windows has the opening and closing of each rank's window, on the common clock if there
// is one, else in ns since the time agreed upon by the ranks.
type windows struct{ opened, closed []int64 }

func newWindows(ranks []Rank, c clocks) (w windows) {
	for i, k := range ranks {
		from := k.Late
		if c.known {
			from = k.Opened + c.shift[i]
		}
		w.opened, w.closed = append(w.opened, from), append(w.closed, from+k.Closed-k.Opened)
	}
	return w
}

// all returns the time during which some rank measured, and both the time when all did.
func (w windows) all() (from, to int64)  { return slices.Min(w.opened), slices.Max(w.closed) }
func (w windows) both() (from, to int64) { return slices.Max(w.opened), slices.Min(w.closed) }

func (g *group) apart() string {
	window := float64(g.parts[0].Workload.Window)
	most := int64(MostApart * window)
	from, to := g.windows.all()
	worst, who, what := most, -1, ""
	note := func(i int, ns int64, text string) {
		if ns > worst {
			worst, who, what = ns, i, text
		}
	}
	first, last := slices.Index(g.windows.opened, from), slices.Index(g.windows.closed, to)
	for i, k := range g.ranks {
		note(i, k.Late, "opened its window %v late, %.0f %% of it: %.0f %% is the most")
		since, _ := g.clocks.between(i, first)
		note(i, g.windows.opened[i]-from-since, "opened its window %v after another rank, %.0f %% of it: %.0f %% is the most")
		until, _ := g.clocks.between(i, last)
		note(i, to-g.windows.closed[i]-until, "closed its window %v before another rank, %.0f %% of it: %.0f %% is the most")
	}
	if who < 0 {
		return ""
	}
	return place(who, g.ranks[who].Host) + " " + fmt.Sprintf(what, nanos(worst), 100*float64(worst)/window, 100*MostApart)
}
