package reports

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"locklab/harness/metric"
)

// A lineChart draws a metric over the number of workers: one line a lock.
type lineChart struct {
	g      *group
	m      *metric.Metric
	log    bool                   // log y axis; otherwise 0 to 100
	yTitle string                 //
	format func(v float64) string // of the y axis
	figure func(v float64) string // beside the line's end
	under  drawing                // drawn before the lines; may be nil
	lines  []line                 // filled by add
}

// A line is one lock's medians, ascending by workers, without those that
// cannot be drawn.
type line struct {
	s      *series
	points []linePoint
}

type linePoint struct {
	workers float64
	metric.Summary
}

// add reads the lines from the group. Where the y axis is logarithmic, what is
// not positive cannot be drawn; it is in the table.
func (l *lineChart) add() {
	for _, s := range l.g.series {
		ln := line{s: s}
		for _, w := range l.g.workers {
			v := s.cells[w].summary(l.m)
			if v.N == 0 || math.IsInf(v.Median, 0) || l.log && v.Median <= 0 {
				continue
			}
			ln.points = append(ln.points, linePoint{float64(w), v})
		}
		if len(ln.points) > 0 {
			l.lines = append(l.lines, ln)
		}
	}
}

// endLabel names s with its median at its greatest number of workers, which it
// names too if it is not that of the chart.
func (l *lineChart) endLabel(s *series) string {
	for i, w := range slices.Backward(l.g.workers) {
		v := s.cells[w].summary(l.m)
		if v.N == 0 {
			continue
		}
		text := s.lock.Name + labelSep + l.figure(v.Median)
		if i < len(l.g.workers)-1 {
			text += fmt.Sprintf(" with %d", w)
		}
		return text
	}
	return s.lock.Name
}

// yRange returns the range of the y axis.
func (l *lineChart) yRange() (lo, hi float64) {
	if !l.log {
		return 0, 100
	}
	lo, hi = math.Inf(1), 0
	for _, ln := range l.lines {
		for _, p := range ln.points {
			lo, hi = min(lo, p.Median), max(hi, p.Median)
			if p.Lo > 0 {
				lo = min(lo, p.Lo)
			}
			if !math.IsInf(p.Hi, 0) {
				hi = max(hi, p.Hi)
			}
		}
	}
	return logRange(lo, hi)
}

// height returns the height that the labels need.
func (l *lineChart) height() vg.Length {
	return max(300, vg.Length(len(l.lines))*labelGap+50)
}

// body draws the chart.
func (l *lineChart) body(c draw.Canvas) error {
	var workers []int
	for _, ln := range l.lines {
		for _, p := range ln.points {
			if i, ok := slices.BinarySearch(workers, int(p.workers)); !ok {
				workers = slices.Insert(workers, i, int(p.workers))
			}
		}
	}
	xLo, xHi := float64(workers[0]), float64(workers[len(workers)-1])
	if xLo == xHi {
		xLo, xHi = xLo/2, xHi*2
	}
	yLo, yHi := l.yRange()
	p := newPlot(xLo, xHi, yLo, yHi)
	p.X.Scale, p.X.Tick.Marker = warp(logarithm), workerTicks(workers)
	p.Y.Tick.Marker = plot.ConstantTicks{{Value: 0, Label: "0 %"}, {Value: 25, Label: "25 %"}, {Value: 50, Label: "50 %"}, {Value: 75, Label: "75 %"}, {Value: 100, Label: "100 %"}}
	if l.log {
		p.Y.Scale, p.Y.Tick.Marker = warp(logarithm), logTicks(yLo, yHi, l.format)
	}
	labels := make([]endLabel, len(l.lines))
	for i, ln := range l.lines {
		labels[i] = endLabel{text: l.endLabel(ln.s), look: ln.s.look}
	}
	p.Add(drawing(l.zone), gridlines(false))
	if l.under != nil {
		p.Add(l.under)
	}
	p.Add(drawing(func(c draw.Canvas, p *plot.Plot) {
		l.drawLines(c, p, labels)
		drawLabels(c, c.Max.X, labels)
	}))
	place(p, draw.Crop(c, 0, -labelRoom(labels), 0, 0), "workers contending for one lock (log scale)", l.yTitle)
	return nil
}

// zone shades where there are more workers than processors.
func (l *lineChart) zone(c draw.Canvas, p *plot.Plot) {
	cpus := float64(l.g.cpus)
	if l.g.remote || cpus < 1 || cpus >= p.X.Max {
		return
	}
	trX, _ := p.Transforms(&c)
	x := max(trX(cpus), c.Min.X)
	c.FillPolygon(warm.rgba(), rect(x, c.Min.Y, c.Max.X, c.Max.Y))
	if cpus >= p.X.Min {
		c.StrokeLine2(draw.LineStyle{Color: axis.rgba(), Width: vg.Points(0.6), Dashes: []vg.Length{2, 2}}, x, c.Min.Y, x, c.Max.Y)
	}
	// Above the frame, where no line runs.
	st := typeset(7.5, muted, draw.XRight, draw.YBottom)
	for _, text := range []string{fmt.Sprintf("more workers than CPUs (%d)", l.g.cpus), "more workers than CPUs", "> CPUs"} {
		if st.Width(text)+6 < c.Max.X-x {
			c.FillText(st, vg.Point{X: c.Max.X, Y: c.Max.Y + 6}, text)
			return
		}
	}
}

// drawLines draws bands first, lines next and markers last, and sets the
// height of each label.
func (l *lineChart) drawLines(c draw.Canvas, p *plot.Plot, labels []endLabel) {
	trX, trY := p.Transforms(&c)
	y := func(v float64) vg.Length {
		if math.IsNaN(v) {
			return c.Min.Y
		}
		return max(c.Min.Y, min(trY(v), c.Max.Y))
	}
	for _, ln := range l.lines {
		var band []vg.Point
		for _, pt := range ln.points {
			band = append(band, vg.Point{X: trX(pt.workers), Y: y(pt.Hi)})
		}
		for _, pt := range slices.Backward(ln.points) {
			band = append(band, vg.Point{X: trX(pt.workers), Y: y(pt.Lo)})
		}
		opacity := uint8(22)
		if ln.s.look.strong {
			opacity = 44
		}
		c.FillPolygon(ln.s.look.hue.alpha(opacity), band)
	}
	for i, ln := range l.lines {
		var pts []vg.Point
		for _, pt := range ln.points {
			pts = append(pts, vg.Point{X: trX(pt.workers), Y: y(pt.Median)})
		}
		end := pts[len(pts)-1]
		labels[i].y = end.Y
		c.StrokeLines(ln.s.look.line(), pts)
		if end.X < c.Max.X-1 { // the lock was not measured with the most workers
			c.StrokeLine2(draw.LineStyle{Color: ln.s.look.hue.alpha(90), Width: vg.Points(0.6), Dashes: []vg.Length{1, 2}}, end.X, end.Y, c.Max.X, end.Y)
		}
	}
	for _, strong := range []bool{false, true} {
		for _, ln := range l.lines {
			for _, pt := range ln.points {
				if ln.s.look.strong == strong {
					ln.s.look.mark(c, vg.Point{X: trX(pt.workers), Y: y(pt.Median)})
				}
			}
		}
	}
}
