package chart

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	vgdraw "gonum.org/v1/plot/vg/draw"

	"locklab/harness"
	"locklab/harness/result"
	"locklab/internal/numfmt"
	"locklab/internal/stat"
	"locklab/reports/draw"
)

// CostsLocal and CostsRemote draw the cost of an uncontended acquisition and release. A run has one such chart, for its local locks if any.
var CostsLocal, CostsRemote = both(Chart{
	Name:  "costs",
	Title: "What does an uncontended lock cost?",
	Doc:   costsDoc,
	Once:  true,
	Draw:  drawCosts,
}, "What does an uncontended distributed lock cost?")

const costsDoc = "Locks: time to take and to free the lock with one worker, with the shortest section of the run; mark: median over the rounds, bar: its 95 % order-statistic interval, or the range if there are fewer than six rounds. The lab's loop is subtracted: for a local lock the turn of the control in the same round, which has the loop and the section but no lock, or, without a section, the lab's own turn; for a distributed lock the time it is held. Ring and ≤: the rest does not differ from zero, or the loop is unknown."

type costRow struct {
	name  string
	style draw.Style
	kind  string // the family of the lock
	atMax bool   // Median is a bound
	stat.Summary
}

func (g *Group) costRows() (out []costRow) {
	seen := make(map[string]bool)
	for _, o := range g.quietest() {
		for _, s := range o.at(1) {
			if s.Lock.Status == harness.Control || seen[s.Lock.Name] {
				continue
			}
			seen[s.Lock.Name] = true
			r := costRow{name: s.Lock.Name, style: s.style, kind: cmp.Or(familyNames[s.Lock.Family], string(s.Lock.Family))}
			r.Summary, r.atMax = o.alone(s)
			if r.N > 0 && r.Median > leastCost && r.Median < draw.Beyond {
				out = append(out, r)
			}
		}
	}
	slices.SortStableFunc(out, func(a, b costRow) int { return cmp.Compare(a.Median, b.Median) })
	return out
}

// quietest returns the run's groups with one worker, by the work of a turn outside the lock.
func (g *Group) quietest() []*Group {
	gs := slices.DeleteFunc(slices.Clone(g.Both), func(o *Group) bool {
		return o.Workers[0] != 1 || o.Load.Reads > 0 || o.Load.Think.Mean > 0 || o.Load.Garbage || o.Load.Section != harness.SectionWork || o.Open()
	})
	slices.SortStableFunc(gs, func(a, b *Group) int {
		return cmp.Or(cmp.Compare(a.Load.Hold.Mean, b.Load.Hold.Mean), cmp.Compare(len(a.Axes), len(b.Axes)), cmp.Compare(a.Axes, b.Axes))
	})
	return gs
}

// alone returns one worker's time to acquire and release s, in ns, perhaps an upper bound.
func (g *Group) alone(s *series) (cost stat.Summary, bound bool) {
	var control *Cell
	for _, o := range g.at(1) {
		if o.Lock.Status == harness.Control && control == nil {
			control = o.Cells[1]
		}
	}
	c := s.Cells[1]
	var turns, costs []float64
	for _, i := range c.Order() {
		turn, ok := result.Time.Of(c.Rounds[i])
		if !ok {
			continue
		}
		turns = append(turns, turn)
		if rest, ok := g.besides(c.Rounds[i], control); ok {
			costs = append(costs, turn-rest)
		}
	}
	if cost = stat.Summarize(costs); cost.N > 0 && cost.Lo > 0 {
		return cost, false
	}
	if cost.N > 0 && cost.Hi > 0 {
		cost.Median = cost.Hi
		cost.Lo = cost.Hi
		return cost, true
	}
	return stat.Summarize(turns), true
}

func (g *Group) besides(r *harness.Result, control *Cell) (float64, bool) {
	switch {
	case g.Remote && g.Load.Hold.Mean == 0 && r.Hold.N == 0:
		return 0, true
	case g.Remote:
		return r.Hold.Mean(), r.Hold.N > 0
	case control != nil && control.Rounds[r.Round] != nil:
		return result.Time.Of(control.Rounds[r.Round])
	case g.Load.Hold.Mean == 0 && g.Run.Manifest.Overhead.Loop > 0:
		return g.Run.Manifest.Overhead.Loop, true
	}
	return 0, false
}

// leastCost, in ns, is the least cost that is no mistake.
const leastCost = 1e-6

func (g *Group) costsSource() Source {
	s := Source{Metrics: []*result.Metric{result.Time}, Rounds: []int{roundsOf(g.Both...)}}
	if Largest(g.Both, true) != nil {
		s.Fields = []string{"hold"}
	}
	return s
}

var familyNames = map[harness.Family]string{
	harness.Spin: "spin", harness.Blocking: "blocking", harness.ZooKeeper: "ZooKeeper", harness.Redis: "Redis", harness.Peer: "peer",
}

func drawCosts(g *Group) Picture {
	if g.Remote && Largest(g.Both, false) != nil {
		return nothing("It is in the cost chart with the local locks.")
	}
	rs := g.costRows()
	if len(rs) == 0 {
		return nothing("No lock was measured with one worker, so there is no uncontended cost to compare.")
	}
	return Picture{
		Answer:  costsAnswer(rs),
		Load:    "one worker, the shortest section",
		Numbers: costsTable(rs),
		Data:    g.costsSource(),
		Picture: costsRows(rs),
	}
}

// costsAnswer names the cheapest lock of each kind, cheapest first, each as a multiple of
// the previous one. An upper bound counts only without a measured figure.
func costsAnswer(rs []costRow) string {
	var steps []costRow
	for _, bounds := range []bool{false, true} {
		for _, r := range rs {
			if r.atMax == bounds && !slices.ContainsFunc(steps, func(o costRow) bool { return o.kind == r.kind }) {
				steps = append(steps, r)
			}
		}
	}
	slices.SortStableFunc(steps, func(a, b costRow) int { return cmp.Compare(a.Median, b.Median) })
	var parts []string
	for i, r := range steps {
		cost := r.text()
		if i > 0 && !r.atMax && !steps[i-1].atMax {
			if by := numfmt.Times(r.Median / steps[i-1].Median); by != "1 times" {
				cost += ", " + by + " that"
			}
		}
		parts = append(parts, fmt.Sprintf("of the %s locks %s (%s)", r.kind, r.name, cost))
	}
	return "Lowest medians: " + numfmt.List(parts, len(parts)) + "."
}

func (r costRow) text() string {
	if r.atMax {
		return "≤" + numfmt.Space + numfmt.Nanos(r.Median)
	}
	return numfmt.Nanos(r.Median)
}

func costsRows(rs []costRow) draw.Picture {
	r := draw.Rows{Title: "time to take and to free the lock, one worker (log scale)"}
	var all []draw.Mark
	var seen []string
	for _, x := range rs {
		m := draw.Mark{Mid: x.Median, Lo: x.Lo, Hi: x.Hi, Text: x.text()}
		if x.atMax {
			m.Shape = vgdraw.RingGlyph{}
		}
		all = append(all, m)
		r.Rows = append(r.Rows, draw.Row{Name: x.name, Style: x.style, Marks: [][]draw.Mark{{m}}})
		if !slices.Contains(seen, x.kind) {
			seen = append(seen, x.kind)
			r.Notes = append(r.Notes, draw.Note{Colour: x.style.Hue, Text: x.kind})
		}
	}
	lo, hi := draw.Reach(all)
	lo, hi = draw.LogRange(lo, hi)
	r.Panels = []draw.Scaled{{Lo: lo, Hi: hi, Log: true, Format: numfmt.Nanos}}
	return r.Drawn()
}

func costsTable(rs []costRow) Table {
	t := Table{Head: Titles("what", "kind", "rounds", "time", "interval")}
	for _, r := range rs {
		t.Rows = append(t.Rows, []string{r.name, r.kind, strconv.Itoa(r.N), r.text(), fmt.Sprintf("%s to %s", numfmt.Nanos(r.Lo), numfmt.Nanos(r.Hi))})
	}
	return t
}
