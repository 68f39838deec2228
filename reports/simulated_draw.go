package reports

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"locklab/harness"
	"locklab/harness/stat"
	"locklab/internal/numfmt"
)

// chart returns f of every lock of m over the workers. Only filled marks are measured, and
// no line joins them.
func (m *modelled) chart(f modelFigure, yTitle string) *lineChart {
	l := &lineChart{
		xTitle: "workers, each on a hardware thread of its own (log scale)", xScale: logarithm, place: "with",
		y: logScale, yTitle: yTitle, format: numfmt.Number, figure: f.format,
	}
	for _, w := range m.workers {
		l.stops = append(l.stops, stop{float64(w), strconv.Itoa(w)})
	}
	l.notes = append(l.notes, simulatedNote)
	if m.any(f) {
		l.notes = append(l.notes, measuredNote)
		l.apart, l.yTitle = true, strings.TrimPrefix(yTitle, "simulated ")
	}
	l.under = m.beyond
	if bs := m.borders(); len(bs) > 0 {
		l.notes = append(l.notes, note{colour: shade, text: "beyond one socket", sample: borderSample})
	}
	byLock := make(map[string]*modelledLock)
	for _, x := range m.locks {
		byLock[x.Lock.Name] = x
		l.add(x.Lock.Name, x.look, func(i int) stat.Summary { return f.at(x, m.workers[i]) })
		for _, w := range m.workers {
			if v := f.measured(x, w); v.N > 0 && v.Median > 0 {
				l.also = append(l.also, v.Median)
			}
		}
	}
	if m.like.Simulated == thisMachine {
		l.caption = func(name string) string { return m.offBy(f, byLock[name]) }
	}
	l.own = func(name string) drawing {
		return func(c draw.Canvas, p *plot.Plot) {
			for _, ln := range l.lines {
				if name == "" || name == ln.name {
					m.marks(c, p, l, f, byLock[ln.name], ln.look)
				}
			}
		}
	}
	return l
}

// offBy compares the model's figure for x with the measured one, at the most workers that
// have both; "" if there are none.
func (m *modelled) offBy(f modelFigure, x *modelledLock) (text string) {
	for _, e := range m.errors(f) {
		if e.lock == x.Lock.Name {
			text = strings.TrimSuffix(strings.TrimSuffix(ratioText(e.ratio), "0"), ".0") + " × measured"
		}
	}
	return text
}

// marks draws the measurements of x, with their intervals.
func (m *modelled) marks(c draw.Canvas, p *plot.Plot, l *lineChart, f modelFigure, x *modelledLock, as look) {
	for i, w := range m.workers {
		v := f.measured(x, w)
		if v.N == 0 || !(v.Median > 0) {
			continue
		}
		lo, hi := l.at(c, p, i, v.Lo), l.at(c, p, i, v.Hi)
		c.StrokeLine2(draw.LineStyle{Color: as.hue.rgba(), Width: vg.Points(1.4)}, lo.X, lo.Y, hi.X, hi.Y)
		as.marker = modelShapes[0] // each lock has its own frame
		as.filled().mark(c, l.at(c, p, i, v.Median))
	}
}

// beyond shades the range where workers use more than one socket, and draws a line at the
// start of each further socket.
func (m *modelled) beyond(c draw.Canvas, p *plot.Plot) {
	trX, _ := p.Transforms(&c)
	for i, b := range m.borders() {
		if b <= p.X.Min || b >= p.X.Max {
			continue
		}
		x := trX(b)
		if i == 0 {
			c.FillPolygon(shade.rgba(), rect(x, c.Min.Y, c.Max.X, c.Max.Y))
			right := c
			right.Min.X = x
			gridlines(false)(right, p) // the shade covers the earlier gridlines
		}
		c.StrokeLine2(borderLine, x, c.Min.Y, x, c.Max.Y)
	}
}

var borderLine = draw.LineStyle{Color: axis.rgba(), Width: vg.Points(0.7), Dashes: []vg.Length{2, 2}}

func borderSample(c draw.Canvas, box vg.Rectangle) {
	c.FillPolygon(shade.rgba(), rect(box.Min.X, box.Min.Y, box.Max.X, box.Max.Y))
	c.StrokeLine2(borderLine, box.Min.X, box.Min.Y, box.Min.X, box.Max.Y)
}

// The marks of these charts.
var (
	simulatedNote = note{text: "simulated: dashed, hollow", sample: func(c draw.Canvas, box vg.Rectangle) {
		l := look{hue: blue, dash: modelDashes[0], marker: modelShapes[0], hollow: true}
		y := (box.Min.Y + box.Max.Y) / 2
		c.StrokeLine2(l.line(), box.Min.X-8, y, box.Max.X, y)
		l.mark(c, vg.Point{X: (box.Min.X - 8 + box.Max.X) / 2, Y: y})
	}}
	measuredNote = note{text: "measured here: filled", sample: func(c draw.Canvas, box vg.Rectangle) {
		l := look{hue: blue, marker: modelShapes[0]}
		l.mark(c, vg.Point{X: box.Max.X - 3, Y: (box.Min.Y + box.Max.Y) / 2})
	}}
)

// A modelChart draws one question about a model's predictions for a machine.
type modelChart struct {
	name  string
	title string // after "Simulated on MACHINE: "
	doc   string
	draw  func(m *modelled) picture

	carries bool // the page shows it; others are folded
}

const modelDoc = "Dashed line, hollow mark: simulated, the median of the seeds; band: the least and the greatest of them."

// measuredDoc explains the measured marks of a chart.
const measuredDoc = " Filled mark: measured, the median of the rounds with its interval, on the machine of the run; no line joins these."

// modelCharts lists every chart of a model in the order of the report.
var modelCharts = []modelChart{
	{"throughput", "which lock keeps its throughput as workers are added?", modelDoc, drawModelRate, true},
	{"handover", "how long does a hand-over take?", modelDoc + " From a release to the grant of another worker that waited already: the mean, where a measured one is the median.", drawModelHandover, true},
	{"misses", "how many cache misses does an acquisition take?", modelDoc + " A miss is a request to the directory, of all workers together.", drawModelMisses, false},
	{"invalidations", "how many copies does an acquisition invalidate?", modelDoc, drawModelCopies, false},
	{"socket", "what does a second socket cost?", "Hollow marks: simulated. Circle: the most workers that one socket holds; square: the fewest beyond it; triangle: the most on two sockets. Hand-overs on the socket and remote misses, per acquisition, are those with the most.", drawModelSocket, true},
}

func drawModelRate(m *modelled) picture {
	l := m.chart(modelRate, "simulated acquisitions per second (log scale)")
	l.format = numfmt.SI
	return m.picture(l, modelRate, "the highest throughput", "the lowest", func(a, b float64) int { return cmp.Compare(b, a) })
}

func drawModelHandover(m *modelled) picture {
	l := m.chart(modelHandover, "simulated time from release to grant (log scale)")
	l.format = numfmt.Nanos
	return m.picture(l, modelHandover, "the shortest hand-over", "the longest", cmp.Compare[float64])
}

func drawModelMisses(m *modelled) picture {
	return m.picture(m.chart(modelMisses, "simulated misses per acquisition (log scale)"), modelMisses, "the fewest misses per acquisition", "the most", cmp.Compare[float64])
}

func drawModelCopies(m *modelled) picture {
	return m.picture(m.chart(modelCopies, "simulated invalidated copies per acquisition (log scale)"), modelCopies, "the fewest copies to invalidate per acquisition", "the most", cmp.Compare[float64])
}

// picture returns l with an answer that names the best and the worst lock by f at the most
// workers.
func (m *modelled) picture(l *lineChart, f modelFigure, best, worst string, better func(a, b float64) int) picture {
	if len(l.lines) == 0 {
		return nothing("%s It has no such figure.", m.warning())
	}
	w := m.crowd()
	type got struct {
		name  string
		value float64
	}
	var gs []got
	for _, x := range m.locks {
		if v := f.at(x, w); v.N > 0 && !unsound(x.Lock.Status) && (v.Median > 0 || f.metric == nil) {
			gs = append(gs, got{x.Lock.Name, v.Median})
		}
	}
	slices.SortStableFunc(gs, func(a, b got) int { return better(a.value, b.value) })
	answer := m.warning()
	if len(gs) > 0 {
		answer += fmt.Sprintf(" With %s the model expects %s of %s (%s)", numfmt.Plural(w, "worker"), best, gs[0].name, f.format(gs[0].value))
		if len(gs) > 1 {
			end := gs[len(gs)-1]
			answer += fmt.Sprintf(" and %s of %s (%s)", worst, end.name, f.format(end.value))
		}
		answer += "."
	}
	if text := m.errorText(f); text != "" {
		answer += " " + text
	}
	data := source{fields: []string{f.field}, kind: "simulation"}
	if m.any(f) {
		data.metrics = append(data.metrics, f.metric)
	}
	return ofLines(l, answer, f.table(m), data)
}

// crowd returns the greatest number of workers with at least three quarters of the greatest
// number of simulated locks.
func (m *modelled) crowd() int {
	n := make([]int, len(m.workers))
	for i, w := range m.workers {
		for _, l := range m.locks {
			if l.at[w] != nil {
				n[i]++
			}
		}
	}
	most := slices.Max(n)
	for i, w := range slices.Backward(m.workers) {
		if 4*n[i] >= 3*most {
			return w
		}
	}
	return m.workers[len(m.workers)-1]
}

// A socketStep is a lock within one socket and across sockets.
type socketStep struct {
	*modelledLock
	workers []int // the most in one socket, the fewest on two, the most on two
}

// socketSteps returns the locks of m that were simulated within one socket and across two,
// sorted by loss.
func (m *modelled) socketSteps() (out []socketStep) {
	for _, l := range m.locks {
		var in, over, two int
		for _, w := range m.workers {
			switch s := l.at[w]; {
			case s == nil || m.like.Spread || w < 2:
			case m.sockets(s) == 1:
				in = w
			case m.sockets(s) == 2 && over == 0:
				over = w
			case m.sockets(s) == 2:
				two = w
			}
		}
		step := socketStep{l, []int{in, over, two}}
		if two == 0 {
			step.workers = step.workers[:2]
		}
		if in > 0 && over > 0 {
			out = append(out, step)
		}
	}
	slices.SortStableFunc(out, func(a, b socketStep) int { return cmp.Compare(a.ratio(len(a.workers)-1), b.ratio(len(b.workers)-1)) })
	return out
}

// time returns the time of an acquisition at step i.
func (x socketStep) time(i int) float64 { return x.at[x.workers[i]].PerAcquisition.Median }

// ratio returns the time at step i divided by the time within the socket.
func (x socketStep) ratio(i int) float64 { return x.time(i) / x.time(0) }

// last returns the simulation with the most workers of two sockets.
func (x socketStep) last() *harness.Simulation { return x.at[x.workers[len(x.workers)-1]] }

// cells returns the figures of x: a ratio for each step beyond the socket, the share of
// handovers within a socket, and the misses that another socket answers.
func (x socketStep) cells() (out []string) {
	for i := range x.workers[1:] {
		out = append(out, ratioText(x.ratio(i+1)))
	}
	last := x.last()
	near := numfmt.Percent(100 * last.SameSocket.Median)
	if last.SameWorker.Median >= 1 {
		near = "none at all" // no handovers, so no share
	}
	return append(out, near, numfmt.Number(last.Remote.Median))
}

func drawModelSocket(m *modelled) picture {
	xs := m.socketSteps()
	if len(xs) == 0 {
		return nothing("%s It was not simulated on both sides of the border of a socket.", m.warning())
	}
	// All rows have the same steps as the first; others are not comparable.
	xs = slices.DeleteFunc(xs, func(x socketStep) bool { return !slices.Equal(x.workers, xs[0].workers) })
	first, end := xs[0], xs[len(xs)-1]
	n := len(first.workers) - 1
	answer := fmt.Sprintf("%s With %d workers on two sockets an acquisition takes %s times as long as with %d on one with %s", m.warning(),
		first.workers[n], ratioText(first.ratio(n)), first.workers[0], first.Lock.Name)
	if len(xs) > 1 {
		answer += fmt.Sprintf(", and %s times with %s", ratioText(end.ratio(n)), end.Lock.Name)
	}
	t := table{head: titles("lock", "time within one socket", "time beyond it")}
	if n == 2 {
		t.head = append(t.head, titles("time on two sockets", "beyond over within")...)
	}
	t.head = append(t.head, titles(map[int]string{1: "beyond over within", 2: "two sockets over one"}[n], "hand-overs on the socket", "misses from another socket")...)
	for _, x := range xs {
		row := []string{x.Lock.Name}
		for i := range x.workers {
			row = append(row, numfmt.Nanos(x.time(i)))
		}
		t.rows = append(t.rows, append(row, x.cells()...))
	}
	return picture{
		answer: answer + ".", numbers: t,
		data:   source{fields: []string{"per_acquisition", "remote", "same_socket"}, kind: "simulation"},
		sketch: sketch{socketHead + vg.Length(len(xs))*rankStep + rowsFoot + 6, func(c draw.Canvas) error { drawSocketSteps(c, xs); return nil }},
	}
}

const socketHead = vg.Length(34)

// drawSocketSteps draws a row for each lock: its time within the socket and across sockets,
// and figures.
func drawSocketSteps(c draw.Canvas, xs []socketStep) {
	var left vg.Length
	lo, hi := math.Inf(1), 0.0
	for _, x := range xs {
		left = max(left, min(x.look.rowName().Width(x.Lock.Name), rowsName))
		for i := range x.workers {
			lo, hi = min(lo, x.time(i)), max(hi, x.time(i))
		}
	}
	counts := xs[0].workers
	var heads []string
	notes := []note{{text: fmt.Sprintf("simulated: %d workers, one socket", counts[0]), sample: hollowSample(0)}}
	for i, w := range counts[1:] {
		heads = append(heads, fmt.Sprintf("%d over %d", w, counts[0]))
		notes = append(notes, note{text: fmt.Sprintf("%d workers, two sockets", w), sample: hollowSample(i + 1)})
	}
	heads = append(heads, "on the socket", "remote misses")
	column := typeset(8, muted, draw.XRight, draw.YBottom).Width("remote misses") + 14
	b := c
	b.Min.X, b.Max.X = c.Min.X+left+16, c.Max.X-column*vg.Length(len(heads))-8
	b.Max.Y = c.Max.Y - socketHead
	b.Min.Y = b.Max.Y - vg.Length(len(xs))*rankStep
	drawNotes(c, notes)
	lo, hi = logRange(lo, hi)
	at := rowsScale(b, lo, hi, numfmt.Nanos, "simulated time per acquisition, all workers together (log scale)")
	cell := func(i int) vg.Length { return b.Max.X + 8 + vg.Length(i+1)*column }
	for i, h := range heads {
		c.FillText(typeset(8, muted, draw.XRight, draw.YBottom), vg.Point{X: cell(i), Y: b.Max.Y + 4}, h)
	}
	for i, x := range xs {
		y := b.Max.Y - (vg.Length(i)+0.5)*rankStep
		c.FillText(x.look.rowName(), vg.Point{X: b.Min.X - 8, Y: y + lift}, shorten(x.look.rowName(), x.Lock.Name, rowsName))
		x.dots(c, at, y)
		for k, text := range x.cells() {
			c.FillText(typeset(8.5, ink, draw.XRight, draw.YCenter), vg.Point{X: cell(k), Y: y + lift}, text)
		}
	}
}

func (x socketStep) dots(c draw.Canvas, at func(v float64) vg.Length, y vg.Length) {
	l := x.look
	l.dash = modelDashes[1]
	for i := range x.workers[1:] {
		c.StrokeLine2(l.line(), at(x.time(i)), y, at(x.time(i+1)), y)
	}
	for i := range x.workers {
		l.marker = modelShapes[i]
		l.mark(c, vg.Point{X: at(x.time(i)), Y: y})
	}
}

func hollowSample(i int) func(c draw.Canvas, box vg.Rectangle) {
	return func(c draw.Canvas, box vg.Rectangle) {
		look{hue: blue, marker: modelShapes[i], hollow: true}.mark(c, vg.Point{X: box.Max.X - 4, Y: (box.Min.Y + box.Max.Y) / 2})
	}
}
