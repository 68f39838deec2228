package chart

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	vgdraw "gonum.org/v1/plot/vg/draw"

	"locklab/harness"
	"locklab/harness/result"
	"locklab/internal/numfmt"
	"locklab/internal/stat"
	"locklab/reports/draw"
)

// RoundTripsRemote draws the time of a turn in units of a bare request to the same server
// in the same window. It shows the cost of the protocol separately from network and server.
var RoundTripsRemote = &Chart{
	Name:     "roundtrips-distributed",
	Title:    "How many round trips to its server does a turn of a distributed lock take?",
	Doc:      lineDoc + " Turn: from one hand-over to the next, hold and think time included; with one worker, from one acquisition to the next. Round trip: a request that does nothing and its answer (PING to Redis, exists of / to ZooKeeper, which answers a write later) by one connection of its own, right before and right after each window. Dashed: one round trip.",
	Remote:   true,
	Optional: true,
	Draw:     drawRoundTrips,
}

func drawRoundTrips(g *Group) Picture {
	l := workersChart(g, result.TurnRoundTrips, draw.LogScale)
	l.Format, l.Figure, l.YTitle = numfmt.SI, numfmt.SI, "round trips per turn of the lock (log scale)"
	if len(l.Lines) == 0 {
		return nothing("No turn of a lock was measured in round trips to its server.")
	}
	l.Least, l.Under = 1, oneTrip
	return ofLines(l, roundTripsAnswer(g), roundTripsTable(g), g.source(result.TurnRoundTrips))
}

// oneTrip marks the cost of a lock that sends one request per turn and never waits.
func oneTrip(c vgdraw.Canvas, p *plot.Plot) {
	if p.Y.Min > 1 || p.Y.Max < 1 {
		return
	}
	_, trY := p.Transforms(&c)
	y := trY(1)
	c.StrokeLine2(vgdraw.LineStyle{Color: draw.Muted.RGBA(), Width: vg.Points(0.8), Dashes: []vg.Length{2, 2}}, c.Min.X, y, c.Max.X, y)
	if c.Size().X > draw.Width/3 { // a small frame has no room for words
		c.FillText(draw.Typeset(7.5, draw.Muted, vgdraw.XLeft, vgdraw.YBottom), vg.Point{X: c.Min.X + 4, Y: y + 2}, "one bare round trip")
	}
}

var serverNames = map[string]string{harness.KindRedis: "Redis", harness.KindZooKeeper: "ZooKeeper"}

func (g *Group) servers() (kinds []string) {
	for _, s := range g.Locks {
		if kind := s.Lock.Traits.Needs; !slices.Contains(kinds, kind) {
			kinds = append(kinds, kind)
		}
	}
	slices.Sort(kinds)
	return kinds
}

// roundTripsAnswer gives the round trip to each kind of server, and the round trips per
// turn of its busiest lock.
func roundTripsAnswer(g *Group) string {
	w := g.Crowd()
	best, of := "handed over", " of them"
	if w == 1 {
		best = "taken"
	}
	var trips, turns []string
	for _, kind := range g.servers() {
		trip, name := g.roundTrip(kind), cmp.Or(serverNames[kind], kind)
		if trip.N == 0 {
			continue
		}
		what := "interval"
		if trip.Confidence < 0.95 {
			what = "range"
		}
		trips = append(trips, fmt.Sprintf("%s to %s (%s %s to %s)", numfmt.Nanos(trip.Median), name, what, numfmt.Nanos(trip.Lo), numfmt.Nanos(trip.Hi)))
		if s := g.busiest(kind, w); s != nil {
			lock := s.Lock.Name
			if h := s.Cells[w].Summary(result.HandoverRoundTrips); h.N > 0 {
				lock += ", a hand-over " + CellText(result.HandoverRoundTrips, h)
			}
			turns = append(turns, fmt.Sprintf("%s%s on %s (%s)", numfmt.SI(s.Cells[w].Summary(result.TurnRoundTrips).Median), of, name, lock))
			of = ""
		}
	}
	text := "A bare round trip takes " + numfmt.List(trips, len(trips)) + "."
	if len(turns) > 0 {
		text += fmt.Sprintf(" With %s, a turn of the lock %s most often takes %s.", g.unit(w), best, numfmt.List(turns, len(turns)))
	}
	return text
}

// roundTrip returns the round trip to the servers of a kind: the median over the rounds of
// each round's median over the cases. Cases of one round share its network conditions.
func (g *Group) roundTrip(kind string) stat.Summary {
	rounds := make(map[int][]float64)
	for _, s := range g.Locks {
		if s.Lock.Traits.Needs != kind {
			continue
		}
		for _, c := range s.Cells {
			for i, r := range c.Rounds {
				if v, ok := result.RoundTrip.Of(r); ok {
					rounds[i] = append(rounds[i], v)
				}
			}
		}
	}
	var medians []float64
	for _, vs := range rounds {
		medians = append(medians, stat.Summarize(vs).Median)
	}
	return stat.Summarize(medians)
}

// busiest returns the lock on a kind of server with the most handovers per second at w
// workers (acquisitions for one worker), among locks with turns in round trips. It returns
// nil without one. The lock with the fewest round trips can differ, because each round
// divides by its own round trip.
func (g *Group) busiest(kind string, w int) *series {
	rate := result.Handovers
	if w == 1 {
		rate = result.Throughput
	}
	mine := slices.DeleteFunc(g.at(w), func(s *series) bool {
		return s.Lock.Traits.Needs != kind || s.Lock.Status == harness.Control || s.Cells[w].Summary(result.TurnRoundTrips).N == 0
	})
	if len(mine) == 0 {
		return nil
	}
	return slices.MaxFunc(mine, func(a, b *series) int {
		return cmp.Compare(a.Cells[w].Summary(rate).Median, b.Cells[w].Summary(rate).Median)
	})
}

func roundTripsTable(g *Group) Table {
	sure := []*result.Metric{result.RoundTrip, result.TurnRoundTrips, result.HandoverRoundTrips} // with intervals
	waits := []*result.Metric{result.P50RoundTrips, result.P99RoundTrips}
	t := Table{Head: Titles("lock", "workers", "rounds")}
	for _, m := range sure {
		t.Head = slices.Concat(t.Head, ByName(m), Titles("interval"))
	}
	t.Head = append(t.Head, ByName(waits...)...)
	for _, s := range g.Locks {
		for _, w := range g.Workers {
			c := s.Cells[w]
			if c == nil {
				continue
			}
			row := []string{s.Lock.Name, strconv.Itoa(w), strconv.Itoa(len(c.Rounds))}
			for _, m := range sure {
				v := c.Summary(m)
				row = append(row, CellText(m, v), interval(v, formatOf(m)))
			}
			for _, m := range waits {
				row = append(row, CellText(m, c.Summary(m)))
			}
			t.Rows = append(t.Rows, row)
		}
	}
	return t
}
