package chart

import (
	"math"
	"slices"
	"strconv"

	"gonum.org/v1/plot/vg"
	vgdraw "gonum.org/v1/plot/vg/draw"

	"locklab/harness/judge"
	"locklab/internal/numfmt"
	"locklab/reports/draw"
)

const ChangesDoc = "A frame is a case on a machine, its runs in order, under the commits of their builds. Point: median of the rounds, with its interval at 95 %. Line: median of the runs of a level; field: from the least of them to the greatest, but for runs that stand alone. " +
	"Dashed: a change, a step that stays, with the ratio of the two levels. Ring: a run that stands alone, which is no change. Cross: the lock broke a promise, so it has no speed. Hatch: no figure. " +
	"With too few runs to tell a step from an off day the points are joined, and a ratio stands where two neighbours differ. " +
	"Axes are logarithmic; those of a case span the same ratio on every machine. Hue: family of the lock."

const (
	changesStep  = vg.Length(132) // from one row of frames to the next
	changesHead  = vg.Length(30)  // two lines of names over a frame
	changesFoot  = vg.Length(18)  // commits under it
	changesScale = vg.Length(50)  // figures left of it
	leastSpan    = 1.35           // of an axis, as a ratio: less than that is not blown up
	changesRoom  = 1.2            // of the width of a text at the edge: a reader's typeface may be wider
)

// A changesFrame is a series in its frame.
type changesFrame struct {
	*judge.HistorySeries
	site    judge.Site
	hue     draw.Token
	machine bool // whether there are several, so the frame names its machine
	Lo, Hi  float64
}

// ChangesFrames returns a frame for each of ss, a case's machines next to each other.
func ChangesFrames(h *judge.History, ss []*judge.HistorySeries) (out []*changesFrame) {
	for _, s := range ss {
		f := &changesFrame{HistorySeries: s, site: h.Sites[s.Site], hue: hueOf(s.Lock.Family), machine: len(h.Sites) > 1}
		f.Lo, f.Hi = f.reach()
		out = append(out, f)
	}
	for from := 0; from < len(out); {
		to := from + 1
		for to < len(out) && out[to].Case() == out[from].Case() && out[to].Metric == out[from].Metric {
			to++
		}
		span := leastSpan
		for _, f := range out[from:to] {
			span = max(span, f.Hi/f.Lo*1.08)
		}
		for _, f := range out[from:to] {
			middle, half := math.Sqrt(f.Lo*f.Hi), math.Sqrt(span)
			f.Lo, f.Hi = middle/half, middle*half
		}
		from = to
	}
	return out
}

func (f *changesFrame) reach() (lo, hi float64) {
	lo, hi = math.Inf(1), 0
	for _, p := range f.Points {
		for _, v := range []float64{p.Median, p.Lo, p.Hi} {
			if p.N > 0 && v > 0 && !math.IsInf(v, 0) && v > p.Median/4 && v < p.Median*4 {
				lo, hi = min(lo, v), max(hi, v)
			}
		}
	}
	if hi == 0 {
		return 1, 1
	}
	return lo, hi
}

// DrawChanges draws each of ss in its own frame; ss must not be empty.
func DrawChanges(h *judge.History, ss []*judge.HistorySeries, answer string) Picture {
	frames := ChangesFrames(h, ss)
	columns := 3
	if n := len(h.Sites); n > 1 {
		columns = min(n, 4)
	}
	rows := ChangesRows(frames, columns)
	p := Picture{Answer: answer, Picture: draw.Picture{Height: vg.Length(len(rows))*changesStep + 4}, Numbers: changesTable(h, ss)}
	for _, s := range ss {
		if !slices.Contains(p.Data.Metrics, s.Metric) {
			p.Data.Metrics = append(p.Data.Metrics, s.Metric)
		}
	}
	p.Body = func(c vgdraw.Canvas) error {
		wide := c.Size().X / vg.Length(columns)
		for r, row := range rows {
			for i, f := range row {
				b := c
				b.Min.X = c.Min.X + vg.Length(i)*wide + changesScale
				b.Max.X = c.Min.X + vg.Length(i+1)*wide - 6
				b.Max.Y = c.Max.Y - vg.Length(r)*changesStep - changesHead
				b.Min.Y = c.Max.Y - vg.Length(r+1)*changesStep + changesFoot + 8
				if f == nil {
					absent(b, h, row, i)
					continue
				}
				f.draw(b)
			}
		}
		return nil
	}
	return p
}

func absent(b vgdraw.Canvas, h *judge.History, row []*changesFrame, i int) {
	first := slices.IndexFunc(row, func(f *changesFrame) bool { return f != nil })
	if site := row[first].Site - first + i; site < len(h.Sites) {
		st := draw.Typeset(7.5, draw.Muted, vgdraw.XLeft, vgdraw.YBottom)
		left := b.Min.X - changesScale + 8
		c := b
		c.FillText(st, vg.Point{X: left, Y: b.Max.Y + 4}, draw.Shorten(st, "not measured on "+Short(h.Sites[site].Name, MostText), b.Max.X-left))
	}
}

// ChangesRows arranges frames in rows, each machine in its column if there are enough.
func ChangesRows(frames []*changesFrame, columns int) (rows [][]*changesFrame) {
	if len(frames) == 0 || !frames[0].machine {
		for part := range slices.Chunk(frames, columns) {
			rows = append(rows, part)
		}
		return rows
	}
	var last *changesFrame
	for _, f := range frames {
		at := f.Site % columns
		if last == nil || last.Case() != f.Case() || last.Metric != f.Metric || last.Site/columns != f.Site/columns {
			rows = append(rows, make([]*changesFrame, columns))
		}
		rows[len(rows)-1][at], last = f, f
	}
	return rows
}

func (f *changesFrame) draw(b vgdraw.Canvas) {
	p := draw.NewPlot(-0.6, float64(len(f.Points))-0.4, f.Lo, f.Hi)
	p.Y.Scale = draw.Warp(draw.Logarithm)
	trX, trY := p.Transforms(&b)
	x := func(i float64) vg.Length { return trX(i) }
	y := func(v float64) vg.Length { return min(max(trY(v), b.Min.Y), b.Max.Y) }
	f.head(b)
	f.axes(b, x, y)
	f.levels(b, x, y)
	for i, pt := range f.Points {
		f.point(b, x(float64(i)), y, pt)
	}
	for _, c := range f.Changes {
		f.change(b, x(float64(c.At)-0.5), c)
	}
}

func (f *changesFrame) head(b vgdraw.Canvas) {
	name := draw.Bold(draw.Typeset(8.5, draw.Ink, vgdraw.XLeft, vgdraw.YBottom))
	under := draw.Typeset(7.5, draw.Muted, vgdraw.XLeft, vgdraw.YBottom)
	left := b.Min.X - changesScale + 8
	room := b.Max.X - left
	c := b
	c.FillText(name, vg.Point{X: left, Y: b.Max.Y + 15}, draw.Shorten(name, MarkedName(f.Lock.Name, f.Lock.Status)+", "+f.Title(), room))
	verdict := changesWord(f.HistorySeries)
	st := draw.Typeset(7.5, draw.Muted, vgdraw.XRight, vgdraw.YBottom)
	if f.Verdict == judge.Regressed || f.Verdict == judge.OffRun {
		st = draw.Bold(draw.Typeset(7.5, draw.Rust, vgdraw.XRight, vgdraw.YBottom))
	}
	c.FillText(st, vg.Point{X: b.Max.X, Y: b.Max.Y + 4}, verdict)
	text := f.Workload.Name()
	if f.machine {
		text = f.site.Name + ", " + text
	}
	c.FillText(under, vg.Point{X: left, Y: b.Max.Y + 4}, draw.Shorten(under, Short(text, MostText), room-st.Width(verdict)-6))
}

func changesWord(s *judge.HistorySeries) string {
	if s.Verdict == judge.Regressed && s.Points[len(s.Points)-1].Broke {
		return "violated"
	}
	return string(s.Verdict)
}

func (f *changesFrame) axes(b vgdraw.Canvas, x func(float64) vg.Length, y func(float64) vg.Length) {
	c := b
	line := vgdraw.LineStyle{Color: draw.Axis.RGBA(), Width: vg.Points(0.75)}
	st := draw.Typeset(7.5, draw.Muted, vgdraw.XRight, vgdraw.YCenter)
	last := vg.Length(math.Inf(-1))
	for _, t := range draw.LinearTicks(f.Lo, f.Hi, func(v float64) string { return numfmt.Plain(FormatUnit(f.Metric.Unit)(v)) }) {
		at := y(t.Value)
		c.StrokeLine2(vgdraw.LineStyle{Color: draw.Grid.RGBA(), Width: vg.Points(0.6)}, b.Min.X, at, b.Max.X, at)
		if at-last >= 13 {
			c.FillText(st, vg.Point{X: b.Min.X - 4, Y: at + draw.Lift}, t.Label)
			last = at
		}
	}
	c.StrokeLines(line, []vg.Point{{X: b.Min.X, Y: b.Max.Y}, b.Min, {X: b.Max.X, Y: b.Min.Y}})
	st = draw.Typeset(7, draw.Muted, vgdraw.XCenter, vgdraw.YTop)
	var taken [][2]vg.Length
	for _, i := range f.labelled() {
		text := draw.Shorten(st, f.site.Runs[i].Commit(), 40)
		half := st.Width(text)/2 + 3
		at := min(max(x(float64(i)), b.Min.X-6+half), b.Max.X+6-half)
		if slices.ContainsFunc(taken, func(t [2]vg.Length) bool { return at-half < t[1] && at+half > t[0] }) {
			continue
		}
		taken = append(taken, [2]vg.Length{at - half, at + half})
		c.FillText(st, vg.Point{X: at, Y: b.Min.Y - 5}, text)
	}
	for i := range f.Points {
		c.StrokeLine2(line, x(float64(i)), b.Min.Y, x(float64(i)), b.Min.Y-2.5)
	}
}

func (f *changesFrame) labelled() (out []int) {
	var all, odd []int
	for _, c := range f.Changes {
		out = append(out, c.At)
	}
	for i, p := range f.Points {
		if all = append(all, i); p.Off != "" || p.Broke {
			odd = append(odd, i)
		}
	}
	seen := make(map[int]bool)
	return slices.DeleteFunc(slices.Concat(out, []int{0, len(f.Points) - 1}, odd, all), func(i int) bool {
		twice := seen[i]
		seen[i] = true
		return twice || i >= len(f.Points)
	})
}

func (f *changesFrame) levels(b vgdraw.Canvas, x func(float64) vg.Length, y func(float64) vg.Length) {
	c := b
	if f.short() {
		f.joined(b, x, y)
		return
	}
	for _, l := range f.Levels() {
		if l.Runs < 2 {
			continue
		}
		from, to := x(float64(l.From)-0.4), x(float64(l.To-1)+0.4)
		c.FillPolygon(f.hue.Alpha(34), draw.Rect(from, y(l.Least), to, y(l.Most)))
		c.StrokeLine2(vgdraw.LineStyle{Color: f.hue.RGBA(), Width: vg.Points(1.4)}, from, y(l.Median), to, y(l.Median))
	}
}

func (f *changesFrame) short() bool { return f.Verdict == judge.FewRuns }

func (f *changesFrame) joined(b vgdraw.Canvas, x func(float64) vg.Length, y func(float64) vg.Length) {
	c := b
	st := draw.Typeset(7.5, draw.Ink, vgdraw.XCenter, vgdraw.YBottom)
	last := -1
	for i, p := range f.Points {
		if p.N == 0 {
			continue
		}
		if last >= 0 {
			from, to := vg.Point{X: x(float64(last)), Y: y(f.Points[last].Median)}, vg.Point{X: x(float64(i)), Y: y(p.Median)}
			c.StrokeLine2(vgdraw.LineStyle{Color: f.hue.Alpha(130), Width: vg.Points(0.9)}, from.X, from.Y, to.X, to.Y)
			if text := times(p.Before.Median); p.Verdict.Changed() && st.Width(text) < to.X-from.X {
				at := vg.Point{X: (from.X + to.X) / 2, Y: (from.Y+to.Y)/2 + 4}
				half := st.Width(text)/2 + 2
				c.FillPolygon(draw.Paper.RGBA(), draw.Rect(at.X-half, at.Y, at.X+half, at.Y+10))
				c.FillText(st, at, text)
			}
		}
		last = i
	}
}

func times(ratio float64) string { return "× " + strconv.FormatFloat(ratio, 'f', 2, 64) }

func (f *changesFrame) point(b vgdraw.Canvas, x vg.Length, y func(float64) vg.Length, p judge.HistoryPoint) {
	c := b
	note := func(at vg.Point, hue draw.Token, text string) {
		st := draw.Typeset(7.5, hue, vgdraw.XLeft, vgdraw.YCenter)
		if at.X += 6; at.X+st.Width(text)*changesRoom > b.Max.X {
			st.XAlign = vgdraw.XRight
			at.X -= 12
		}
		at.Y += draw.Lift
		c.FillText(st, at, text)
	}
	switch {
	case p.Broke:
		at := vg.Point{X: x, Y: b.Min.Y + 8}
		c.DrawGlyphNoClip(vgdraw.GlyphStyle{Color: draw.Rust.RGBA(), Radius: 4, Shape: vgdraw.CrossGlyph{}}, at)
		note(at, draw.Rust, "violated")
	case p.N == 0:
		for at := b.Min.Y + 3; at < b.Min.Y+14; at += 3.5 {
			c.StrokeLine2(vgdraw.LineStyle{Color: draw.Axis.RGBA(), Width: vg.Points(0.8)}, x-3, at, x+3, at+3)
		}
	default:
		c.StrokeLine2(vgdraw.LineStyle{Color: f.hue.RGBA(), Width: vg.Points(1)}, x, y(p.Lo), x, y(p.Hi))
		at := vg.Point{X: x, Y: y(p.Median)}
		c.DrawGlyphNoClip(vgdraw.GlyphStyle{Color: draw.Paper.RGBA(), Radius: 3.2, Shape: vgdraw.CircleGlyph{}}, at)
		st := vgdraw.GlyphStyle{Color: f.hue.RGBA(), Radius: 2.3, Shape: vgdraw.CircleGlyph{}}
		if p.Off != "" {
			st.Radius, st.Shape = 2.8, vgdraw.RingGlyph{}
			note(at, draw.Ink, "off")
		}
		c.DrawGlyphNoClip(st, at)
	}
}

func (f *changesFrame) change(b vgdraw.Canvas, x vg.Length, change judge.Change) {
	hue, word := draw.Good, "better"
	if change.Verdict == judge.Regressed {
		hue, word = draw.Rust, "worse"
	}
	c := b
	c.StrokeLine2(vgdraw.LineStyle{Color: hue.RGBA(), Width: vg.Points(1.1), Dashes: []vg.Length{3, 2}}, x, b.Min.Y, x, b.Max.Y)
	st := draw.Bold(draw.Typeset(8, draw.Ink, vgdraw.XLeft, vgdraw.YTop))
	text := word + " " + times(change.Ratio.Median)
	at := x + 3
	if w := st.Width(text) * changesRoom; at+w > b.Max.X {
		at = x - 3 - w
	}
	c.FillText(st, vg.Point{X: at, Y: b.Max.Y - 1}, text)
}
