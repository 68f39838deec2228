package chart

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/plot/vg"
	vgdraw "gonum.org/v1/plot/vg/draw"

	"locklab/harness"
	"locklab/harness/result"
	"locklab/internal/numfmt"
	"locklab/reports/draw"
)

// TimeLocal and TimeRemote draw the division of the time of a lock and of its workers, at
// the greatest number of workers at which most locks were measured.
var TimeLocal, TimeRemote = both(Chart{
	Name:  "time",
	Title: "Where does the time go?",
	Doc:   timeDoc,
	Draw:  DrawTime,
}, "Where does the time of a distributed lock go?")

const timeDoc = "Medians over the rounds of sampled means. Left, the lock: held (the section, what the lab does in it, and the time in which the holder has no processor), in hand-over from a release to the grant of another worker, or neither: free, or taken back by its owner. Beside it, the window divided by the acquisitions. Right, a worker: it holds, waits (also for a processor) or thinks. Hue: family; thin: a lock that is kept to show a bug. Most hand-over first."

// A budget is the division of the time of one lock, and of its workers, in percent.
type budget struct {
	s              *series
	turn           float64 // ns of the lock per acquisition
	held, handed   float64 // of the lock's time
	hold, waitTime float64 // of the workers' time; NaN if that is not known
	known          bool    // hold and waitTime are known
}

// rest returns the share of time when the lock is neither held nor handed over.
func (b budget) rest() float64 { return max(0, 100-b.held-b.handed) }

// timeShare returns a metric of this chart only: the share of the window that n(r) spans
// with the mean of m took.
func timeShare(m *result.Metric, n func(r *harness.Result) uint64) *result.Metric {
	return &result.Metric{Of: func(r *harness.Result) (float64, bool) {
		mean, ok := m.Of(r)
		if !ok && n(r) == 0 {
			mean, ok = 0, true // nothing took no time
		}
		share := 100 * mean * float64(n(r)) / float64(r.Elapsed)
		return min(share, 100), ok && r.Elapsed > 0 && share >= 0
	}}
}

var (
	heldShare   = timeShare(result.Hold, func(r *harness.Result) uint64 { return r.Ops })
	handedShare = ordered(timeShare(result.HandoverMean, func(r *harness.Result) uint64 { return r.Handovers }))
)

// ordered removes the figures of m from results with an unknown order of holds.
func ordered(m *result.Metric) *result.Metric {
	of := m.Of
	m.Of = func(r *harness.Result) (float64, bool) {
		if !r.Ordered() {
			return 0, false
		}
		return of(r)
	}
	return m
}

// budgets returns the budgets of the locks of g that were timed with w workers, most
// handover time first, and the names of the others.
func (g *Group) budgets(w int) (out []budget, untold []string) {
	for _, s := range g.at(w) {
		if s.Lock.Status == harness.Control {
			continue
		}
		c := s.Cells[w]
		held, handed, rate := c.Summary(heldShare), c.Summary(handedShare), c.Summary(result.Throughput)
		if held.N == 0 || handed.N == 0 || !(rate.Median > 0) || held.Median+handed.Median > 105 {
			untold = append(untold, s.Lock.Name)
			continue
		}
		b := budget{s: s, turn: 1e9 / rate.Median, held: held.Median, handed: handed.Median}
		if hold, wait := c.Summary(result.HoldShare), c.Summary(result.WaitShare); hold.N > 0 && wait.N > 0 {
			b.hold, b.waitTime, b.known = hold.Median, wait.Median, true
		}
		out = append(out, b)
	}
	slices.SortStableFunc(out, func(a, b budget) int { return cmp.Compare(b.handed, a.handed) })
	return out, untold
}

func DrawTime(g *Group) Picture {
	w := g.Crowd()
	if g.Load.Locks > 1 || g.Load.Reads > 0 {
		return nothing("Sections overlap here: the workers spread over %s or share them as readers, so the time of one lock does not add up.", numfmt.Plural(max(1, g.Load.Locks), "lock"))
	}
	bs, untold := g.budgets(w)
	if len(bs) == 0 {
		return nothing("With %s, no lock was timed well enough to divide its time.", g.unit(w))
	}
	return Picture{
		Answer:  timeAnswer(g, w, bs, untold),
		Numbers: timeTable(g),
		Data:    g.source(result.Hold, result.HandoverMean, result.Throughput, result.HoldShare, result.WaitShare),
		Picture: draw.Picture{Height: vg.Length(len(bs))*timeStep + 58, Body: func(c vgdraw.Canvas) error {
			timeBody(c, g.unit(w), bs)
			return nil
		}},
	}
}

func timeAnswer(g *Group, w int, bs []budget, untold []string) string {
	most := bs[0]
	held := slices.MaxFunc(bs, func(a, b budget) int { return cmp.Compare(a.held, b.held) })
	text := fmt.Sprintf("With %s, ", g.unit(w))
	if most.handed > 0 {
		text += fmt.Sprintf("hand-overs take %s of the time of %s, which is held %s of it. ", numfmt.Percent(most.handed), most.s.Lock.Name, numfmt.Percent(most.held))
	}
	switch {
	case held.held < 1:
		text += "No lock is held for more than 1" + numfmt.Space + "% of the time."
	case most.handed > 0 && held.s == most.s:
	case most.handed > 0:
		text += fmt.Sprintf("Held most is %s: %s, with %s in hand-overs.", held.s.Lock.Name, numfmt.Percent(held.held), numfmt.Percent(held.handed))
	default:
		text += fmt.Sprintf("%s is held most: %s of the time.", held.s.Lock.Name, numfmt.Percent(held.held))
	}
	if most.handed > 0 && len(bs) > 1 {
		n := 0
		for _, b := range bs {
			if b.handed > b.held {
				n++
			}
		}
		text += fmt.Sprintf(" %d of %s spend more time in hand-overs than held.", n, numfmt.Plural(len(bs), "lock"))
	}
	if len(untold) > 0 {
		text += fmt.Sprintf(" Not timed well enough: %s.", numfmt.List(untold, 6))
	}
	return strings.TrimSpace(text)
}

const (
	timeStep = vg.Length(15)
	timeHead = vg.Length(34)
)

type part struct {
	share   float64
	opacity uint8
}

// The tones of a bar, from useful time to overhead.
const (
	toneHeld   = 255
	toneHanded = 130
	toneWaits  = 60
)

func timeBody(c vgdraw.Canvas, unit string, bs []budget) {
	c = vgdraw.Crop(c, 0, -12, 4, 0) // room for descenders and half a label
	var left, right vg.Length
	fine := draw.Typeset(8, draw.Muted, vgdraw.XLeft, vgdraw.YCenter)
	for _, b := range bs {
		left = max(left, min(b.s.look.RowName().Width(b.s.Lock.Name), draw.Width/4)+10)
		right = max(right, fine.Width(numfmt.Nanos(b.turn))+8)
	}
	gap := vg.Length(22)
	wide := (c.Size().X - left - right - gap) / 2
	top := c.Max.Y - timeHead
	lock := c
	lock.Min.X, lock.Max.X = c.Min.X+left, c.Min.X+left+wide
	worker := c
	worker.Min.X, worker.Max.X = lock.Max.X+right+gap, c.Max.X
	barHead(lock, "the lock, "+unit, []tone{{toneHeld, "held"}, {toneHanded, "hand-over"}, {0, "neither"}})
	barHead(worker, "a worker", []tone{{toneHeld, "holds"}, {toneWaits, "waits"}, {0, "thinks"}})
	for i, b := range bs {
		y := top - (vg.Length(i)+0.5)*timeStep
		c.FillText(b.s.look.RowName(), vg.Point{X: lock.Min.X - 6, Y: y}, draw.Shorten(b.s.look.RowName(), b.s.Lock.Name, left-8))
		stack(lock, y, b.s.look.Hue, part{b.held, toneHeld}, part{b.handed, toneHanded})
		c.FillText(fine, vg.Point{X: lock.Max.X + 5, Y: y}, numfmt.Nanos(b.turn))
		if b.known {
			stack(worker, y, b.s.look.Hue, part{b.hold, toneHeld}, part{b.waitTime, toneWaits})
		} else {
			c.FillText(fine, vg.Point{X: worker.Min.X + 4, Y: y}, "too short for the clock")
		}
	}
	c.FillText(fine, vg.Point{X: lock.Max.X + 5, Y: top + 8}, "per acq.")
	bottom := top - vg.Length(len(bs))*timeStep
	for _, b := range []vgdraw.Canvas{lock, worker} {
		for _, v := range []float64{0, 25, 50, 75, 100} {
			x := b.Min.X + vg.Length(v/100)*b.Size().X
			c.StrokeLine2(vgdraw.LineStyle{Color: draw.Axis.RGBA(), Width: vg.Points(0.6)}, x, bottom, x, bottom-3)
			c.FillText(draw.Typeset(8, draw.Muted, vgdraw.XCenter, vgdraw.YTop), vg.Point{X: x, Y: bottom - 5}, fmt.Sprintf("%.0f"+numfmt.Space+"%%", v))
		}
	}
}

// stack draws parts end to end around height y; the rest up to 100 % is grey.
func stack(b vgdraw.Canvas, y vg.Length, hue draw.Token, parts ...part) {
	half := vg.Length(4.6)
	c := b
	c.FillPolygon(draw.Grid.RGBA(), draw.Rect(b.Min.X, y-half, b.Max.X, y+half))
	x := b.Min.X
	for _, p := range parts {
		to := min(b.Max.X, x+vg.Length(p.share/100)*b.Size().X)
		if to > x {
			c.FillPolygon(draw.Paper.RGBA(), draw.Rect(x, y-half, to, y+half))
			c.FillPolygon(hue.Alpha(p.opacity), draw.Rect(x, y-half, to, y+half))
		}
		x = to
	}
}

type tone struct {
	opacity uint8
	text    string
}

// barHead writes a title and the meaning of the tones over b.
func barHead(b vgdraw.Canvas, title string, swatches []tone) {
	c := b
	c.FillText(draw.Bold(draw.Typeset(9, draw.Ink, vgdraw.XLeft, vgdraw.YTop)), vg.Point{X: b.Min.X, Y: b.Max.Y}, title)
	st := draw.Typeset(8, draw.Muted, vgdraw.XLeft, vgdraw.YCenter)
	x, y := b.Min.X, b.Max.Y-timeHead+12
	for _, s := range swatches {
		colour := draw.Grid.RGBA()
		if s.opacity > 0 {
			colour = draw.Ink.Alpha(s.opacity)
		}
		c.FillPolygon(colour, draw.Rect(x, y-4, x+12, y+4))
		c.FillText(st, vg.Point{X: x + 16, Y: y}, s.text)
		x += 16 + st.Width(s.text) + 12
	}
}

func timeTable(g *Group) Table {
	t := Table{Head: slices.Concat(Titles("lock", "workers"), byUnit(result.Time), Titles("held", "hand-over", "neither"), []Piece{
		{"worker holds", result.HoldShare}, {"worker waits", result.WaitShare},
		{"mean hold", result.Hold}, {"median hand-over", result.HandoverTime}, {"mean hand-over", result.HandoverMean},
	})}
	for _, w := range g.Workers {
		bs, _ := g.budgets(w)
		for _, b := range bs {
			c := b.s.Cells[w]
			row := []string{b.s.Lock.Name, strconv.Itoa(w), numfmt.Nanos(b.turn), numfmt.Percent(b.held), numfmt.Percent(b.handed), numfmt.Percent(b.rest()), numfmt.Unknown, numfmt.Unknown}
			if b.known {
				row[6], row[7] = numfmt.Percent(b.hold), numfmt.Percent(b.waitTime)
			}
			for _, m := range []*result.Metric{result.Hold, result.HandoverTime, result.HandoverMean} {
				row = append(row, CellText(m, c.Summary(m)))
			}
			t.Rows = append(t.Rows, row)
		}
	}
	return t
}
