package result

import (
	"fmt"
	"slices"

	"locklab/harness"
)

// MostApart limits how far apart the ranks' windows may open or close, as a share of the
// window. It equals stat.DefaultMargin: merged rates are too low by the share without a rank.
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
func newClocks(ranks []harness.Rank) clocks {
	c := clocks{one: true, known: true}
	best := make(map[string]harness.Rank)
	for i, k := range ranks {
		name := k.Clock
		if name == "" {
			name = fmt.Sprintf("rank %d", i)
		}
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

func (c clocks) unknown() (ranks []int) {
	for i, e := range c.error {
		if e < 0 && !c.one {
			ranks = append(ranks, i)
		}
	}
	return ranks
}

// windows has the opening and closing of each rank's window, on the common clock if there
// is one, else in ns since the time agreed upon by the ranks.
type windows struct{ opened, closed []int64 }

func newWindows(ranks []harness.Rank, c clocks) (w windows) {
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
	return place(who, g.ranks[who].Host) + " " + fmt.Sprintf(what, round3(worst), 100*float64(worst)/window, 100*MostApart)
}
