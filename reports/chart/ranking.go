package chart

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"locklab/harness"
	"locklab/harness/judge"
	"locklab/harness/result"
	"locklab/internal/numfmt"
	"locklab/internal/stat"
)

// RankingLocal and RankingRemote rank the locks in the most contended situation.
var RankingLocal, RankingRemote = both(Chart{
	Name:   "ranking",
	Title:  "How do the locks rank where most workers contend?",
	Doc:    rankingDoc,
	Judged: true,
	Draw:   drawRanking,
}, "How do the distributed locks rank where most workers contend?")

const rankingDoc = "Sorted by median rate (distributed: handovers per second). " +
	"Mark: the median; bar: its 95 % order-statistic interval, or the range if there are fewer than six rounds; a point at its end: it continues. " +
	"Star: the chosen lock; box: the default of the standard library; triangle: the fastest peer. Hue: family. " +
	"Field: the tolerance around the chosen lock, or else the fastest. The decision compares rates within each round, so a mark outside the field may still be equivalent. " +
	"p99 wait: ≤ below the resolution of the clock; – too few samples."

func drawRanking(g *Group) Picture {
	r := newRanking(g)
	title := fmt.Sprintf("How do the %s rank with %s?", map[bool]string{false: "locks", true: "distributed locks"}[g.Remote], r.setting())
	if len(r.rows) == 0 {
		pic := nothing("With %s, no lock has a rate to rank it by.", r.setting())
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
	return fmt.Sprintf("With %s: %s.", r.setting(), strings.Join(parts, "; "))
}

// A ranking is the locks of a situation, sorted by median rate.
type ranking struct {
	judge.Situation
	decisions []judge.Decision
	g         *Group
	rows      []*ranked // fastest first
	notes     []string  // on locks without a row

	leader *ranked // the fastest lock of the strongest class; nil without one
}

type ranked struct {
	s    *series
	c    *Cell
	rate stat.Summary
	mark RankMark
	tag  string // the meaning of the mark in a word or two
}

// A RankMark is the shape that marks a special lock of a ranking.
type RankMark int

const (
	PlainMark RankMark = iota
	peerMark
	standardMark
	ChosenMark
)

// newRanking ranks the locks of g at the highest contention. Controls are not ranked.
func newRanking(g *Group) *ranking {
	s, _ := judge.Decisive([]*judge.Group{g.Group}, g.Remote)
	r := &ranking{Situation: s, decisions: judge.Decide(s), g: g}
	var absent, idle []string
	for _, x := range g.Locks {
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

// log reports whether the range of rates needs a log scale: on a linear one the slowest
// would lie on the frame.
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
		return l.Family == harness.Peer && !Unsound(l.Status) && l.Traits.Permits <= 1 && l.Name != r.DefaultLock()
	})
	for i, x := range r.rows {
		name := x.s.Lock.Name
		var tags []string
		if i == peer {
			x.mark, tags = peerMark, append(tags, "best peer")
		}
		if name == r.DefaultLock() {
			x.mark, tags = standardMark, append(tags, "default")
		}
		for k, d := range r.decisions {
			if k == 0 && name == d.Fastest {
				r.leader = x
			}
			switch {
			case name == d.Use && k == 0:
				x.mark, tags = ChosenMark, slices.Insert(tags, 0, "chosen")
			case name == d.Use:
				tags = append(tags, "tolerates less")
			case k == 0 && slices.Contains(d.Ties, name):
				tags = append(tags, "not slower")
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

func (r *ranking) setting() string {
	text := numfmt.Plural(r.Workers, "worker")
	if !r.g.Remote && r.g.CPUs > 0 && r.Workers > 1 {
		text += " on " + r.g.Processors()
	}
	return text
}

func (r *ranking) unit() string {
	if r.Metric() == result.Handovers {
		return "handovers"
	}
	return "acquisitions"
}

// more returns the further figures of x: p99 wait, Jain's index and requests.
func (r *ranking) more(x *ranked) []string {
	out := []string{quoted(x.c.Waits(), 0.99, r.g.Floor()), CellText(result.Jain, x.c.Summary(result.Jain))}
	if r.g.Remote {
		out = append(out, CellText(result.Requests, x.c.Summary(result.Requests)))
	}
	return out
}

func (r *ranking) table() Table {
	t := Table{Head: slices.Concat(Titles("lock", "workers", "rounds"), []Piece{{"per second", r.Metric()}}, Titles("interval", "p99 wait"), ByName(result.Jain))}
	if r.g.Remote {
		t.Head = append(t.Head, ByName(result.Requests)...)
	}
	t.Head = append(t.Head, Titles("mark")...)
	for _, x := range r.rows {
		row := []string{x.s.Lock.Name, strconv.Itoa(r.Workers), strconv.Itoa(x.rate.N), CellText(r.Metric(), x.rate), interval(x.rate, numfmt.SI)}
		t.Rows = append(t.Rows, append(append(row, r.more(x)...), cmp.Or(x.tag, numfmt.Unknown)))
	}
	return t
}

func (r *ranking) data() Source {
	s := r.g.source(r.Metric(), result.Jain)
	if r.g.Remote {
		s.Metrics = append(s.Metrics, result.Requests)
	}
	s.Fields = []string{"wait"}
	return s
}

// SettingOf describes s with its figures.
func SettingOf(s judge.Situation) string {
	return (&ranking{Situation: s, g: &Group{Group: s.Group()}}).setting() + ", " + s.Workload()
}
