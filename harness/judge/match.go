package judge

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"locklab/harness"
	"locklab/harness/result"
	"locklab/internal/numfmt"
)

type matched struct {
	lock     result.Lock
	workload harness.Workload
	runs     [][]*result.Result
}

// match returns the cases of runs, described as in the last run that has them.
func match(wanted func(result.Lock) bool, runs ...*result.Run) (out []*matched) {
	byName := make(map[string]*matched)
	for i, run := range runs {
		for _, r := range run.Results {
			if wanted != nil && !wanted(r.Lock) {
				continue
			}
			name := caseName(r.Lock.Name, r.Workload)
			m := byName[name]
			if m == nil {
				m = &matched{runs: make([][]*result.Result, len(runs))}
				byName[name], out = m, append(out, m)
			}
			m.lock, m.workload = r.Lock, r.Workload
			m.runs[i] = append(m.runs[i], r)
		}
	}
	return out
}

func (m *matched) name() string { return caseName(m.lock.Name, m.workload) }

func (m *matched) planned(was, is *plan) bool {
	return (len(m.runs[0]) > 0 || was.absent(m.name()) != "") && (len(m.runs[1]) > 0 || is.absent(m.name()) != "")
}

func (m *matched) lacks(was, is *plan) string {
	inNew, inBase := is.lacks(m.name()), was.lacks(m.name())
	if inNew != "" && inBase != "" {
		return inNew + "; " + inBase
	}
	return inNew + inBase
}

// rows returns the rows of m and their tests. at is the index of the first row in its
// comparison.
func (m *matched) rows(at int, metrics []*result.Metric, was, is *plan, paired bool) (rows []HistorySeries, tests []test) {
	add := func(g *result.Metric, v Verdict, note string) *HistorySeries {
		rows = append(rows, HistorySeries{Lock: m.lock, Workload: m.workload, Metric: g, Verdict: v,
			Points: []HistoryPoint{{Summary: g.Summary(m.runs[0])}, {Summary: g.Summary(m.runs[1]), Gap: note}}})
		return &rows[len(rows)-1]
	}
	if v, note := m.violated(); v != "" {
		r := add(metrics[0], v, note)
		for i := range r.Points {
			if p := &r.Points[i]; violations("", m.runs[i]) != "" { // a lock that broke a promise has no speed
				p.Broke, p.N = true, 0
			}
		}
		return rows, nil
	}
	for _, g := range metrics {
		base, new := m.samples(g, 0, 1, paired)
		if paired && len(base) == 0 { // no round has both: is there a figure at all?
			base, new = m.samples(g, 0, 1, false)
			if len(base) > 0 && len(new) > 0 {
				add(g, Unmeasured, cmp.Or(m.lacks(was, is), "no round has a figure on both sides"))
				continue
			}
		}
		switch {
		case len(base) > 0 && len(new) > 0:
			tests = append(tests, test{at + len(rows), 1, base, new})
			note := m.lacks(was, is)
			add(g, "", note).Points[1].Missing = note != ""
		case len(base) > 0:
			v, note := m.missing(1, is)
			add(g, v, note)
		case len(new) > 0 && len(m.runs[0]) == 0 && was.absent(m.name()) != "":
			add(g, Unmeasured, was.absent(m.name()))
		case len(new) > 0:
			add(g, OnlyNew, "")
		}
	}
	return rows, tests
}

func (m *matched) violated() (Verdict, string) {
	inBase, inNew := violations("BASE", m.runs[0]), violations("NEW", m.runs[1])
	switch {
	case len(m.runs[1]) == 0 || inBase == "" && inNew == "":
		return "", ""
	case isCounterexample(m.lock):
		return Expected, cmp.Or(inNew, inBase)
	case inNew == "":
		return NoBase, inBase
	case inBase != "":
		return Regressed, inNew + "; BASE did too"
	}
	return Regressed, inNew
}

func isCounterexample(l result.Lock) bool {
	return l.Status == harness.Broken || l.Status == harness.Historical
}

func violations(side string, rs []*result.Result) string {
	broke := slices.DeleteFunc(slices.Clone(rs), func(r *result.Result) bool { return len(r.Violations) == 0 })
	if len(broke) == 0 {
		return ""
	}
	first := broke[0].Violations[0]
	return fmt.Sprintf("%s violated %s in %d of %s: %s", side, first.Rule, len(broke), numfmt.Plural(len(rs), "round"), first.Detail)
}

func (m *matched) missing(i int, is *plan) (Verdict, string) {
	if len(m.runs[i]) > 0 {
		return Unmeasured, is.side + " has too few samples for a figure"
	}
	for _, s := range is.run.Manifest.Skipped {
		if s.Lock == m.lock.Name {
			return Unmeasured, is.side + " skipped it: " + s.Reason
		}
	}
	if !is.ended() {
		return Unmeasured, is.side + " ended before it"
	}
	if why := is.absent(m.name()); why != "" {
		return Unmeasured, why
	}
	return OnlyBase, ""
}

// samples returns g's figure of every round of runs i and k; figures that either clock
// cannot resolve are equal. If paired, the samples are of the rounds with a figure in both
// runs, paired by index.
func (m *matched) samples(g *result.Metric, i, k int, paired bool) (base, next []float64) {
	bs, ns := gateReadings(g, m.runs[i]), gateReadings(g, m.runs[k])
	floor := floorOf(bs, ns)
	if !paired {
		return floored(bs, floor), floored(ns, floor)
	}
	for _, b := range bs {
		i := slices.IndexFunc(ns, func(n reading) bool { return n.round == b.round })
		if i >= 0 {
			base, next = append(base, max(b.Value, floor)), append(next, max(ns[i].Value, floor))
		}
	}
	return base, next
}

type reading struct {
	result.Reading
	round int
}

func gateReadings(g *result.Metric, rs []*result.Result) (out []reading) {
	for _, r := range rs {
		if x := g.Read(r); x.Known && x.Value >= 0 && !math.IsInf(x.Value, 0) {
			out = append(out, reading{x, r.Round})
		}
	}
	return out
}

func floored(rs []reading, floor float64) []float64 {
	return result.Each(rs, func(r reading) float64 { return max(r.Value, floor) })
}

func floorOf(readings ...[]reading) (floor float64) {
	for _, r := range slices.Concat(readings...) {
		if r.Bound {
			floor = max(floor, r.Value)
		}
	}
	return floor
}

// byCase returns an order of rows for a reader: by metric, local locks first, by the axes of
// the workload, by lock, by workers, by machine.
func byCase(metrics []*result.Metric) func(a, b HistorySeries) int {
	remote := func(r HistorySeries) int { return min(1, len(r.Lock.Traits.Needs)) }
	return func(a, b HistorySeries) int {
		return cmp.Or(
			slices.Index(metrics, a.Metric)-slices.Index(metrics, b.Metric),
			remote(a)-remote(b),
			strings.Compare(Axes(a.Workload), Axes(b.Workload)),
			strings.Compare(a.Lock.Name, b.Lock.Name),
			a.Workload.Workers-b.Workload.Workers,
			a.Site-b.Site,
		)
	}
}
