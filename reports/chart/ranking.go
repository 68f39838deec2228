package chart

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	vgdraw "gonum.org/v1/plot/vg/draw"

	"locklab/harness"
	"locklab/harness/judge"
	"locklab/harness/result"
	"locklab/internal/numfmt"
	"locklab/internal/stat"
	"locklab/reports/draw"
)

// RankingLocal and RankingRemote rank the locks in the most contended situation.
var RankingLocal, RankingRemote = both(Chart{
	Name:   "ranking",
	Title:  "How do the locks rank with the most workers?",
	Doc:    rankingDoc,
	Judged: true,
	Draw:   drawRanking,
	Guard:  few(2, "lock"),
}, "How do the distributed locks rank with the most workers?")

const rankingDoc = "Sorted by median rate (distributed: handovers per second). " +
	"Mark: the median; bar: its 95 % order-statistic interval, or the range if there are fewer than six rounds; a point at its end: it continues. " +
	"Star: the chosen lock; box: the default of the standard library; triangle: the fastest peer. Hue: family. " +
	"Field: the tolerance around the chosen lock, or else the fastest. The decision compares rates within each round, so a mark outside the field may still be equivalent. " +
	"Waiting: p99 of the wait of a worker at a random moment of its waiting; ~ depends on few waits; ≤ below the resolution of the clock; – too few samples. Longest: the longest time of a worker without the lock."

func drawRanking(g *Group) Picture {
	r := newRanking(g)
	title := fmt.Sprintf("How do the %s rank with %s?", map[bool]string{false: "locks", true: "distributed locks"}[g.Remote], settingOf(r.Situation))
	if len(r.rows) == 0 {
		pic := nothing("With %s, no lock has a rate to rank it by.", settingOf(r.Situation))
		pic.Title = title
		return pic
	}
	return Picture{
		Title:   title,
		Answer:  r.answer(),
		Numbers: r.table(),
		Data:    r.data(),
		Picture: r.drawn(),
	}
}

func (r *ranking) answer() string {
	var parts []string
	for _, d := range r.decisions {
		text := Why(d)
		if d.Use != "" {
			text = d.Use + ", " + text
		}
		parts = append(parts, text)
	}
	return fmt.Sprintf("With %s: %s.", settingOf(r.Situation), strings.Join(parts, "; "))
}

// A ranking is the locks of a situation, sorted by median rate.
type ranking struct {
	judge.Situation
	decisions []judge.Decision
	first     judge.Decision // of these
	g         *Group
	rows      []*ranked // fastest first
	notes     []string  // on locks without a row
}

type ranked struct {
	s     *judge.Series
	c     *Cell
	rate  stat.Summary
	tag   string             // the reason for a mark in a word or two
	shape vgdraw.GlyphDrawer // of the mark; nil for a plain one
}

// newRanking ranks the locks of g at the highest contention. Controls are not ranked.
func newRanking(g *Group) *ranking {
	s, _ := judge.Decisive([]*judge.Group{g.Group}, g.Remote)
	r := &ranking{Situation: s, decisions: judge.Decide(s), g: g}
	if len(r.decisions) > 0 {
		r.first = r.decisions[0]
	}
	var absent, idle []string
	for _, x := range g.Series {
		c := x.Cells[s.Workers]
		if x.Lock.Status == harness.Control {
			continue
		}
		if c == nil {
			absent = append(absent, x.Lock.Name)
			continue
		}
		row := &ranked{s: x, c: c, rate: c.Summary(s.Metric())}
		if row.rate.N == 0 || !(row.rate.Median >= 0) || math.IsInf(row.rate.Median, 0) {
			idle = append(idle, x.Lock.Name)
			continue
		}
		r.rows = append(r.rows, row)
	}
	slices.SortStableFunc(r.rows, func(a, b *ranked) int {
		return cmp.Or(cmp.Compare(b.rate.Median, a.rate.Median), strings.Compare(a.s.Lock.Name, b.s.Lock.Name))
	})
	r.setMarks()
	r.note("broke a promise in this run", offenders(g))
	r.note("have no rate with "+numfmt.Plural(s.Workers, "worker"), idle)
	r.note("were not measured with "+numfmt.Plural(s.Workers, "worker"), absent)
	return r
}

// log: on a linear scale the slowest would lie on the frame.
func (r *ranking) log() bool {
	for _, x := range slices.Backward(r.rows) {
		if x.rate.Median > 0 {
			return r.rows[0].rate.Median > 10*x.rate.Median
		}
	}
	return false
}

func (r *ranking) setMarks() {
	peer := slices.IndexFunc(r.rows, func(x *ranked) bool {
		l := x.s.Lock
		return l.Family == harness.Peer && l.Status.Competes() && l.Traits.Permits <= 1 && l.Name != r.DefaultLock()
	})
	for i, x := range r.rows {
		name := x.s.Lock.Name
		weaker := func(d judge.Decision) bool { return d.Use == name && name != r.first.Use }
		var tags []string
		for _, m := range []struct {
			is    bool
			tag   string
			shape vgdraw.GlyphDrawer
		}{
			{name == r.first.Use, "chosen", draw.Star{}},
			{name == r.DefaultLock(), "default", vgdraw.BoxGlyph{}},
			{i == peer, "best peer", vgdraw.PyramidGlyph{}},
			{slices.Contains(r.first.Ties, name), "not significantly slower", nil},
			{slices.Contains(r.first.Dearer, name), "faster at a higher price", nil},
			{slices.ContainsFunc(r.decisions, weaker), "tolerates less", nil},
		} {
			if m.is {
				tags = append(tags, m.tag)
			}
			if m.is && x.shape == nil {
				x.shape = m.shape
			}
		}
		x.tag = strings.Join(tags, ", ")
	}
}

func (r *ranking) note(why string, names []string) {
	if len(names) > 0 {
		slices.Sort(names)
		r.notes = append(r.notes, "Not ranked, since they "+why+": "+numfmt.List(names, 12)+".")
	}
}

func offenders(g *Group) (out []string) {
	for name, bad := range judge.Violations(g.Run) {
		if remote := bad[0].Lock.Traits.Needs != ""; remote == g.Remote {
			out = append(out, name+" ("+bad[0].Violations[0].Rule+")")
		}
	}
	return out
}

func settingOf(s judge.Situation) string {
	text := numfmt.Plural(s.Workers, "worker")
	if g := s.Group(); g != nil && !g.Remote && g.CPUs > 0 && s.Workers > 1 {
		text += " on " + g.Processors()
	}
	return text
}

func (r *ranking) more(x *ranked) []string {
	out := []string{r.g.momentText(x.s, x.c), longestText(x.s, x.c), CellText(result.Jain, x.c.Summary(result.Jain))}
	if r.g.Remote {
		out = append(out, CellText(result.Requests, x.c.Summary(result.Requests)))
	}
	return out
}

func (r *ranking) table() Table {
	t := Table{Head: slices.Concat(Titles("lock", "workers", "rounds"), []Heading{{"per second", r.Metric()}}, Titles("interval", "waiting", "longest"), ByName(result.Jain))}
	if r.g.Remote {
		t.Head = append(t.Head, ByName(result.Requests)...)
	}
	t.Head = append(t.Head, Titles("p99 wait", "mark")...)
	for _, x := range r.rows {
		row := []string{x.s.Lock.Name, strconv.Itoa(r.Workers), strconv.Itoa(x.rate.N), CellText(r.Metric(), x.rate), interval(x.rate, FormatUnit(r.Metric().Unit))}
		t.Rows = append(t.Rows, append(append(row, r.more(x)...), quoted(x.c.Waits(), 0.99, r.g.Floor()), cmp.Or(x.tag, numfmt.Unknown)))
	}
	return t
}

func (r *ranking) data() Source {
	s := r.g.source(r.Metric(), result.Jain, result.Unserved)
	if r.g.Remote {
		s.Metrics = append(s.Metrics, result.Requests)
	}
	s.Fields = []string{"wait"}
	return s
}

// SettingOf describes s with its figures.
func SettingOf(s judge.Situation) string { return settingOf(s) + ", " + s.Workload() }

func (r *ranking) drawn() draw.Picture {
	out := draw.Rows{Title: "acquisitions per second, all workers together", Foot: r.notes, Heads: []string{"rate", "waiting", "longest", "Jain"},
		Notes: []draw.Note{draw.GlyphNote(vgdraw.CircleGlyph{}, "median and its interval")}}
	if r.Metric() == result.Handovers {
		out.Title, out.Heads[0] = "handovers per second, all workers together", "handovers"
	}
	if r.g.Remote {
		out.Heads = append(out.Heads, "requests")
	}
	if r.log() {
		out.Title += " (log scale: they differ more than tenfold)"
	}
	for _, x := range r.rows {
		name := x.s.Lock.Name
		m := draw.Mark{Mid: x.rate.Median, Lo: x.rate.Lo, Hi: x.rate.Hi}
		if x.shape != nil {
			m.Shape, m.Radius = x.shape, 3.6
		}
		out.Rows = append(out.Rows, draw.Row{Tag: x.tag, Name: name, Style: styleOf(x.s.Lock), Strong: name == r.first.Use, Sign: x.shape,
			Marks: []draw.Mark{m}, Figures: append([]string{numfmt.PerSecond(x.rate.Median)}, r.more(x)...)})
		if name == cmp.Or(r.first.Use, r.first.Fastest) && x.rate.Median > 0 {
			tolerance := r.g.Run.Manifest.ToleranceOrDefault()
			out.Scale.Band = [2]float64{x.rate.Median / (1 + tolerance), x.rate.Median * (1 + tolerance)}
			out.Notes = append(out.Notes, draw.Note{Colour: draw.Warm, Text: fmt.Sprintf("within %s of %s", numfmt.Percent(100*tolerance), Short(name, 24))})
		}
	}
	out.Fit(r.log(), numfmt.SI)
	return out.Drawn()
}
