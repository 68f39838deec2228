package chart

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"gonum.org/v1/plot/vg"
	vgdraw "gonum.org/v1/plot/vg/draw"

	"locklab/harness"
	"locklab/harness/result"
	"locklab/internal/numfmt"
	"locklab/reports/draw"
)

// OwnersLocal and OwnersRemote draw the owner of the lock, acquisition by acquisition, at
// the greatest number of workers at which most locks were measured.
var OwnersLocal, OwnersRemote = both(Chart{
	Name:  "owners",
	Title: "Which worker holds the lock, acquisition by acquisition?",
	Doc:   ownersDoc,
	Once:  true,
	Draw:  drawOwners,
}, "Which worker holds a distributed lock, acquisition by acquisition?")

const ownersDoc = "A row a worker, a mark where it holds the lock: the first acquisitions of the middle burst of the log of owners, of the round whose share of hand-overs is the median. The axis counts acquisitions, not time. A streak is a run of acquisitions by one worker; the longest is that of the whole log of that round, in which a streak cannot be longer than a burst. Most hand-overs first."

// mostTurns limits the acquisitions drawn.
const mostTurns = 200

type timeline struct {
	s       *series
	workers int
	owners  []uint16 // the drawn part
	streaks []streak // of owners

	round   int
	handed  float64 // share of the acquisitions of the round, 0 to 1
	longest int     // streak of the log
	cut     bool    // that streak fills a burst
	served  int     // different workers in owners
}

// A streak is a run of acquisitions by one worker.
type streak struct {
	owner    uint16
	from, to int // index of the first, and after the last
}

func streaks(owners []uint16) (out []streak) {
	for i, o := range owners {
		if n := len(out); n > 0 && out[n-1].owner == o {
			out[n-1].to = i + 1
			continue
		}
		out = append(out, streak{o, i, i + 1})
	}
	return out
}

// logged reports whether r has a log of owners that can be drawn.
func logged(r *harness.Result) bool {
	n := len(r.Workers)
	return n > 1 && n <= 4096 && r.Burst > 1 && len(r.Owners) >= r.Burst && r.Ops > 0 && int(slices.Max(r.Owners)) < n
}

// timelineOf returns the timeline of c, or nil if it has no log of owners.
func timelineOf(c *Cell, s *series) *timeline {
	var rounds []*harness.Result
	for _, i := range c.Order() {
		if r := c.Rounds[i]; logged(r) {
			rounds = append(rounds, r)
		}
	}
	if len(rounds) == 0 {
		return nil
	}
	share := func(r *harness.Result) float64 { return min(1, float64(r.Handovers)/float64(r.Ops)) }
	slices.SortStableFunc(rounds, func(a, b *harness.Result) int { return cmp.Compare(share(a), share(b)) })
	r := rounds[(len(rounds)-1)/2]
	middle := len(r.Owners) / r.Burst / 2 * r.Burst
	if middle+r.Burst > len(r.Owners) {
		middle = 0
	}
	t := &timeline{s: s, workers: len(r.Workers), round: r.Round, handed: share(r), owners: r.Owners[middle : middle+min(mostTurns, r.Burst)]}
	t.streaks = streaks(t.owners)
	for b := range slices.Chunk(r.Owners, r.Burst) {
		for _, k := range streaks(b) {
			t.longest = max(t.longest, k.to-k.from)
		}
	}
	t.cut = t.longest >= r.Burst
	seen := make(map[uint16]bool)
	for _, o := range t.owners {
		seen[o] = true
	}
	t.served = len(seen)
	return t
}

func drawOwners(g *Group) Picture {
	w := g.Crowd()
	var ts []*timeline
	for _, s := range g.at(w) {
		if s.Lock.Status == harness.Control {
			continue
		}
		if t := timelineOf(s.Cells[w], s); t != nil {
			ts = append(ts, t)
		}
	}
	if len(ts) == 0 {
		return nothing("With %s, no lock of this run has a log of two or more owners.", g.unit(w))
	}
	slices.SortStableFunc(ts, func(a, b *timeline) int { return cmp.Compare(b.handed, a.handed) })
	l := newStrips(ts)
	return Picture{
		Answer:  ownersAnswer(g, w, ts),
		Numbers: ownersTable(g, w, ts),
		Data:    g.fields("owners", "handovers", "ops"),
		Picture: draw.Picture{Height: l.height(), Body: func(c vgdraw.Canvas) error {
			l.draw(c, g.unit(w))
			return nil
		}},
	}
}

func ownersAnswer(g *Group, w int, ts []*timeline) string {
	says := func(t *timeline) string {
		return fmt.Sprintf("%s changes hands in %s of its acquisitions, and %d in a row serve %d of %s",
			t.s.Lock.Name, numfmt.Percent(100*t.handed), len(t.owners), t.served, g.unit(w))
	}
	most, least := ts[0], ts[len(ts)-1]
	text := says(most)
	if most != least {
		text += "; " + says(least)
	}
	longest := slices.MaxFunc(ts, func(a, b *timeline) int { return cmp.Compare(a.longest, b.longest) })
	full := 0
	for _, t := range ts {
		if t.cut {
			full++
		}
	}
	if full > 1 {
		return fmt.Sprintf("%s. In %d of %s, one worker fills a whole burst of the log (%d acquisitions or fewer).", text, full, numfmt.Plural(len(ts), "lock"), longest.longest)
	}
	return fmt.Sprintf("%s. The longest streak is one of %s: %s acquisitions.", text, longest.s.Lock.Name, longest.streak())
}

// streak formats the longest streak.
func (t *timeline) streak() string {
	if t.cut {
		return "≥" + numfmt.Space + strconv.Itoa(t.longest)
	}
	return strconv.Itoa(t.longest)
}

// Strips are timelines, one per lock, in one column or two.
type strips struct {
	ts      []*timeline
	columns int
	turns   int       // acquisitions that the axis has room for
	row     vg.Length // height of a worker's row
	strip   vg.Length // height of the rows of a lock
}

const (
	stripHead = vg.Length(15) // name and figures over the rows
	stripGap  = vg.Length(7)
	stripSide = vg.Length(20) // between the columns
	stripTop  = vg.Length(16)
	stripFoot = vg.Length(34)
)

func newStrips(ts []*timeline) strips {
	l := strips{ts: ts, columns: 1}
	if len(ts) > 3 {
		l.columns = 2
	}
	workers := 0
	for _, t := range ts {
		workers, l.turns = max(workers, t.workers), max(l.turns, len(t.owners))
	}
	l.row = min(7, 48/vg.Length(workers))
	l.strip = l.row * vg.Length(workers)
	return l
}

func (l strips) rows() int { return (len(l.ts) + l.columns - 1) / l.columns }

func (l strips) height() vg.Length {
	return stripTop + vg.Length(l.rows())*(stripHead+l.strip+stripGap) + stripFoot
}

func (l strips) draw(c vgdraw.Canvas, unit string) {
	c = vgdraw.Crop(c, 0, 0, 4, 0) // room for descenders
	c.FillText(draw.Typeset(9, draw.Ink, vgdraw.XLeft, vgdraw.YTop), c.Min.Add(vg.Point{Y: c.Size().Y}), "workers, from the first (top) to the last: a row each, of "+unit)
	const side = 12 // half of the widest label of the axis
	n := vg.Length(l.columns)
	wide := (c.Size().X - side - stripSide*(n-1)) / n
	for i, t := range l.ts {
		col, row := i/l.rows(), i%l.rows()
		b := c
		b.Min.X = c.Min.X + vg.Length(col)*(wide+stripSide)
		b.Max.X = b.Min.X + wide
		b.Max.Y = c.Max.Y - stripTop - vg.Length(row)*(stripHead+l.strip+stripGap) - stripHead
		b.Min.Y = b.Max.Y - l.strip
		l.lock(b, t)
		if row == l.rows()-1 || i == len(l.ts)-1 {
			l.scale(b)
		}
	}
	c.FillText(draw.Typeset(9, draw.Ink, vgdraw.XCenter, vgdraw.YBottom), vg.Point{X: c.Center().X, Y: c.Min.Y}, "acquisitions, in order")
}

func (l strips) lock(b vgdraw.Canvas, t *timeline) {
	c := b
	right := draw.Typeset(7.5, draw.Muted, vgdraw.XRight, vgdraw.YBottom)
	text := fmt.Sprintf("handed over %s · longest streak %s · %d of %d served", numfmt.Percent(100*t.handed), t.streak(), t.served, t.workers)
	name := t.s.look.RowName()
	name.XAlign, name.YAlign = vgdraw.XLeft, vgdraw.YBottom
	c.FillText(name, vg.Point{X: b.Min.X, Y: b.Max.Y + 3}, draw.Shorten(name, t.s.Lock.Name, b.Size().X-right.Width(text)-6))
	c.FillText(right, vg.Point{X: b.Max.X, Y: b.Max.Y + 3}, text)
	x := func(i int) vg.Length { return b.Min.X + b.Size().X*vg.Length(i)/vg.Length(l.turns) }
	c.FillPolygon(draw.Shade.RGBA(), draw.Rect(b.Min.X, b.Max.Y-l.row*vg.Length(t.workers), x(len(t.owners)), b.Max.Y))
	// All streaks are one path: a page holds thousands of them.
	var path vg.Path
	for _, k := range t.streaks {
		y := b.Max.Y - (vg.Length(k.owner)+0.5)*l.row
		path.Move(vg.Point{X: x(k.from), Y: y})
		path.Line(vg.Point{X: x(k.to), Y: y})
	}
	c.SetLineStyle(vgdraw.LineStyle{Color: t.s.look.Hue.RGBA(), Width: max(l.row*0.9, 0.8)})
	c.Stroke(path)
}

func (l strips) scale(b vgdraw.Canvas) {
	c := b
	st := draw.Typeset(8, draw.Muted, vgdraw.XCenter, vgdraw.YTop)
	y := b.Min.Y - 2
	c.StrokeLine2(vgdraw.LineStyle{Color: draw.Axis.RGBA(), Width: vg.Points(0.6)}, b.Min.X, y, b.Max.X, y)
	for _, t := range draw.LinearTicks(0, float64(l.turns), numfmt.Number) {
		x := b.Min.X + b.Size().X*vg.Length(t.Value/float64(l.turns))
		c.StrokeLine2(vgdraw.LineStyle{Color: draw.Axis.RGBA(), Width: vg.Points(0.6)}, x, y, x, y-3)
		if t.Value == 0 {
			st.XAlign = vgdraw.XLeft
		}
		c.FillText(st, vg.Point{X: x, Y: y - 5}, t.Label)
		st.XAlign = vgdraw.XCenter
	}
}

func ownersTable(g *Group, w int, ts []*timeline) Table {
	columns := []*result.Metric{result.StreakP50, result.StreakP99, result.GapP99}
	t := Table{Head: append(Titles("lock", "workers", "round drawn", "handed over", "served in those drawn", "streaks drawn", "longest streak"), ByName(columns...)...)}
	for _, x := range ts {
		row := []string{x.s.Lock.Name, strconv.Itoa(x.workers), strconv.Itoa(x.round + 1), numfmt.Percent(100 * x.handed),
			strconv.Itoa(x.served), strconv.Itoa(len(x.streaks)), x.streak()}
		for _, m := range columns {
			row = append(row, CellText(m, x.s.Cells[w].Summary(m)))
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}
