package chart

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"locklab/harness"
	"locklab/harness/result"
	"locklab/internal/numfmt"
	"locklab/reports/draw"
)

// TimeLocal and TimeRemote draw the division of the time of a lock and of its workers.
var TimeLocal, TimeRemote = both(Chart{
	Name:  "time",
	Title: "Where does the time go?",
	Doc:   timeDoc,
	Draw:  DrawTime,
}, "Where does the time of a distributed lock go?")

const timeDoc = "Medians over the rounds of sampled means. Left, the lock: held (the section, what the lab does in it, and the time in which the holder has no processor), in hand-over from a release to the grant of another worker, or neither: free, or taken back by its owner. Right, a worker: it holds, waits (also for a processor) or thinks. Per acq.: the window divided by the acquisitions. Hue: family; thin: a lock that is kept to show a bug. Most hand-over first."

// A budget is the division of the time of one lock, and of its workers, in percent.
type budget struct {
	s              *series
	turn           float64 // ns of the lock per acquisition
	held, handed   float64 // of the lock's time
	hold, waitTime float64 // of the workers' time; NaN if that is not known
	known          bool    // hold and waitTime are known
}

func (b budget) rest() float64 { return max(0, 100-b.held-b.handed) }

// timeShare returns the share of the window that n(r) spans with the mean of m took.
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

// budgets returns the budgets of the timed locks of g, and the names of the others.
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
		Picture: timeRows(g.unit(w), bs),
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

func timeRows(unit string, bs []budget) draw.Picture {
	percent := draw.Scaled{Hi: 100, Format: numfmt.Percent}
	r := draw.Rows{Title: "share of the time", Heads: []string{"per acq."}, Panels: []draw.Scaled{percent, percent},
		Notes: []draw.Note{draw.GlyphNote(settingMarks[0], "held, holds"), draw.GlyphNote(settingMarks[1], "hand-over, waits")}}
	r.Panels[0].Title, r.Panels[1].Title = "the lock, "+unit, "a worker"
	marks := func(a, b float64) []draw.Mark {
		return []draw.Mark{{Mid: a, Lo: a, Hi: a, Shape: settingMarks[0]}, {Mid: b, Lo: b, Hi: b, Shape: settingMarks[1]}}
	}
	for _, b := range bs {
		worker := []draw.Mark{{Mid: math.NaN(), Text: "too short for the clock"}}
		if b.known {
			worker = marks(b.hold, b.waitTime)
		}
		r.Rows = append(r.Rows, draw.Row{Name: b.s.Lock.Name, Look: b.s.look, Figures: []string{numfmt.Nanos(b.turn)},
			Marks: [][]draw.Mark{marks(b.held, b.handed), worker}})
	}
	return r.Drawn()
}

func timeTable(g *Group) Table {
	t := Table{Head: slices.Concat(Titles("lock", "workers"), []Piece{{result.Time.Unit, result.Time}}, Titles("held", "hand-over", "neither"), []Piece{
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
