package chart

import (
	vgdraw "gonum.org/v1/plot/vg/draw"

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

const effectDoc = "Mark: the rate with the setting over the rate with the default, of the same round, median of the rounds; bar: its interval at 95 % for all locks of a setting together (Bonferroni), or the range of the rounds if they are too few for that. A bar that ends at the frame continues. Pale: not apart from no effect. Hue: family; thin: a lock that is kept to show a bug."

func drawEffect(d *dimension) func(g *Group) Picture {
	return func(g *Group) Picture {
		s := d.Sweep(g)
		if s == nil {
			return nothing("This run has one value of %s only; a run with %s shows what another one changes.", d.Name, d.Flag)
		}
		w := s.crowd()
		return Picture{Answer: s.answer(w), Load: cmp.Or(s.context, "the same"), Picture: s.intervals(w), Numbers: s.table(), Data: s.source(s.columns(w)...)}
	}
}

// answer names the largest effect with w workers, and counts the significant ones.
func (s *sweep) answer(w int) string {
	all := s.All(w)
	size := func(e effect) float64 { return math.Abs(math.Log(e.Median)) }
	slices.SortStableFunc(all, func(a, b effect) int {
		return cmp.Or(cmp.Compare(size(b), size(a)), strings.Compare(a.S.Lock.Name, b.S.Lock.Name))
	})
	text := func(e effect) string {
		return fmt.Sprintf("%s on %s: %s with %s (%s)", s.full(e.setting), e.S.Lock.Name, ofRate(e.Median), s.full(s.base), ratios(e.Lo, e.Hi))
	}
	with := "With " + numfmt.Plural(w, "worker")
	apart := slices.DeleteFunc(slices.Clone(all), func(e effect) bool { return !e.Apart() })
	switch {
	case !slices.ContainsFunc(all, effect.Enough):
		return fmt.Sprintf("%s, the largest change of the median is that by %s. But n = %d: to tell an effect from chance needs %s.",
			with, text(all[0]), all[0].N, numfmt.Plural(stat.MinRounds, "round"))
	case len(apart) == 0:
		return fmt.Sprintf("%s, no effect is beyond chance. The largest change of a median is that by %s.", with, text(all[0]))
	}
	return fmt.Sprintf("%s, the largest effect has %s. %d of %s are significant.", with, text(apart[0]), len(apart), numfmt.Plural(len(all), "effect"))
}

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

func (e effect) verdict() string {
	switch {
	case e.Apart():
		return "yes"
	case e.Enough():
		return "no"
	}
	return fmt.Sprintf("n = %d", e.N)
}

var settingMarks = []vgdraw.GlyphDrawer{vgdraw.CircleGlyph{}, vgdraw.BoxGlyph{}, vgdraw.PyramidGlyph{}, vgdraw.RingGlyph{}, vgdraw.SquareGlyph{}, vgdraw.TriangleGlyph{}, vgdraw.PlusGlyph{}}

// columns returns the shown numbers of workers: the fewest, one per processor, and w.
func (s *sweep) columns(w int) (out []int) {
	for _, n := range s.workers {
		if n <= w && (n == s.workers[0] || n == w || !s.remote && n == s.cpus) {
			out = append(out, n)
		}
	}
	return out
}

// intervals draws the effects around "no effect": one row per lock, one panel per number of
// workers. The greatest effect with w workers is first.
func (s *sweep) intervals(w int) draw.Picture {
	rank := make(map[*series]float64)
	var locks []*series
	all := []draw.Mark{{Mid: 1, Lo: 1, Hi: 1}}
	for _, n := range s.columns(w) {
		for _, e := range s.All(n) {
			all = append(all, s.mark(e))
			if _, seen := rank[e.S]; !seen {
				locks, rank[e.S] = append(locks, e.S), 1
			}
			if n == w && math.Abs(math.Log(e.Median)) > math.Abs(math.Log(rank[e.S])) {
				rank[e.S] = e.Median
			}
		}
	}
	slices.SortStableFunc(locks, func(a, b *series) int {
		return cmp.Or(cmp.Compare(rank[b], rank[a]), a.style.Compare(b.style))
	})
	r := draw.Rows{Title: fmt.Sprintf("rate with the setting ÷ rate with %s, in the same round (log scale)", s.full(s.base))}
	for i := range s.settings {
		if i != s.base {
			r.Notes = append(r.Notes, draw.GlyphNote(s.shape(i), s.full(i)))
		}
	}
	lo, hi := draw.Reach(all)
	lo, hi = draw.LogRange(lo, hi)
	for _, n := range s.columns(w) {
		title := numfmt.Plural(n, "worker")
		if !s.remote && s.cpus > 0 && n > s.cpus {
			title += " on " + numfmt.Plural(s.cpus, "CPU")
		}
		r.Panels = append(r.Panels, draw.Scaled{Title: title, Lo: lo, Hi: hi, Log: true, Line: 1, Format: func(v float64) string { return numfmt.Number(v) + "×" }})
	}
	for _, x := range locks {
		row := draw.Row{Name: x.Lock.Name, Style: x.style}
		for _, n := range s.columns(w) {
			var marks []draw.Mark
			for _, e := range s.All(n) {
				if e.S == x {
					marks = append(marks, s.mark(e))
				}
			}
			row.Marks = append(row.Marks, marks)
		}
		r.Rows = append(r.Rows, row)
	}
	return r.Drawn()
}

func (s *sweep) shape(setting int) vgdraw.GlyphDrawer {
	if setting > s.base {
		setting--
	}
	return settingMarks[setting%len(settingMarks)]
}

func (s *sweep) mark(e effect) draw.Mark {
	return draw.Mark{Mid: e.Median, Lo: e.Lo, Hi: e.Hi, Shape: s.shape(e.setting), Pale: !e.Apart()}
}
