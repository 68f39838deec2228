package chart

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"locklab/harness"
	"locklab/harness/judge"
	"locklab/harness/result"
	"locklab/internal/numfmt"
	"locklab/internal/stat"
)

// Distances are the network use of a run's distributed locks, and predictions at distances.
type Distances struct {
	near    *Group // the workload without a delay: the basis of all predictions
	Far     []*Group
	Workers int // contenders
	locks   []distantLock
	Asked   []time.Duration // round trips to predict for
}

type distantLock struct {
	*series
	model *judge.Model
}

// NewDistance returns the distances of the workload without a delay that was also measured
// with the most delays. It returns nil without such a workload or without counted trips.
func NewDistance(run *result.Run, gs []*Group) *Distances {
	var best *Distances
	for _, g := range gs {
		if !g.Remote || g.Load.Delay != 0 || !judge.FitsModel(g.Load) {
			continue
		}
		d := &Distances{near: g, Workers: g.Crowd(), Asked: run.RoundTrips}
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
	counted := false
	for _, s := range best.near.Locks {
		if s.Lock.Status == harness.Control {
			continue
		}
		m := judge.NewModel(s.Lock, func(w int) []*harness.Result { return roundsIn(s.Cells[w]) }).Counted(tripsOf(s))
		best.locks = append(best.locks, distantLock{s, m})
		counted = counted || m.Trips != nil
	}
	if !counted {
		return nil
	}
	return best
}

func roundsIn(c *Cell) (rs []*harness.Result) {
	if c != nil {
		for _, i := range c.Order() {
			rs = append(rs, c.Rounds[i])
		}
	}
	return rs
}

func tripsOf(s *series) *harness.Trips {
	for _, w := range slices.Sorted(maps.Keys(s.Cells)) {
		for _, r := range roundsIn(s.Cells[w]) {
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
	t := Table{Head: Titles("lock", "requests alone", "requests behind others", "requests per hand-over",
		"round trips alone", "round trips of a release", "round trips behind others", "round trips per hand-over",
		"alone, near", "hand-over, near", "behind others, near")}
	for _, l := range d.locks {
		row := slices.Concat([]string{l.Lock.Name}, counts(l.model.Trips))
		for _, s := range judge.PredictedSituations {
			row = append(row, CellText(s.Metric, l.model.Near(s, d.crowd(s))))
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

func (d *Distances) crowd(s *judge.PredictedSituation) int {
	if s.Alone {
		return 1
	}
	return d.Workers
}

func counts(t *harness.Trips) []string {
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

// CostsAnswer names the handovers with the fewest and the most round trips.
func (d *Distances) CostsAnswer() string {
	type cost struct {
		name  string
		trips float64
	}
	var cs []cost
	var polling []string
	for _, l := range d.locks {
		switch t := l.model.Trips; {
		case t == nil || t.Behind == nil:
		case t.Behind.Polls:
			polling = append(polling, l.Lock.Name)
		default:
			cs = append(cs, cost{l.Lock.Name, t.Behind.Handover.RoundTrips()})
		}
	}
	slices.SortStableFunc(cs, func(a, b cost) int { return cmp.Compare(a.trips, b.trips) })
	var text string
	if len(cs) > 0 {
		least, most := cs[0].trips, cs[len(cs)-1].trips
		var frugal, dear []string
		for _, c := range cs {
			if c.trips == least {
				frugal = append(frugal, c.name)
			} else if c.trips == most {
				dear = append(dear, c.name)
			}
		}
		text = fmt.Sprintf("A hand-over takes %s in sequence with %s", trips(least), numfmt.List(frugal, mostNamed))
		if len(dear) > 0 {
			text += fmt.Sprintf(", and %s with %s", trips(most), numfmt.List(dear, mostNamed))
		}
		text += "."
	}
	if len(polling) > 0 {
		text += fmt.Sprintf(" Waiters of %s ask again after a pause, so %s hand-over is not made of round trips.", numfmt.List(polling, mostNamed), numfmt.Choose(len(polling), "its", "their"))
	}
	return cmp.Or(text, "No two clients of these locks wait for each other.")
}

const mostNamed = 6

func trips(v float64) string {
	if v == 1 {
		return "1 round trip"
	}
	return amount(v) + " round trips"
}

// Predictions returns the predicted cost of each lock at the requested round trips.
func (d *Distances) Predictions() Table {
	t := Table{Head: Titles("lock", "part", "near")}
	for _, r := range d.Asked {
		t.Head = append(t.Head, Titles("at "+r.String(), "range at "+r.String())...)
	}
	t.Head = append(t.Head, Titles(notPredicted)...)
	for _, l := range d.locks {
		for _, s := range judge.PredictedSituations {
			row := []string{l.Lock.Name, s.Name, CellText(s.Metric, l.model.Near(s, d.crowd(s)))}
			reason := ""
			for _, r := range d.Asked {
				p, why := l.model.Predict(s, d.crowd(s), float64(r))
				value, within := predicted(p)
				row, reason = append(row, value, within), cmp.Or(reason, why)
			}
			t.Rows = append(t.Rows, append(row, reason))
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

// PredictionsAnswer names the fastest predicted handover at the first round trip.
func (d *Distances) PredictionsAnswer() string {
	at := d.Asked[0]
	var best distantLock
	least := math.Inf(1)
	for _, l := range d.locks {
		p, why := l.model.Predict(judge.Handover, d.Workers, float64(at))
		if why == "" && p.Value < least && l.Lock.Status != harness.Broken && l.Lock.Status != harness.Historical {
			best, least = l, p.Value
		}
	}
	if best.series == nil {
		return fmt.Sprintf("For a round trip of %v no hand-over can be predicted.", at)
	}
	return fmt.Sprintf("At a round trip of %v the quickest hand-over would be that of %s, %s; near the servers it takes %s.", at, best.Lock.Name,
		numfmt.Nanos(least), numfmt.Nanos(best.model.Near(judge.Handover, d.Workers).Median))
}

type trial struct {
	lock  string
	delay time.Duration
	why   string
	judge.PredictionTest
}

func (d *Distances) trials() (all []trial) {
	for _, l := range d.locks {
		for _, s := range judge.PredictedSituations {
			for _, far := range d.Far {
				i := slices.IndexFunc(far.Locks, func(o *series) bool { return o.Lock.Name == l.Lock.Name })
				if i >= 0 {
					t, why := l.model.Check(s, d.crowd(s), roundsIn(far.Locks[i].Cells[d.crowd(s)]))
					all = append(all, trial{l.Lock.Name, far.Load.Delay, why, t})
				}
			}
		}
	}
	return all
}

func (d *Distances) Checks() Table {
	t := Table{Head: slices.Concat(Titles("lock", "part", "delay"), ByName(result.RoundTrip), Titles("predicted", "measured", "error", "range", "interval", notPredicted))}
	for _, x := range d.trials() {
		value, within := predicted(x.Predicted)
		measured, interval := predicted(x.Measured)
		off, trip := numfmt.Unknown, numfmt.Unknown
		if x.why == "" {
			off = signed(x.Error())
		}
		if x.Trip > 0 && x.Trip < 1e15 {
			trip = numfmt.Nanos(x.Trip)
		}
		t.Rows = append(t.Rows, []string{x.lock, x.Situation.Name, x.delay.String(), trip, value, measured, off, within, interval, x.why})
	}
	return t
}

func signed(share float64) string {
	if !(math.Abs(share) < 1e4) {
		return numfmt.Unknown
	}
	return fmt.Sprintf("%+.0f%s%%", 100*share, numfmt.Space)
}

// goodWithin is the greatest relative error of a prediction that counts as correct.
const goodWithin = 0.15

// ChecksAnswer gives the number of correct predictions and the greatest error.
func (d *Distances) ChecksAnswer() string {
	all := slices.DeleteFunc(d.trials(), func(t trial) bool { return t.why != "" })
	if len(all) == 0 {
		return "Nothing that was measured with a delay can be predicted from what was measured without."
	}
	var errors []float64
	worst, good := all[0], 0
	for _, t := range all {
		e := math.Abs(t.Error())
		errors = append(errors, e)
		if e <= goodWithin {
			good++
		}
		if e > math.Abs(worst.Error()) {
			worst = t
		}
	}
	return fmt.Sprintf("%d of %s lie within %.0f%s%% of what was measured; the median error is %.0f%s%%, the greatest %s (%s, %s, with a delay of %v).",
		good, numfmt.Plural(len(all), "prediction"), 100*goodWithin, numfmt.Space, 100*stat.Median(errors), numfmt.Space, signed(worst.Error()), worst.lock, worst.Situation.Name, worst.delay)
}

// Notes explains how to read the tables.
func (d *Distances) Notes() string {
	text := "Counted before the run from the messages of one client, and of three that take the lock in turn: a round trip counts where a client waits for it, so there may be more requests. " +
		"Behind others: from asking until it waits, and the hand-over to it. Near: measured without a delay"
	if len(d.Asked)+len(d.Far) == 0 {
		return text + "."
	}
	text += ". A prediction rests on that and on the counts alone."
	for _, s := range judge.PredictedSituations {
		text += " " + numfmt.Sentence(s.Name+": "+s.Doc+" ("+s.Paper+")")
	}
	text += " The range is from a crowd that adds nothing to one that adds as much as near the servers."
	if len(d.Far) > 0 {
		text += fmt.Sprintf(" Predicted for the bare round trip that was measured around the delayed windows (metric %s), not for the delay that was asked for.", result.RoundTrip.Name)
	}
	return text
}
