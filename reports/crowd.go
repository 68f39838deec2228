package reports

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"locklab/harness"
	"locklab/harness/metric"
	"locklab/harness/predict"
	"locklab/harness/resultfile"
	"locklab/harness/stat"
	"locklab/harness/verdict"
	"locklab/internal/numfmt"
)

// Crowds are what the distributed locks of a run do among many contenders, and what they
// would do among more.
type crowds struct {
	group *group
	far   []*group // the same workload with delays
	locks []crowdLock
	asked []int           // contenders that the reader wants predictions for
	trips []time.Duration // and at which round trips, beside that of the measurement
}

// A crowdLock is a lock with its model, or why it has none.
type crowdLock struct {
	*series
	crowd *predict.Crowd
	why   string
}

// newCrowds returns the crowds of the groups of a run: of the group with the most cases
// of which a model of some lock can be made, or else of the first one that a model could
// be about; nil if there is none.
func newCrowds(run *resultfile.Run, gs []*group) *crowds {
	var first *crowds
	for _, g := range gs {
		if !g.Remote || g.Load.Delay != 0 || !predict.FitsCrowd(g.Load) {
			continue
		}
		d := &crowds{group: g, asked: slices.Compact(slices.Sorted(slices.Values(run.Contenders))), trips: run.RoundTrips}
		for _, o := range gs {
			load := o.Load
			load.Delay = 0
			if o.Remote && o.Load.Delay > 0 && verdict.Axes(load) == g.Axes {
				d.far = append(d.far, o)
			}
		}
		slices.SortFunc(d.far, func(a, b *group) int { return cmp.Compare(a.Load.Delay, b.Load.Delay) })
		for _, s := range g.series {
			if s.Lock.Status == harness.Control {
				continue
			}
			m := predict.New(s.Lock, func(w int) []*harness.Result { return roundsIn(s.Cells[w]) }).Counted(tripsOf(s))
			c, why := predict.NewCrowd(m, g.Workers, machineOf(run, s))
			d.locks = append(d.locks, crowdLock{s, c, why})
		}
		if d.modelled() > 0 {
			return d
		}
		if first == nil && len(d.locks) > 0 {
			first = d
		}
	}
	return first
}

// machineOf returns the machine that contenders and servers of s shared: none if its ranks
// were on several hosts.
func machineOf(run *resultfile.Run, s *series) predict.Machine {
	e := run.Manifest.Machine
	for _, c := range s.Cells {
		for _, r := range c.Rounds {
			for _, k := range r.Ranks {
				if k.Host != r.Ranks[0].Host {
					return predict.Machine{}
				}
			}
		}
	}
	return predict.Machine{Processors: max(0, e.CPUs), Memory: float64(e.MemoryMiB) * (1 << 20)}
}

// modelled returns how many locks have a model.
func (d *crowds) modelled() (n int) {
	for _, l := range d.locks {
		if l.why == "" {
			n++
		}
	}
	return n
}

// rows has every lock at every number of contenders: what was measured, what was left out
// of the calibration beside what the model says, and what is extrapolated.
func (d *crowds) rows() table {
	t := table{head: slices.Concat(titles("lock", "contenders", "how"),
		[]piece{{"measured handovers/s", metric.Handovers}}, titles("computed handovers/s", "error", "range"),
		[]piece{{"measured wait", metric.P50}}, titles("computed wait", "error", "range", "messages per hand-over", "server CPU per hand-over", "client CPU per hand-over", "limits before", notPredicted))}
	for _, l := range d.locks {
		left := make(map[int]predict.Missed)
		if l.why == "" {
			for _, m := range l.crowd.LeftOut() {
				left[m.Point.Contenders] = m
			}
		}
		for _, p := range l.crowd.Points {
			row := measuredRow(l.Lock.Name, "measured", p)
			if m, ok := left[p.Contenders]; ok {
				row[2] = "measured and left out"
				fillLeftOut(row, m)
			} else if l.why == "" && p.Contenders <= l.crowd.Fitted() {
				row[2] = "measured, of the calibration"
			}
			t.rows = append(t.rows, row)
		}
		for _, m := range d.farther(l) {
			row := measuredRow(l.Lock.Name, "measured at "+numfmt.Nanos(m.Trip)+" and left out", m.Point)
			fillLeftOut(row, m)
			t.rows = append(t.rows, row)
		}
		t.rows = append(t.rows, d.extrapolated(l)...)
	}
	return t
}

// measuredRow is the row of what was measured at p.
func measuredRow(lock, how string, p predict.Point) []string {
	return []string{lock, strconv.Itoa(p.Contenders), how, cellText(metric.Handovers, p.Rate), unknown, unknown, unknown,
		cellText(metric.P50, p.Wait), unknown, unknown, unknown, figureOf(p.Message, numfmt.Number), figureOf(p.Server, numfmt.Nanos), figureOf(p.Client, numfmt.Nanos), "", ""}
}

// farther returns what was measured of l farther away, with as many contenders as the
// calibration has at most or more, beside what the model says.
func (d *crowds) farther(l crowdLock) (out []predict.Missed) {
	if l.why != "" {
		return nil
	}
	for _, g := range d.far {
		for _, s := range g.series {
			for _, n := range g.Workers {
				if rounds := roundsIn(s.Cells[n]); s.Lock.Name == l.Lock.Name && n >= l.crowd.Fitted() && len(rounds) > 0 {
					if m := l.crowd.Far(n, rounds); m.Point.Rate.N > 0 && m.Trip > 0 {
						out = append(out, m)
					}
				}
			}
		}
	}
	return out
}

func figureOf(v stat.Summary, format func(float64) string) string {
	if v.N == 0 {
		return unknown
	}
	return format(v.Median)
}

// costColumns are what a hand-over costs, in the order of columns.
var costColumns = []struct {
	figure *predict.Figure
	of     func(e predict.Estimate) float64
	format func(float64) string
	noun   string // behind the figure
}{
	{predict.Messages, func(e predict.Estimate) float64 { return e.Message }, numfmt.Number, "messages"},
	{predict.ServerTime, func(e predict.Estimate) float64 { return e.Server }, numfmt.Nanos, "of the servers' processors"},
	{predict.ClientTime, func(e predict.Estimate) float64 { return e.Client }, numfmt.Nanos, "of the contenders' processors"},
}

// fillLeftOut adds to row what the model says of a point that was left out.
func fillLeftOut(row []string, m predict.Missed) {
	if row[15] = m.Why; m.Why != "" {
		return
	}
	row[4] = numfmt.SI(m.Predicted.Rate.Value)
	if e, ok := m.Error(predict.Rate); ok {
		row[5] = signed(e)
	}
	if e, ok := m.Error(predict.Wait); ok {
		row[8], row[9] = numfmt.Nanos(m.Predicted.Wait.Value), signed(e)
	}
	for i, x := range costColumns {
		if e, ok := m.Error(x.figure); ok {
			row[11+i] += "; computed " + x.format(x.of(m.Predicted)) + ", " + signed(e)
		}
	}
}

// extrapolated returns the rows of what the reader asks for.
func (d *crowds) extrapolated(l crowdLock) (rows [][]string) {
	for _, trip := range append([]time.Duration{0}, d.trips...) {
		for _, n := range d.asked {
			row := slices.Concat([]string{l.Lock.Name, strconv.Itoa(n), how(trip)}, slices.Repeat([]string{unknown}, 11), []string{"", l.why})
			rows = append(rows, row)
			if l.why != "" {
				continue
			}
			row[14] = before(l.crowd.Before(n))
			e, why := l.crowd.At(n, float64(trip))
			for i, x := range costColumns {
				if v := x.of(e); v > 0 {
					row[11+i] = x.format(v)
				}
			}
			if row[15] = why; why != "" {
				continue
			}
			row[4], row[6] = numfmt.SI(e.Rate.Value), numfmt.SI(e.Rate.Lo)+" to "+numfmt.SI(e.Rate.Hi)
			if row[15] = prefixed(waitOnly, e.NoWait); e.NoWait == "" {
				row[8], row[10] = predicted(e.Wait)
			}
		}
	}
	return rows
}

// how says that a row is computed, and for which round trip.
func how(trip time.Duration) string {
	if trip == 0 {
		return "computed"
	}
	return "computed, at " + trip.String()
}

// waitOnly begins a reason why only the wait is not computed.
const waitOnly = "wait: "

func prefixed(prefix, s string) string {
	if s == "" {
		return ""
	}
	return prefix + s
}

// before names limits and with how many contenders they are reached.
func before(bs []predict.Breach) string {
	var texts []string
	for _, b := range bs {
		texts = append(texts, b.Limit.Name+" at "+numfmt.SI(b.Contenders))
	}
	return strings.Join(texts, ", ")
}

// answer says what the greatest number of contenders that was asked for gets of the best
// lock, and how far the model is off where it can be seen.
func (d *crowds) answer() string {
	return strings.TrimSpace(d.extrapolation() + " " + d.errors())
}

func (d *crowds) extrapolation() string {
	if len(d.asked) == 0 {
		return ""
	}
	n := d.asked[len(d.asked)-1]
	var best crowdLock
	var most predict.Estimate
	for _, l := range d.locks {
		if l.why != "" || unsound(l.Lock.Status) {
			continue
		}
		if e, why := l.crowd.At(n, 0); why == "" && e.Rate.Value > most.Rate.Value {
			best, most = l, e
		}
	}
	if best.series == nil {
		return fmt.Sprintf("For %s contenders nothing can be said of any lock here.", numfmt.SI(float64(n)))
	}
	text := fmt.Sprintf("Among %s contenders %s would be handed over %s (computed; range %s to %s)", numfmt.SI(float64(n)), best.Lock.Name,
		numfmt.PerSecond(most.Rate.Value), numfmt.SI(most.Rate.Lo), numfmt.SI(most.Rate.Hi))
	if most.NoWait == "" {
		text += fmt.Sprintf(", and each would wait %s", numfmt.Nanos(most.Wait.Value))
	}
	return text + "."
}

// errors says how many points that were left out the models hit, and which is missed most.
func (d *crowds) errors() string {
	good, all := 0, 0
	worst, name, where, at := 0.0, "", "", 0
	for _, l := range d.locks {
		if l.why != "" {
			continue
		}
		for _, m := range append(l.crowd.LeftOut(), d.farther(l)...) {
			e, ok := m.Error(predict.Rate)
			if !ok {
				continue
			}
			all++
			if math.Abs(e) <= goodWithin {
				good++
			}
			if name == "" || math.Abs(e) > math.Abs(worst) {
				worst, name, at = e, l.Lock.Name, m.Point.Contenders
				if where = ""; m.Trip > 0 {
					where = " at " + numfmt.Nanos(m.Trip)
				}
			}
		}
	}
	if all == 0 {
		return "No point that was measured could be left out to try a model by."
	}
	return fmt.Sprintf("Of %s that the models were not calibrated by, %d %s within %.0f%s%% of the hand-over rate that was measured; the greatest error is %s (%s, %d contenders%s).",
		numfmt.Plural(all, "point"), good, numfmt.Choose(good, "lies", "lie"), 100*goodWithin, nb, signed(worst), name, at, where)
}

// breaks has what ends each lock first, and at how many contenders.
func (d *crowds) breaks() table {
	t := table{head: titles("lock", "limit", "what there is only so much of", "by default", "contenders", "remedy", "source")}
	for _, l := range d.locks {
		for _, b := range l.crowd.Breaches() {
			most := unknown
			if b.Limit.Most > 0 {
				most = numfmt.Number(b.Limit.Most)
			}
			t.rows = append(t.rows, []string{l.Lock.Name, b.Limit.Name, b.Limit.Doc, most, numfmt.Number(math.Floor(b.Contenders)), b.Limit.Remedy, b.Limit.Paper})
		}
	}
	return t
}

// breaksAnswer says of each lock what breaks first, locks that break alike together.
func (d *crowds) breaksAnswer() string {
	type end struct{ text, remedy string }
	names := make(map[end][]string)
	var order []end
	for _, l := range d.locks {
		text := end{text: "nothing that the run tells of", remedy: ""}
		if bs := l.crowd.Breaches(); len(bs) > 0 {
			text = end{fmt.Sprintf("%s at %s contenders (%s)", bs[0].Limit.Name, numfmt.Number(math.Floor(bs[0].Contenders)), bs[0].Limit.Doc), bs[0].Limit.Remedy}
		}
		if names[text] == nil {
			order = append(order, text)
		}
		names[text] = append(names[text], l.Lock.Name)
	}
	var out []string
	for _, e := range order {
		s := fmt.Sprintf("What ends %s first is %s", numfmt.List(names[e], mostNamed), e.text)
		if e.remedy != "" {
			s += ": " + e.remedy
		}
		out = append(out, s+".")
	}
	return strings.Join(out, " ")
}

// notes says how to read the section.
func (d *crowds) notes() string {
	return "Calibrated by what this run measured up to a tenth of its most contenders, by least squares in which no cost is negative; what it measured with more is left out, and shows the error. " +
		"Computed: by the utilization law, and waits by Little's law (Lazowska et al. 1984), with contenders and servers on the machine that was measured, and on as many of its processors as in the calibration. " +
		fmt.Sprintf("Range: if any one point of the calibration is left out, and by the factor by which a point that was left out is missed. A rate, a wait or a cost that misses a point that was left out by more than a factor of %.1f is not extrapolated. ", predict.Refuted) +
		"What is limited by a setting is computed as if that were raised. Workload: " + d.group.Axes + "."
}
