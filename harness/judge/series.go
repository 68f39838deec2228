package judge

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"locklab/harness/result"
	"locklab/internal/numfmt"
	"locklab/internal/stat"
)

// seriesOf returns the series of the cases of runs, which are of one machine, and the tests
// of neighbouring points. at is the index of the first series in its history.
func seriesOf(site, at int, runs []*result.Run, o HistoryOptions) (out []HistorySeries, tests []test) {
	plans := make([]*plan, len(runs))
	for i, r := range runs {
		plans[i] = planOf(fmt.Sprintf("run %d", i+1), r)
	}
	for _, k := range match(o.Locks, runs...) {
		for _, g := range o.Metrics {
			s := HistorySeries{Site: site, Lock: k.lock, Workload: k.workload, Metric: g, to: o.To}
			all := result.Each(k.runs, func(rs []*result.Result) []reading { return gateReadings(g, rs) })
			floor, before := floorOf(all...), -1
			for i := range runs {
				p := s.point(k, i, plans[i], floored(all[i], floor))
				if s.Points = append(s.Points, p); p.N == 0 {
					continue
				}
				if before >= 0 {
					base, next := k.samples(g, before, i, false)
					tests = append(tests, test{at + len(out), i, base, next})
				}
				before = i
			}
			if slices.ContainsFunc(s.Points, func(p HistoryPoint) bool { return p.N > 0 || p.Broke }) {
				if s.Points[len(runs)-1].Broke {
					s.Verdict = Regressed
					if isCounterexample(s.Lock) {
						s.Verdict = Expected
					}
				}
				out = append(out, s)
			}
		}
	}
	return out, tests
}

func (s *HistorySeries) point(k *matched, i int, is *plan, xs []float64) HistoryPoint {
	p := HistoryPoint{value: math.NaN()}
	if why := violations(is.side, k.runs[i]); why != "" { // a lock that broke a promise has no speed
		p.Broke, p.Gap = true, why
		return p
	}
	if len(xs) == 0 {
		v, why := k.missing(i, is)
		if s.to != nil && len(k.runs[i]) > 0 {
			why = is.side + " has no figure of a lock to compare it with"
		}
		p.Missing, p.Gap = v == Unmeasured, cmp.Or(why, is.side+" was not to measure it")
		return p
	}
	p.Summary, p.value, p.Gap = s.Metric.Summary(k.runs[i]), stat.Median(xs), is.lacks(k.name())
	p.Missing = p.Gap != ""
	return p
}

func (s *HistorySeries) setVerdict(h *History) {
	s.findOff(h)
	if s.Verdict != "" {
		return
	}
	newest := s.Points[len(s.Points)-1]
	n := s.Figures()
	switch {
	case len(s.Changes) > 0:
		s.Verdict = s.Changes[len(s.Changes)-1].Verdict
	case n >= h.Few:
		s.Verdict = Steady
	case n < 2:
		s.Verdict = OneRun
	case slices.ContainsFunc(s.Points, func(p HistoryPoint) bool { return p.Verdict != "" && p.Verdict != NotWorse && p.Verdict != Better }):
		s.Verdict = FewRuns
	default:
		s.Verdict = NotWorse
	}
	if s.Verdict == Regressed {
		return
	}
	switch {
	case newest.Missing && len(s.Points) > 1:
		s.Verdict = Unmeasured
	case newest.Off == OffWorse:
		s.Verdict = OffRun
	}
}

// A Level is the runs of a series between two changes.
type Level struct {
	Runs                int     // number with a figure
	Median, Least, Most float64 // runs off the level are neither least nor most
	at                  []int   // the points of these runs
}

// Levels returns the levels of s, at least one.
func (s *HistorySeries) Levels() (out []Level) {
	from := 0
	for i := range len(s.Changes) + 1 {
		to := len(s.Points)
		if i < len(s.Changes) {
			to = s.Changes[i].At
		}
		var l Level
		var xs, together []float64
		for k, p := range s.Points[from:to] {
			if p.N == 0 {
				continue
			}
			l.at, xs = append(l.at, from+k), append(xs, p.value)
			if p.Off == "" {
				together = append(together, p.value)
			}
		}
		l.Runs, l.Median = len(xs), stat.Median(xs)
		if len(together) > 0 {
			l.Least, l.Most = slices.Min(together), slices.Max(together)
		}
		out, from = append(out, l), to
	}
	return out
}

// findOff marks the points off their level. Such a point is outside the range of at least two
// others of its level by more than the tolerance, and its rounds differ significantly from both
// neighbours'. The newest has one neighbour, and is marked only if there are enough other runs
// for a level. The first is never marked: there may have been another level before.
func (s *HistorySeries) findOff(h *History) {
	for _, l := range s.Levels() {
		at := l.at
		for k, i := range at {
			newest := i == len(s.Points)-1
			if len(at) < 3 || k == 0 || newest && s.Figures() < h.Few || !newest && k == len(at)-1 {
				continue
			}
			if !s.Points[i].Verdict.Changed() || !newest && !s.Points[at[k+1]].Verdict.Changed() {
				continue
			}
			s.Points[i].Off = s.offFrom(i, h.Tolerance)
		}
	}
}

// Others returns the least and the greatest figure of the other runs on the level of run i.
func (s *HistorySeries) Others(i int) (least, most float64) {
	least, most = math.Inf(1), math.Inf(-1)
	for _, l := range s.Levels() {
		if !slices.Contains(l.at, i) {
			continue
		}
		for _, k := range l.at {
			if k != i {
				least, most = min(least, s.Points[k].value), max(most, s.Points[k].value)
			}
		}
	}
	return least, most
}

func (s *HistorySeries) offFrom(i int, tolerance float64) Verdict {
	value := s.Points[i].value
	lo, hi := s.Others(i)
	worse := func(to float64) float64 {
		if s.Metric.Better == result.Lower {
			return value/to - 1
		}
		return to/value - 1
	}
	switch {
	case min(worse(lo), worse(hi)) > tolerance:
		return OffWorse
	case max(worse(lo), worse(hi)) < -tolerance:
		return OffBest
	}
	return ""
}

// Notable reports whether the runs of s are worth showing.
func (s *HistorySeries) Notable() bool {
	return len(s.Changes) > 0 || slices.ContainsFunc(s.Points, func(p HistoryPoint) bool { return p.Off != "" || p.Broke }) ||
		s.Verdict == FewRuns && slices.ContainsFunc(s.Points, func(p HistoryPoint) bool { return p.Verdict.Changed() })
}

// Changed reports whether two runs differ significantly, by more than the tolerance.
func (v Verdict) Changed() bool { return v == Regressed || v == Better }

func historyWarnings(h *History) (out []string) {
	for _, site := range h.Sites {
		for _, v := range site.Runs {
			name := v.Name
			if len(h.Sites) > 1 {
				name += " of " + site.Name
			}
			if len(v.Differs) > 0 {
				out = append(out, fmt.Sprintf("%s differs from the run before in more than the code: %s", name, numfmt.List(v.Differs, len(v.Differs))))
			}
			out = append(out, defects(name, v.run)...)
		}
	}
	return append(out, h.together()...)
}

// together names the runs at which most cases of a machine, at least four, changed.
func (h *History) together() (out []string) {
	for i, site := range h.Sites {
		cases, at := 0, make([]int, len(site.Runs))
		for _, s := range h.Series {
			if s.Site != i {
				continue
			}
			cases++
			for _, c := range s.Changes {
				at[c.At]++
			}
		}
		for k, n := range at {
			if cases >= 4 && 2*n > cases {
				out = append(out, fmt.Sprintf("%d of the %d cases on %s changed at run %d: that may be the machine, not the code", n, cases, site.Name, k+1))
			}
		}
	}
	return out
}
