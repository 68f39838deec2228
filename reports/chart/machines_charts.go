package chart

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"locklab/harness"
	"locklab/internal/numfmt"
	"locklab/internal/stat"
)

const RatioDoc = "Mark: the rate on a machine over that on the first one, the median of the ratios of every round of the one to every round of the other; bar: its interval at 95 % for all cases that the two machines share together (Bonferroni), by the ranks that the Mann-Whitney test allows. Rounds of two machines are not pairs: what disturbed one of them does not cancel, as it does between two locks of one run. Pale: not apart from the same rate. Hue: family of the lock; shape: machine; thin: a lock that is kept to show a bug."

// Ratios compares every machine with the first: a sweep over machines with unpaired rounds.
func (x *Match) Ratios() *sweep {
	s := &sweep{dimension: &dimension{Name: "the machine"}, remote: x.Remote, context: x.Axes, cpus: x.cpus,
		groups: x.groups, memo: make(map[[2]int][]effect), axis: "rate ÷ rate on " + x.machines[0].Name}
	for i, m := range x.machines {
		s.settings = append(s.settings, setting{float64(i), m.Name})
		for _, w := range x.Workers() {
			s.memo[[2]int{i, w}] = x.ratio(s, i, w)
		}
	}
	s.count()
	return s
}

// ratio returns the effects of machine i on every lock, with w workers.
func (x *Match) ratio(s *sweep, i, w int) (out []effect) {
	m := s.metric(w)
	type pair struct {
		s    *series
		a, b *Cell
	}
	var ps []pair
	for _, base := range x.groups[0].at(w) {
		acquired := base.Cells[w].Summary(m).Median > 0
		if c := x.cell(i, base.Lock.Name, w); c != nil && acquired && base.Lock.Status != harness.Control {
			ps = append(ps, pair{base, c, base.Cells[w]})
		}
	}
	level := stat.Level(x.shared[i])
	for _, p := range ps {
		e := effect{p.s, i, stat.Unpaired(p.a.Figures(m), p.b.Figures(m), level), p.a.Summary(m)}
		if e.N > 0 && e.Median > 0 && !math.IsInf(e.Median, 0) {
			out = append(out, e)
		}
	}
	return out
}

func (x *Match) DrawRatios() Picture {
	s := x.Ratios()
	if s.workers == nil {
		return nothing("No lock was acquired on %s and on another machine with the same number of workers, so there is no ratio.", x.machines[0].Name)
	}
	w := s.crowd()
	return Picture{Answer: x.ratioAnswer(s, w), Picture: s.intervals(w), Numbers: x.ratioTable(s), Data: x.source(s.metric(w))}
}

// ratioAnswer counts, for each machine, the locks that are faster and slower there.
func (x *Match) ratioAnswer(s *sweep, w int) string {
	first := x.machines[0].Name
	var parts []string
	for i := 1; i < len(x.machines); i++ {
		es := s.Effects(i, w)
		if len(es) == 0 {
			continue
		}
		faster, slower, enough := 0, 0, false
		logs := make([]float64, len(es))
		for k, e := range es {
			logs[k] = e.Median
			enough = enough || e.Enough()
			if e.Greater() {
				faster++
			} else if e.Less() {
				slower++
			}
		}
		middle := stat.Summarize(logs).Median
		text := fmt.Sprintf("on %s a lock in the middle has %s", x.machines[i].Name, ofRate(middle))
		if !enough {
			text += fmt.Sprintf(" (but n = %d: to tell a difference from chance needs %s on each machine)", es[0].N, numfmt.Plural(stat.MinUnpaired(es[0].Level), "round"))
		} else {
			text += fmt.Sprintf(" (of %s, %d faster there beyond doubt, %d slower)", numfmt.Plural(len(es), "lock"), faster, slower)
		}
		parts = append(parts, text)
	}
	if parts == nil {
		return "With " + numfmt.Plural(w, "worker") + " no two machines share a lock."
	}
	return fmt.Sprintf("With %s, against %s: %s.", numfmt.Plural(w, "worker"), first, strings.Join(parts, "; "))
}

func (x *Match) ratioTable(s *sweep) Table {
	unit := "per second"
	if x.Remote {
		unit = "per second (contended: hand-overs)"
	}
	t := Table{Head: Titles("lock", "workers", "machine", unit, "× "+x.machines[0].Name, "interval", "apart from 1")}
	for _, w := range s.workers {
		for _, base := range x.groups[0].at(w) {
			rate := base.Cells[w].Summary(s.metric(w))
			t.Rows = append(t.Rows, []string{base.Lock.Name, strconv.Itoa(w), x.machines[0].Name, numfmt.SI(rate.Median), "1", numfmt.Unknown, numfmt.Unknown})
			for i := 1; i < len(x.machines); i++ {
				k := slices.IndexFunc(s.Effects(i, w), func(e effect) bool { return e.S == base })
				if k < 0 {
					continue
				}
				e := s.Effects(i, w)[k]
				verdict := "no"
				if e.Apart() {
					verdict = "yes"
				} else if !e.Enough() {
					verdict = fmt.Sprintf("n = %d", e.N)
				}
				t.Rows = append(t.Rows, []string{base.Lock.Name, strconv.Itoa(w), x.machines[i].Name, numfmt.SI(e.rate.Median), numfmt.Number(e.Median), ratios(e.Lo, e.Hi), verdict})
			}
		}
	}
	return t
}
