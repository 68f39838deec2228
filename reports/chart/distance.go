package chart

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"locklab/harness"
	"locklab/harness/judge"
	"locklab/harness/result"
	"locklab/internal/numfmt"
)

// Distances are the network use of a run's distributed locks, and predictions at distances.
type Distances struct {
	near    *Group // the workload without a delay: the basis of all predictions
	Far     []*Group
	Workers int // contenders
	locks   []*judge.Model
	Asked   []time.Duration // round trips to predict for
}

// NewDistance returns the distances of the workload without a delay that was also measured
// with the most delays. It returns nil without such a workload or without counted trips.
func NewDistance(run *result.Run, gs []*Group) *Distances {
	var best *Distances
	for _, g := range gs {
		if !g.Remote || g.Load.Delay != 0 || !judge.FitsModel(g.Load) {
			continue
		}
		d := &Distances{near: g, Workers: g.MostWorkers(), Asked: run.RoundTrips}
		for _, o := range gs {
			load := o.Load
			load.Delay = 0
			if o.Remote && o.Load.Delay > 0 && judge.Axes(load) == g.Axes {
				d.Far = append(d.Far, o)
			}
		}
		slices.SortFunc(d.Far, func(a, b *Group) int { return cmp.Compare(a.Load.Delay, b.Load.Delay) })
		if best == nil || len(d.Far) > len(best.Far) {
			best = d
		}
	}
	if best == nil {
		return nil
	}
	best.locks = best.near.models()
	if !slices.ContainsFunc(best.locks, func(l *judge.Model) bool { return l.Trips != nil }) {
		return nil
	}
	return best
}

func (g *Group) models() (out []*judge.Model) {
	for _, s := range g.Series {
		if s.Lock.Status != harness.Control {
			out = append(out, &judge.Model{Lock: s.Lock, Trips: tripsOf(s), Rounds: func(w int) []*result.Result { return s.Cells[w].Results() }})
		}
	}
	return out
}

func tripsOf(s *judge.Series) *result.Trips {
	for _, w := range slices.Sorted(maps.Keys(s.Cells)) {
		for _, r := range s.Cells[w].Results() {
			if r.Trips != nil {
				return r.Trips
			}
		}
	}
	return nil
}

func (d *Distances) Load() string {
	return fmt.Sprintf("%s; others: %s", d.near.Axes, d.near.unit(d.Workers))
}

func amount(v float64) string {
	if !(v >= 0 && v < 1e6) {
		return numfmt.Unknown
	}
	return numfmt.Number(v)
}

// Costs returns the requests and round trips of each lock, and its times near its servers.
func (d *Distances) Costs() Table {
	t := Table{Head: Titles("lock", "requests alone", "requests behind others", "requests per handover",
		"round trips alone", "round trips of a release", "round trips behind others", "round trips per handover",
		"alone, near", "handover, near", "behind others, near")}
	for _, l := range d.locks {
		row := slices.Concat([]string{l.Lock.Name}, counts(l.Trips))
		for _, s := range judge.PredictedSituations {
			row = append(row, CellText(s.Metric, l.Near(s.Metric, d.contenders(s))))
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

func (d *Distances) contenders(s *judge.PredictedSituation) int {
	if s.Alone {
		return 1
	}
	return d.Workers
}

func counts(t *result.Trips) []string {
	row := slices.Repeat([]string{numfmt.Unknown}, 7)
	if t == nil {
		return row
	}
	row[0], row[3], row[4] = amount(t.Lock.Requests+t.Unlock.Requests), amount(t.Lock.RoundTrips()), amount(t.Unlock.RoundTrips())
	switch b := t.Behind; {
	case b == nil:
	case b.Polls:
		row[1], row[2], row[5], row[6] = "polls", "polls", "polls", "polls"
	default:
		row[1], row[2] = amount(b.Requests), amount(b.Handover.Requests)
		row[5], row[6] = amount(b.Queue.RoundTrips()+b.Handover.RoundTrips()), amount(b.Handover.RoundTrips())
	}
	return row
}

// CostsAnswer names the handovers with the most and the fewest round trips.
func (d *Distances) CostsAnswer() string {
	var fs []figure
	for _, l := range d.locks {
		if t := l.Trips; t != nil && t.Behind != nil && !t.Behind.Polls {
			fs = append(fs, figure{name: l.Lock.Name, v: t.Behind.Handover.RoundTrips()})
		}
	}
	if fs == nil {
		return "No handover of these locks is made of round trips: their waiters poll, or none was counted."
	}
	sortFigures(fs)
	return extremes(fs, "the most round trips in sequence per handover", "the fewest", amount) + "."
}

// Predictions returns the predicted time of each lock at the requested round trips, and at
// the measured ones under a delay, with what was measured there.
func (d *Distances) Predictions() Table {
	t := Table{Head: slices.Concat(Titles("lock", "part", "near"), []Heading{{"round trip", result.RoundTrip}}, Titles("predicted", "range", "measured", "error", notPredicted))}
	for _, l := range d.locks {
		for _, s := range judge.PredictedSituations {
			var asked []check // of which nothing was measured
			for _, r := range d.Asked {
				p, why := l.Predict(s, d.contenders(s), float64(r))
				asked = append(asked, check{why: why, PredictionTest: judge.PredictionTest{Trip: float64(r), Predicted: p}})
			}
			for _, x := range slices.Concat(asked, d.checks(l, s)) {
				at, off := numfmt.Unknown, numfmt.Unknown
				if x.Trip > 0 && x.Trip < 1e15 {
					at = numfmt.Nanos(x.Trip)
				}
				if x.why == "" && x.Measured.Value > 0 {
					off = signed(x.Error())
				}
				value, within := predicted(x.Predicted)
				measured, _ := predicted(x.Measured)
				t.Rows = append(t.Rows, []string{l.Lock.Name, s.Name, CellText(s.Metric, l.Near(s.Metric, d.contenders(s))), at, value, within, measured, off, x.why})
			}
		}
	}
	return t
}

const notPredicted = "not predicted"

func predicted(p judge.PredictedTime) (value, within string) {
	value, within = numfmt.Unknown, numfmt.Unknown
	if p.Value > 0 {
		value = numfmt.Nanos(p.Value)
	}
	if p.Hi > 0 {
		within = numfmt.Nanos(max(0, p.Lo)) + " to " + numfmt.Nanos(p.Hi)
	}
	return value, within
}

// Answer names the fastest predicted handover at the first requested round trip, and the
// errors of the predictions under a delay.
func (d *Distances) Answer() string {
	var parts []string
	if len(d.Asked) > 0 {
		parts = append(parts, d.fastest(d.Asked[0]))
	}
	if len(d.Far) > 0 {
		parts = append(parts, d.errors())
	}
	return strings.Join(parts, " ")
}

func (d *Distances) fastest(at time.Duration) string {
	var fs []figure
	for _, l := range d.locks {
		if p, why := l.Predict(judge.Handover, d.Workers, float64(at)); why == "" && l.Lock.Status.Competes() {
			fs = append(fs, figure{name: l.Lock.Name, v: p.Value})
		}
	}
	if fs == nil {
		return fmt.Sprintf("For a round trip of %v no handover can be predicted.", at)
	}
	sortFigures(fs)
	return fmt.Sprintf("At a round trip of %v, %s has the fastest predicted handover.", at, fs[len(fs)-1].of(numfmt.Nanos))
}

// A check is a prediction next to the measurement under a delay.
type check struct {
	delay time.Duration
	why   string // the reason if there is no prediction
	judge.PredictionTest
}

func (d *Distances) checks(l *judge.Model, s *judge.PredictedSituation) (out []check) {
	for _, far := range d.Far {
		if c := far.cell(l.Lock.Name, d.contenders(s)); c != nil {
			t, why := l.Check(s, d.contenders(s), c.Results())
			out = append(out, check{far.Load.Delay, why, t})
		}
	}
	return out
}

func signed(share float64) string {
	if !(math.Abs(share) < 1e4) {
		return numfmt.Unknown
	}
	return fmt.Sprintf("%+.0f%s%%", 100*share, numfmt.Space)
}

// goodWithin is the greatest relative error of a prediction that counts as correct.
const goodWithin = 0.15

// errors returns the number of correct predictions and the greatest error.
func (d *Distances) errors() string {
	var all predictionErrors
	for _, l := range d.locks {
		for _, s := range judge.PredictedSituations {
			for _, c := range d.checks(l, s) {
				if c.why == "" {
					all.add(c.Error(), fmt.Sprintf("%s, %s, with a delay of %v", l.Lock.Name, s.Name, c.delay))
				}
			}
		}
	}
	if all.n == 0 {
		return "Nothing that was measured with a delay can be predicted from what was measured without."
	}
	return all.sentence(numfmt.Plural(all.n, "prediction"))
}

// predictionErrors counts the errors of predictions.
type predictionErrors struct {
	n, good int
	worst   float64
	where   string // the worst
}

func (p *predictionErrors) add(e float64, where string) {
	if p.n++; math.Abs(e) <= goodWithin {
		p.good++
	}
	if p.n == 1 || math.Abs(e) > math.Abs(p.worst) {
		p.worst, p.where = e, where
	}
}

func (p *predictionErrors) sentence(all string) string {
	return fmt.Sprintf("%d of %s %s within %.0f%s%% of what was measured; the greatest error is %s (%s).",
		p.good, all, numfmt.Choose(p.good, "is", "are"), 100*goodWithin, numfmt.Space, signed(p.worst), p.where)
}

// Notes explains how to read the tables.
func (d *Distances) Notes() string {
	text := "Requests and round trips were counted in a dry run, with one client and with three that take the lock in turn. " +
		"A round trip counts if a client waits for it, so there may be more requests. " +
		"Behind others: from the request until it waits, and the handover to it. Near: measured without a delay"
	if len(d.Asked)+len(d.Far) == 0 {
		return text + "."
	}
	text += ". A prediction rests on that and on the counts alone."
	for _, s := range judge.PredictedSituations {
		text += " " + numfmt.Sentence(s.Name+": "+s.Doc+" ("+s.Paper+")")
	}
	text += " The range is from contenders that cost nothing to contenders that cost as much as near the servers."
	if len(d.Far) > 0 {
		text += fmt.Sprintf(" Predictions under a delay use the bare round trip that was measured around the windows (metric %s), not the option.", result.RoundTrip.Name)
	}
	return text
}
