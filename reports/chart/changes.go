package chart

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	vgdraw "gonum.org/v1/plot/vg/draw"

	"locklab/harness/judge"
	"locklab/harness/result"
	"locklab/internal/numfmt"
	"locklab/internal/stat"
	"locklab/reports/draw"
)

// ChangesDoc explains the picture of a history.
const ChangesDoc = "A frame is a case on a machine. Mark: the median of the rounds of a run over the median of the runs, with its interval at 95 %. " +
	"Dashed: a change, a step that stays, with the ratio of its two levels. Ring: an outlier, which is no change. Cross: the lock broke a promise, so it has no speed. " +
	"Hue: family of the lock. The table has the figures, and Runs the commits."

// mostChange is the greatest ratio to the median of the runs in a picture. Greater ones lie
// on the frame.
const mostChange = 4

// DrawChanges draws each of ss in its own frame; ss must not be empty.
func DrawChanges(h *judge.History, ss []*judge.HistorySeries, answer string) Picture {
	l := &draw.Lines{XTitle: "run of the machine", YTitle: "ratio to the median of the runs (log scale)", Y: draw.LogScale, Format: times, Figure: times, Plain: true}
	data := Source{Metrics: Distinct(ss, func(s *judge.HistorySeries) *result.Metric { return s.Metric })}
	var runs []int
	for _, s := range ss {
		for len(runs) < len(s.Points) {
			runs = append(runs, len(runs)+1)
		}
	}
	l.Stops = stopsAt(runs)
	names := frameNames(h, ss)
	for i, s := range ss {
		style := draw.Style{Hue: hueOf(s.Lock.Family), Marker: vgdraw.CircleGlyph{}, Strong: true, Loose: true}
		l.Add(names[i], style, func(run int) stat.Summary { return relative(s, run) })
		style.Marker = vgdraw.RingGlyph{}
		l.Add(names[i], style, func(run int) stat.Summary {
			if run < len(s.Points) && s.Points[run].Off != "" {
				return relative(s, run)
			}
			return stat.Summary{}
		})
	}
	l.Under = func(c vgdraw.Canvas, p *plot.Plot, name string) { drawSteps(c, p, ss[slices.Index(names, name)]) }
	if l.Drawn().Shape.Curves == 0 {
		return Picture{Answer: answer, Numbers: changesTable(h, ss), Data: data}
	}
	return ofLines(l, answer, changesTable(h, ss), data)
}

// frameNames returns the lock of each series, and its difference from the others.
func frameNames(h *judge.History, ss []*judge.HistorySeries) []string {
	names := result.Each(ss, func(s *judge.HistorySeries) string { return MarkedName(s.Lock.Name, s.Lock.Status) })
	for _, part := range []func(s *judge.HistorySeries) string{
		func(s *judge.HistorySeries) string { return h.Sites[s.Site].Name },
		func(s *judge.HistorySeries) string { return strings.ReplaceAll(s.Workload.Name(), "/", " ") },
		(*judge.HistorySeries).Title,
	} {
		if slices.ContainsFunc(ss, func(s *judge.HistorySeries) bool { return part(s) != part(ss[0]) }) {
			for i, s := range ss {
				names[i] += ", " + part(s)
			}
		}
	}
	return names
}

// relative returns the figure of a run over the median of the runs.
func relative(s *judge.HistorySeries, run int) (v stat.Summary) {
	if run >= len(s.Points) || s.Points[run].N == 0 {
		return v
	}
	var all []float64
	for _, p := range s.Points {
		if p.N > 0 {
			all = append(all, p.Median)
		}
	}
	over := func(figure float64) float64 { return max(1.0/mostChange, min(figure/stat.Median(all), mostChange)) }
	p := s.Points[run]
	return stat.Summary{Median: over(p.Median), Lo: over(p.Lo), Hi: over(p.Hi), N: p.N}
}

// drawSteps marks the changes of s and its runs with a broken promise, or else writes its
// verdict.
func drawSteps(c vgdraw.Canvas, p *plot.Plot, s *judge.HistorySeries) {
	trX, _ := p.Transforms(&c)
	write := func(hue draw.Token, text string, x vg.Length) {
		st := draw.Bold(draw.Typeset(7.5, hue, vgdraw.XLeft, vgdraw.YTop))
		if wide := st.Width(text) * spare; x+wide > c.Max.X { // no room to the right of a line
			x -= wide + 6
		}
		c.FillText(st, vg.Point{X: max(c.Min.X, x), Y: c.Max.Y - 1}, text)
	}
	for _, change := range s.Changes {
		hue := draw.Good
		if change.Verdict == judge.Regressed {
			hue = draw.Rust
		}
		x := trX(float64(change.At) + 0.5)
		c.StrokeLine2(faultStyle(hue), x, c.Min.Y, x, c.Max.Y)
		write(draw.Ink, string(change.Verdict)+" "+times(change.Ratio.Median), x+3)
	}
	if len(s.Changes) == 0 {
		write(draw.Muted, string(s.Verdict), c.Min.X+4)
	}
	for i, pt := range s.Points {
		if pt.Broke {
			at := vg.Point{X: trX(float64(i + 1)), Y: c.Min.Y + 6}
			c.DrawGlyphNoClip(vgdraw.GlyphStyle{Color: draw.Rust.RGBA(), Radius: 4, Shape: vgdraw.CrossGlyph{}}, at)
		}
	}
}

func times(ratio float64) string { return "× " + strconv.FormatFloat(ratio, 'f', 2, 64) }

func changesTable(h *judge.History, ss []*judge.HistorySeries) Table {
	t := Table{Head: Titles("case", "metric", "machine", "run", "date, UTC", "commit", "median", "interval, 95 %", "")}
	for _, s := range ss {
		for i, p := range s.Points {
			v := h.Sites[s.Site].Runs[i]
			row := []string{s.Case(), s.Title(), h.Sites[s.Site].Name, strconv.Itoa(i + 1), v.Date(), v.Commit(), changesFigure(s, p), numfmt.Unknown, changesMark(p)}
			if p.N > 0 {
				row[7] = FormatUnit(s.Metric.Unit)(p.Lo) + "–" + FormatUnit(s.Metric.Unit)(p.Hi)
			}
			t.Rows = append(t.Rows, row)
		}
	}
	return t
}

// ChangesAnswer summarizes the verdicts on ss in a sentence.
func ChangesAnswer(h *judge.History, ss []*judge.HistorySeries) string {
	vs := result.Each(ss, func(s *judge.HistorySeries) judge.Verdict { return s.Verdict })
	return fmt.Sprintf("Of %s on %s: %s", numfmt.Plural(len(ss), "series"), numfmt.Plural(len(h.Sites), "machine"), CountVerdicts(vs))
}

// CountVerdicts counts each verdict in vs, the worst first: "1 regressed, 2 not worse."
func CountVerdicts(vs []judge.Verdict) string {
	n := make(map[judge.Verdict]int)
	for _, v := range vs {
		n[v]++
	}
	var parts []string
	for _, v := range judge.Verdicts {
		if n[v] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n[v], v))
		}
	}
	return strings.Join(parts, ", ") + "."
}

func changesFigure(s *judge.HistorySeries, p judge.HistoryPoint) string {
	if p.Broke {
		return "violated"
	}
	return medianText(p.Summary, FormatUnit(s.Metric.Unit))
}

func changesMark(p judge.HistoryPoint) string {
	if p.N == 0 || p.Broke {
		return p.Gap
	}
	return string(cmp.Or(p.Off, p.Verdict))
}
