package reports

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"locklab/harness"
	"locklab/harness/verdict"
	"locklab/internal/numfmt"
)

// BestLocal and BestRemote draw which lock the verdict names for each number of
// workers and each hold time.
var (
	BestLocal = &Chart{
		Name:     "best",
		carries:  true,
		Title:    "Which lock is best for how many workers and how long a section?",
		Doc:      bestDoc,
		varies:   byHold,
		optional: true, // the chart of the hold time says that it was not varied
		draw:     drawBest,
	}
	BestRemote = &Chart{
		Name:     "best-distributed",
		Title:    "Which distributed lock is best for how many workers and how long a section?",
		Doc:      bestDoc,
		Remote:   true,
		varies:   byHold,
		optional: true, // the chart of the hold time says that it was not varied
		draw:     drawBest,
	}
)

const bestDoc = "A cell is a verdict by the rule of the table at the top, which chooses among the locks meant for use. A name in bold: that lock is faster than every other candidate by more than the margin, beyond chance. Not proven: each of the others is slower or seems to be. Tie: none of the locks that are named is shown to be slower than another by more than the margin; the table takes the first one. No verdict: the rounds are too few or too noisy to say even that. The intervals hold at 95 % for all pairs of a cell together, not for all cells. Hue: family of the first lock."

// A choice is one cell.
type choice struct {
	workers, setting int
	verdict.Verdict
	family harness.Family // of the lock to use
}

// sure reports whether one lock wins alone.
func (c choice) sure() bool { return c.Grade == verdict.Clear }

// A bestMap is the choices over workers and hold times.
type bestMap struct {
	*sweep
	columns []int      // numbers of workers
	cells   [][]choice // by setting and column; Why is "" where nothing was measured
}

func drawBest(g *group) picture {
	s := byHold.sweep(g)
	if s == nil {
		return nothing("This run has one value of %s only; a run with %s shows where another lock is best.", byHold.name, byHold.flag)
	}
	m := newBestMap(s)
	return picture{
		answer:  m.answer(),
		load:    cmp.Or(s.context, "all else at its default"),
		height:  vg.Length(len(s.settings))*m.cellHigh() + 62,
		numbers: m.table(),
		data:    m.source(m.columns...),
		body: func(c draw.Canvas) error {
			m.draw(c)
			return nil
		},
	}
}

// mostBestColumns is how many numbers of workers a map has room for.
const mostBestColumns = 8

func newBestMap(s *sweep) *bestMap {
	m := &bestMap{sweep: s}
	for _, g := range s.groups {
		for _, w := range g.Workers {
			if i, ok := slices.BinarySearch(m.columns, w); !ok {
				m.columns = slices.Insert(m.columns, i, w)
			}
		}
	}
	for len(m.columns) > mostBestColumns { // keep the least and the most
		i := len(m.columns) / 2
		m.columns = slices.Delete(m.columns, i, i+1)
	}
	for i, g := range s.groups {
		row := make([]choice, len(m.columns))
		for k, w := range m.columns {
			row[k] = choice{workers: w, setting: i}
			if len(g.at(w)) > 0 {
				row[k].Verdict = verdict.Judge(verdict.SituationOf(g.Group, w))
			}
			for _, x := range g.at(w) {
				if x.Lock.Name == row[k].Use {
					row[k].family = x.Lock.Family
				}
			}
		}
		m.cells = append(m.cells, row)
	}
	return m
}

// all returns the cells with data.
func (m *bestMap) choices() (out []choice) {
	for _, row := range m.cells {
		for _, c := range row {
			if c.Why != "" {
				out = append(out, c)
			}
		}
	}
	return out
}

func (m *bestMap) answer() string {
	all := m.choices()
	wins := make(map[string]int)
	ties, open, likely, single := 0, 0, 0, 0
	for _, c := range all {
		switch {
		case c.sure():
			wins[c.Use]++
		case c.Grade == verdict.Only:
			single++
		case c.Grade == verdict.Likely:
			likely++
		case c.Use != "":
			ties++
		default:
			open++
		}
	}
	var names []string
	for n := range wins {
		names = append(names, n)
	}
	slices.SortFunc(names, func(a, b string) int {
		if wins[a] != wins[b] {
			return wins[b] - wins[a]
		}
		return strings.Compare(a, b)
	})
	for i, n := range names {
		names[i] = fmt.Sprintf("%s (%d)", n, wins[n])
	}
	total := numfmt.Plural(len(all), "cell")
	var parts []string
	if len(names) > 0 {
		sum := len(all) - ties - open - likely - single
		parts = append(parts, fmt.Sprintf("In %d of %s one lock is faster than every other candidate by more than the margin: %s.", sum, total, numfmt.List(names, 5)))
	} else {
		parts = append(parts, fmt.Sprintf("In none of %s is one lock faster than every other candidate by more than the margin.", total))
	}
	if likely > 0 {
		parts = append(parts, fmt.Sprintf("%d %s a winner that is not proven.", likely, numfmt.Choose(likely, "has", "have")))
	}
	if single > 0 {
		parts = append(parts, fmt.Sprintf("%d %s one candidate.", single, numfmt.Choose(single, "has", "have")))
	}
	if ties > 0 {
		parts = append(parts, fmt.Sprintf("%d %s a tie.", ties, numfmt.Choose(ties, "is", "are")))
	}
	if open > 0 {
		parts = append(parts, fmt.Sprintf("%d %s no verdict.", open, numfmt.Choose(open, "has", "have")))
	}
	return strings.Join(parts, " ")
}

const bestLine = vg.Length(11)

// tiesShown is how many locks of a tie a cell names.
const tiesShown = 3

// lines returns the words of c: the first is its head.
func (c choice) lines() (head string, rest []string) {
	switch {
	case c.Why == "":
		return "", nil
	case c.sure():
		return c.Use, []string{c.Rate}
	case c.Grade == verdict.Only:
		return c.Use, []string{c.Rate, map[bool]string{true: "the only candidate", false: "compared with no other"}[c.Recommends()]}
	case c.Grade == verdict.Likely:
		return c.Use, []string{c.Rate, "not proven"}
	case c.Use != "":
		rest = append([]string{c.Use}, c.Ties()...)
		if n := len(rest); n > tiesShown {
			rest = append(rest[:tiesShown-1:tiesShown-1], fmt.Sprintf("and %d more", n-tiesShown+1))
		}
		return "tie of " + strconv.Itoa(len(c.Ties())+1), rest
	}
	why := strings.TrimPrefix(c.Why, "no verdict: ")
	if i := strings.IndexAny(why, ".,;"); i > 0 {
		why = why[:i]
	}
	return "no verdict", []string{why}
}

func (m *bestMap) cellHigh() vg.Length {
	most := 1
	for _, c := range m.choices() {
		_, rest := c.lines()
		most = max(most, len(rest))
	}
	return vg.Length(most+1)*bestLine + 10
}

func (m *bestMap) draw(c draw.Canvas) {
	c = draw.Crop(c, 0, 0, 4, 0) // room for descenders
	st := typeset(9, ink, draw.XLeft, draw.YTop)
	c.FillText(st, vg.Point{X: c.Min.X, Y: c.Max.Y}, strings.TrimPrefix(m.name, "the ")+", longest first")
	side := typeset(9, muted, draw.XRight, draw.YCenter)
	var left vg.Length
	for _, v := range m.settings {
		left = max(left, side.Width(v.label)+8)
	}
	b := c
	b.Min.X += left
	b.Max.Y -= 18
	wide, high := b.Size().X/vg.Length(len(m.columns)), m.cellHigh()
	for i, row := range m.cells {
		y := b.Max.Y - vg.Length(len(m.cells)-i)*high // of the bottom
		c.FillText(side, vg.Point{X: b.Min.X - 6, Y: y + high/2}, m.settings[i].label)
		for k, cell := range row {
			cell.draw(c, rect(b.Min.X+vg.Length(k)*wide+1, y+1, b.Min.X+vg.Length(k+1)*wide-1, y+high-1))
		}
	}
	y := b.Max.Y - vg.Length(len(m.cells))*high
	over := vg.Length(-1)
	for k, w := range m.columns {
		x := b.Min.X + (vg.Length(k)+0.5)*wide
		c.FillText(typeset(9, muted, draw.XCenter, draw.YTop), vg.Point{X: x, Y: y - 4}, strconv.Itoa(w))
		if !m.remote && m.cpus > 0 && w > m.cpus && over < 0 {
			over = x - wide/2
		}
	}
	title := "workers contending for one lock"
	c.FillText(typeset(9, ink, draw.XCenter, draw.YBottom), vg.Point{X: b.Center().X, Y: c.Min.Y}, title)
	if over >= 0 {
		c.StrokeLine2(draw.LineStyle{Color: muted.rgba(), Width: vg.Points(1), Dashes: []vg.Length{3, 2}}, over, y-16, over, b.Max.Y)
		st := typeset(7.5, muted, draw.XLeft, draw.YTop)
		c.FillText(st, vg.Point{X: over + 4, Y: y - 17}, fmt.Sprintf("more workers than CPUs (%d)", m.cpus))
	}
}

// draw draws the cell into box.
func (c choice) draw(to draw.Canvas, box []vg.Point) {
	head, rest := c.lines()
	back := shade.rgba()
	if hue, ok := hues[c.family]; ok && c.sure() {
		back = hue.alpha(70)
	} else if ok {
		back = hue.alpha(22)
	}
	to.FillPolygon(paper.rgba(), box)
	to.FillPolygon(back, box)
	mid, wide := (box[0].X+box[1].X)/2, box[1].X-box[0].X-6
	st := typeset(8.5, muted, draw.XCenter, draw.YCenter)
	if c.sure() {
		st = bold(typeset(9, ink, draw.XCenter, draw.YCenter))
	}
	if c.Why == "" {
		head = "not measured"
	}
	y := (box[0].Y+box[2].Y)/2 + vg.Length(len(rest))*bestLine/2
	to.FillText(st, vg.Point{X: mid, Y: y}, shorten(st, head, wide))
	st = typeset(8, ink, draw.XCenter, draw.YCenter)
	for _, l := range rest {
		y -= bestLine
		to.FillText(st, vg.Point{X: mid, Y: y}, shorten(st, l, wide))
	}
}

func (m *bestMap) table() table {
	t := table{head: titles("hold", "workers", "use", "ties", "rate", "how sure")}
	for _, c := range m.choices() {
		use, ties := c.Use, strings.Join(c.Ties(), ", ")
		if use == "" {
			use = "no verdict"
		}
		if ties == "" {
			ties = unknown
		}
		t.rows = append(t.rows, []string{m.settings[c.setting].label, strconv.Itoa(c.workers), use, ties, c.Rate, c.Why})
	}
	return t
}
