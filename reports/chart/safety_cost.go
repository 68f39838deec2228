package chart

import (
	"fmt"
	"math"
	"slices"

	"locklab/harness/result"
	"locklab/internal/numfmt"
	"locklab/reports/draw"
)

// A price is the cost of a lock with its worst scenario.
type price struct {
	l        *Survivor
	look     draw.Look
	cost     float64         // time of a handover, ns; NaN if not measured
	unsafe   result.Survival // the scenario with the most violations
	window   result.Survival // the scenario with the longest median window
	windowed bool
}

const safetyCostTitle = "What does safety cost?"

const safetyCostDoc = "Hand-over: the time from one holder to the next if all want the lock, the inverse of the rate that ranks locks. Broken: the number of 1000 faults in which two holders, a stale write or a token that fell broke what the scenario tests, in the worst scenario. Its whisker is the one-sided upper bound at 95 %. A lock that broke nothing has the bound of the scenario with the fewest faults. Two holders count if a server is lost, but not if a holder is paused: there only writes to the resource count. Free and not granted: how long the lock was free and not granted, in the longest scenario; mark: the median, whisker: to the greatest. Locks are tried in the scenarios that apply to them, so the scenarios may differ. Hue: family; marker: lock; thin: a lock that is kept to show a bug."

// prices returns the tested locks of s, the cheapest first; g is the group of the costs, or
// nil.
func (s *Safety) prices(g *Group, looks map[string]draw.Look) (out []*price) {
	var cost *result.Metric
	if g != nil {
		cost = g.costMetric()
	}
	for _, l := range s.Locks {
		if l.Class.Tries == 0 {
			continue
		}
		p := &price{l: l, look: looks[l.Lock.Name], cost: math.NaN()}
		p.unsafe, _ = l.worstRow()
		p.window, p.windowed = l.longest()
		if g != nil {
			for _, x := range g.at(g.Crowd()) {
				if rate := x.Cells[g.Crowd()].Summary(cost).Median; rate > 0 && x.Lock.Name == l.Lock.Name {
					p.cost = 1e9 / rate
				}
			}
		}
		out = append(out, p)
	}
	slices.SortStableFunc(out, func(a, b *price) int {
		switch {
		case a.cost < b.cost || math.IsNaN(b.cost) && !math.IsNaN(a.cost):
			return -1
		case b.cost < a.cost || math.IsNaN(a.cost) && !math.IsNaN(b.cost):
			return 1
		}
		return 0
	})
	return out
}

// costMetric returns the rate that measures the cost of a lock of g.
func (g *Group) costMetric() *result.Metric { return g.Group.Metric(g.Crowd()) }

// DrawSafetyCost draws the costs of the locks of s against their failures.
func DrawSafetyCost(s *Safety, g *Group, looks map[string]draw.Look) Picture {
	ps := s.prices(g, looks)
	if len(ps) == 0 {
		return nothing("Not tested: no failure scenario was tried.")
	}
	priced := slices.ContainsFunc(ps, func(p *price) bool { return !math.IsNaN(p.cost) })
	pic := Picture{
		Answer:  costAnswer(ps, g, priced),
		Data:    Source{Fields: []string{"tries", "seen", "window"}},
		Picture: priceRows(ps, priced),
	}
	pic.Numbers.Head = Titles("lock", "hand-over", "broken in 1000", "bound", "in", "faults", "window p50", "greatest", "in")
	if priced {
		pic.Data.Metrics = []*result.Metric{g.costMetric()}
		pic.Data.Rounds = []int{roundsOf(g)}
		pic.Numbers.Head[1] = Piece{"hand-over", g.costMetric()}
	}
	for _, p := range ps {
		row := []string{p.l.Lock.Name, numfmt.Nanos(p.cost), numfmt.Number(p.unsafe.Broken), numfmt.Percent(100 * p.unsafe.BrokenBound), p.unsafe.Fault.Scenario, fmt.Sprint(p.unsafe.N), numfmt.Unknown, numfmt.Unknown, numfmt.Unknown}
		if p.windowed {
			row[6], row[7], row[8] = Lasting(p.window.Window.Median), Lasting(p.window.Window.Most), p.window.Fault.Scenario
		}
		pic.Numbers.Rows = append(pic.Numbers.Rows, row)
	}
	return pic
}

// costAnswer compares the costs of the locks without a violation with the fastest lock.
func costAnswer(ps []*price, g *Group, priced bool) string {
	var safe []*price
	for _, p := range ps {
		if p.unsafe.Broken == 0 {
			safe = append(safe, p)
		}
	}
	name := func(ps []*price) string {
		var names []string
		for _, p := range ps {
			names = append(names, p.l.Lock.Name)
		}
		return numfmt.List(names, 5)
	}
	if len(safe) == 0 {
		return fmt.Sprintf("Each of %s broke a guarantee in some scenario: %s the least often, in %s of 1000 faults.", numfmt.Plural(len(ps), "lock"), least(ps).l.Lock.Name, numfmt.Number(least(ps).unsafe.Broken))
	}
	text := fmt.Sprintf("%s of %s broke neither failover nor fencing: %s.", fmt.Sprint(len(safe)), numfmt.Plural(len(ps), "lock"), name(safe))
	if !priced {
		return text + " What they cost was not measured in this run."
	}
	b := ps[0] // the fastest correct lock, if there is one
	if i := slices.IndexFunc(ps, func(p *price) bool { return !Unsound(p.l.Lock.Status) }); i >= 0 {
		b = ps[i]
	}
	if a := safe[0]; !math.IsNaN(a.cost) {
		if a == b {
			return text + fmt.Sprintf(" %s is also handed over the soonest, in %s with %s: here safety costs nothing.", a.l.Lock.Name, numfmt.Nanos(a.cost), g.unit(g.Crowd()))
		}
		text += fmt.Sprintf(" Of these %s is handed over the soonest, in %s with %s: %s as long as %s, which broke a guarantee in %s of 1000 faults of %s.",
			a.l.Lock.Name, numfmt.Nanos(a.cost), g.unit(g.Crowd()), numfmt.Times(a.cost/b.cost), b.l.Lock.Name, numfmt.Number(b.unsafe.Broken), b.unsafe.Fault.Scenario)
	}
	return text
}

func least(ps []*price) *price {
	return slices.MinFunc(ps, func(a, b *price) int {
		switch {
		case a.unsafe.Broken < b.unsafe.Broken:
			return -1
		case a.unsafe.Broken > b.unsafe.Broken:
			return 1
		}
		return 0
	})
}

func PerThousand(row result.Survival) string {
	if math.IsNaN(row.Violations) {
		return numfmt.Unknown
	}
	text := numfmt.Number(row.Violations)
	if row.AtLeast {
		text = "≥" + numfmt.Space + text
	}
	return text
}

// Lasting formats a time that may be infinite or negative.
func Lasting(ns float64) string {
	switch {
	case math.IsInf(ns, 1):
		return "no end"
	case ns < 0:
		return "−" + numfmt.Nanos(-ns)
	}
	return numfmt.Nanos(ns)
}

// priceRows draws a row for each lock, with up to three panels: its cost, what it broke, and
// how long it was free and not granted.
func priceRows(ps []*price, priced bool) draw.Picture {
	panels := []struct {
		scale draw.Scaled
		empty string
		of    func(p *price) (v, to float64, ok bool)
	}{
		{draw.Scaled{Title: "hand-over (log scale)", Log: true, Format: numfmt.Nanos}, "not measured",
			func(p *price) (float64, float64, bool) { return p.cost, p.cost, !math.IsNaN(p.cost) }},
		{draw.Scaled{Title: "broken in 1000 faults", Hi: 1000, Format: numfmt.Number}, "not tested",
			func(p *price) (float64, float64, bool) {
				return p.unsafe.Broken, 1000 * p.unsafe.BrokenBound, !math.IsNaN(p.unsafe.Broken)
			}},
		{draw.Scaled{Title: "free and not granted (log scale)", Log: true, Format: Lasting}, "none seen",
			func(p *price) (float64, float64, bool) {
				return p.window.Window.Median, p.window.Window.Most, p.windowed
			}},
	}
	if !priced {
		panels = panels[1:]
	}
	var r draw.Rows
	for _, p := range ps {
		r.Rows = append(r.Rows, draw.Row{Name: p.l.Lock.Name, Look: p.look})
	}
	for _, panel := range panels {
		var all []draw.Mark
		for i, p := range ps {
			m := draw.Mark{Mid: math.NaN(), Text: panel.empty}
			if v, to, ok := panel.of(p); ok {
				m = draw.Mark{Mid: v, Lo: v, Hi: to, Shape: p.look.Marker}
				if math.IsInf(to, 1) {
					m.Text = Lasting(to)
				}
			}
			all = append(all, m)
			r.Rows[i].Marks = append(r.Rows[i].Marks, []draw.Mark{m})
		}
		if panel.scale.Log {
			panel.scale.Lo, panel.scale.Hi = draw.LogRange(draw.Reach(all))
		}
		r.Panels = append(r.Panels, panel.scale)
	}
	return r.Drawn()
}
