package chart

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"locklab/harness/result"
	"locklab/internal/numfmt"
	"locklab/internal/stat"
	"locklab/reports/draw"
)

const (
	forestDoc = "Mark: the rate with the setting over the rate with the default, of the same round, median of the rounds; bar: its interval at 95 % for all locks of a setting together (Bonferroni), or the range of the rounds where they are too few for that. A bar that ends at the frame goes on. Pale: not apart from no effect. Hue: family; thin: a lock that is kept to show a bug."
	amountDoc = "Line: median of the rounds; band: its 95 % order-statistic interval, or the range of the rounds if there are fewer than six. The values stand evenly spaced. Hue: family; marker: lock; thin: a lock that is kept to show a bug. In the answer and the table, intervals hold at 95 % for all locks of a value together (Bonferroni)."
)

// drawEffect returns the draw function for a chart of d.
func drawEffect(d *dimension) func(g *Group) Picture {
	return func(g *Group) Picture {
		s := d.Sweep(g)
		if s == nil {
			return nothing("This run has one value of %s only; a run with %s shows what another one changes.", d.Name, d.Flag)
		}
		w := s.crowd()
		pic := s.forest
		if d.ordered {
			pic = s.amounts
		}
		p := pic(w)
		p.Load = cmp.Or(s.context, "the same")
		return p
	}
}

// answer names the largest effect with w workers, and counts the locks without a
// significant effect.
func (s *sweep) answer(w int) string {
	all := s.All(w)
	size := func(e effect) float64 { return math.Abs(math.Log(e.Median)) }
	largest := func(es []effect) effect {
		return slices.MaxFunc(es, func(a, b effect) int {
			return cmp.Or(cmp.Compare(size(a), size(b)), strings.Compare(b.S.Lock.Name, a.S.Lock.Name))
		})
	}
	var apart []effect
	enough := false
	for _, e := range all {
		enough = enough || e.Enough()
		if e.Apart() {
			apart = append(apart, e)
		}
	}
	with := "With " + numfmt.Plural(w, "worker")
	says := func(e effect) string {
		return fmt.Sprintf("%s on %s: %s with %s (%s)", s.full(e.setting), e.S.Lock.Name, ofRate(e.Median), s.full(s.base), ratios(e.Lo, e.Hi))
	}
	switch {
	case !enough:
		e := largest(all)
		return fmt.Sprintf("%s, the largest change of the median is that by %s. But n = %d: to tell an effect from chance needs %s.",
			with, says(e), e.N, numfmt.Plural(stat.MinRounds(e.Level), "round"))
	case len(apart) == 0:
		return fmt.Sprintf("%s, no effect is beyond chance. The largest change of a median is that by %s.", with, says(largest(all)))
	}
	return fmt.Sprintf("%s, the largest effect is that of %s. Not apart from no effect: %s.", with, says(largest(apart)), s.notApart(w))
}

// notApart counts the locks without a significant effect, for each setting.
func (s *sweep) notApart(w int) string {
	var parts []string
	for i := range s.settings {
		es := s.Effects(i, w)
		if i == s.base || len(es) == 0 {
			continue
		}
		same := 0
		for _, e := range es {
			if !e.Apart() {
				same++
			}
		}
		text := fmt.Sprintf("%d of %s", same, numfmt.Plural(len(es), "lock"))
		if len(s.settings) > 2 {
			text += " with " + s.full(i)
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, ", ")
}

// ofRate formats a ratio of rates in words.
func ofRate(r float64) string {
	if r >= 1 {
		return numfmt.Times(r) + " the rate"
	}
	return numfmt.Percent(100*r) + " of the rate"
}

func ratios(lo, hi float64) string {
	if hi < 1 {
		return numfmt.Percent(100*lo) + " to " + numfmt.Percent(100*hi)
	}
	return numfmt.Number(lo) + "× to " + numfmt.Number(hi) + "×"
}

func (s *sweep) table() Table {
	rate := Piece{"per second", result.Throughput}
	if s.remote && s.dimension != byReads {
		rate = Piece{"hand-overs/s", result.Handovers}
	}
	t := Table{Head: slices.Concat(Titles("lock", "workers", s.Word), []Piece{rate}, Titles("× with "+s.full(s.base), "interval", "apart from 1"))}
	for _, w := range s.workers {
		for _, x := range s.groups[s.base].at(w) {
			for i, v := range s.settings {
				row := []string{x.Lock.Name, strconv.Itoa(w), v.label}
				if i == s.base {
					t.Rows = append(t.Rows, append(row, numfmt.SI(x.Cells[w].Summary(s.metric(w)).Median), "1", numfmt.Unknown, numfmt.Unknown))
				}
				for _, e := range s.Effects(i, w) {
					if e.S == x && i != s.base {
						t.Rows = append(t.Rows, append(row, numfmt.SI(e.rate.Median), numfmt.Number(e.Median), ratios(e.Lo, e.Hi), e.verdict()))
					}
				}
			}
		}
	}
	return t
}

// verdict reports in a word whether e is apart from no effect.
func (e effect) verdict() string {
	switch {
	case e.Apart():
		return "yes"
	case e.Enough():
		return "no"
	}
	return fmt.Sprintf("n = %d", e.N)
}

// amounts draws the rates with w workers over the values of a numeric setting.
func (s *sweep) amounts(w int) Picture {
	l := &draw.Lines{Place: "at", Y: draw.LogScale, Format: numfmt.SI, Figure: numfmt.PerSecond,
		XTitle: strings.TrimPrefix(s.Name, "the ") + " (values evenly spaced)",
		YTitle: fmt.Sprintf("%s with %s (log scale)", s.unit(w), numfmt.Plural(w, "worker"))}
	for i, v := range s.settings {
		l.Stops = append(l.Stops, draw.Stop{At: float64(i), Label: v.label})
	}
	for _, x := range s.groups[s.base].at(w) {
		if !slices.ContainsFunc(s.All(w), func(e effect) bool { return e.S == x }) {
			continue
		}
		l.Add(x.Lock.Name, x.look, func(i int) stat.Summary { return s.groups[i].cell(x.Lock.Name, w).Summary(s.metric(w)) })
	}
	if len(l.Lines) == 0 {
		return s.forest(w)
	}
	return ofLines(l, s.answer(w)+reach(l, s.Word), s.table(), s.source(w))
}

// reach describes the spread of the locks at both ends of the axis.
func reach(l *draw.Lines, word string) string {
	at := func(i int) float64 {
		lo, hi := math.Inf(1), 0.0
		for _, ln := range l.Lines {
			for _, p := range ln.Points {
				if p.Stop == i {
					lo, hi = min(lo, p.Median), max(hi, p.Median)
				}
			}
		}
		return hi / lo
	}
	last := len(l.Stops) - 1
	a, b := at(0), at(last)
	if len(l.Lines) < 2 || !(a >= 1) || !(b >= 1) {
		return ""
	}
	return fmt.Sprintf(" With %s=%s the fastest lock has %s the rate of the slowest, with %s=%s %s.",
		word, l.Stops[0].Label, numfmt.Times(a), word, l.Stops[last].Label, numfmt.Times(b))
}

// forest draws the effects of settings side by side.
func (s *sweep) forest(w int) Picture {
	return Picture{Answer: s.answer(w), Picture: s.intervals(w), Numbers: s.table(), Data: s.source(s.columns(w)...)}
}
