package chart

import (
	"cmp"
	"fmt"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	vgdraw "gonum.org/v1/plot/vg/draw"

	"locklab/harness"
	"locklab/harness/judge"
	"locklab/harness/result"
	"locklab/internal/numfmt"
	"locklab/internal/stat"
	"locklab/reports/draw"
)

// A loadSweep is the open loops of a run whose workloads differ only in the rate.
type loadSweep struct {
	context string // the rest of the workload
	Rates   []harness.Rate
	groups  []*Group // by rate
	workers int      // at which most locks were measured
	Locks   []*loadedLock
}

type loadedLock struct {
	S      *judge.Series
	Loads  []judge.Load // by rate; its cell is nil if not measured
	closed float64      // acquisitions per second in the closed loop with as many workers; 0 if not measured

	Saturation    judge.Saturation
	HasSaturation bool // the results give a saturation point
}

// Loads returns the open loops for locks of g's kind, under the conditions with the most
// rates, or nil.
func (g *Group) Loads() *loadSweep {
	open := slices.DeleteFunc(slices.Clone(g.Both), func(o *Group) bool {
		return !o.Open() || o.Remote != g.Remote || o.Load.Rate > harness.MaxRate
	})
	if len(open) == 0 {
		return nil
	}
	context := func(o *Group) string {
		rest := o.Load
		rest.Rate = 0
		return judge.Axes(rest)
	}
	most := slices.MaxFunc(result.GroupBy(open, context), func(a, b []*Group) int { return len(a) - len(b) })
	s := &loadSweep{context: context(most[0]), groups: most}
	slices.SortFunc(s.groups, func(a, b *Group) int { return cmp.Compare(a.Load.Rate, b.Load.Rate) })
	s.Rates = result.Each(s.groups, func(o *Group) harness.Rate { return o.Load.Rate })
	s.fill(g.closedLike(s.groups[0].Load))
	for _, l := range s.Locks {
		l.Saturation, l.HasSaturation = judge.SaturationOf(l.Loads, s.floor())
	}
	return s
}

func (g *Group) closedLike(load harness.Workload) *Group {
	load.Rate, load.Arrivals, load.Deadline = 0, harness.Poisson, 0
	i := slices.IndexFunc(g.Both, func(o *Group) bool { return o.Remote == g.Remote && o.Axes == judge.Axes(load) })
	if i < 0 {
		return nil
	}
	return g.Both[i]
}

// fill selects the number of workers at which most locks were measured, and adds these locks.
func (s *loadSweep) fill(closed *Group) {
	most := 0
	for _, g := range s.groups {
		for _, w := range g.Workers {
			if n := len(g.At(w)); n > most || n == most && w > s.workers {
				most, s.workers = n, w
			}
		}
	}
	byName := make(map[string]*loadedLock)
	for i, g := range s.groups {
		for _, x := range g.At(s.workers) {
			l := byName[x.Lock.Name]
			if l == nil {
				l = &loadedLock{S: x, Loads: result.Each(s.Rates, func(r harness.Rate) judge.Load { return judge.Load{Rate: r} })}
				byName[x.Lock.Name] = l
				s.Locks = append(s.Locks, l)
			}
			l.Loads[i].Cell = x.Cells[s.workers]
		}
	}
	for name, l := range byName {
		if closed == nil {
			break
		}
		if v := closed.cell(name, s.workers).Summary(result.Throughput).Median; v > 0 && v < 1e12 { // otherwise it is damage
			l.closed = v
		}
	}
	slices.SortFunc(s.Locks, func(a, b *loadedLock) int { return byFamily(a.S.Lock, b.S.Lock) })
}

// at returns the saturation point of l with its interval, or "".
func (l *loadedLock) at() string {
	switch k := l.Saturation; {
	case l.HasSaturation && k.UpTo == 0:
		return fmt.Sprintf("under %v", k.Over)
	case l.HasSaturation && k.Over == 0 && k.From == k.UpTo:
		return fmt.Sprintf("%v or more", k.UpTo)
	case l.HasSaturation:
		return fmt.Sprintf("%v [%s .. %s]", k.UpTo, bound(k.From, "less"), bound(k.To, "more"))
	}
	return ""
}

func bound(r harness.Rate, beyond string) string {
	if r == 0 {
		return beyond
	}
	return r.String()
}

// why returns the reason for the upper end of l's loads, in a sentence without its end.
func (l *loadedLock) why() string {
	k := l.Saturation
	switch k.Rule {
	case result.LimitGranted:
		return fmt.Sprintf("at %v it grants less than %d %% of the requests", k.Over, result.LeastGoodput)
	case result.LimitP99:
		return fmt.Sprintf("at %v p99 exceeds %d times its unloaded value, %s at %v", k.Over, result.MostSlowdown, numfmt.Nanos(k.RestP99), k.Rest)
	}
	return fmt.Sprintf("no higher load was measured, and p99 is %s there", numfmt.Nanos(k.P99))
}

// wait returns quantile q of the waits of l at rate i over all rounds, or the floor of the
// clock if that is greater. ok is false if there are too few samples.
func (l *loadedLock) wait(i int, q, floor float64) (v float64, ok bool) {
	if l.Loads[i].Cell == nil {
		return 0, false
	}
	v, ok = result.Quantile(l.Loads[i].Cell.Waits(), q)
	return max(v, floor, 1), ok
}

func (s *loadSweep) floor() float64 { return slices.Max(result.Each(s.groups, (*Group).Floor)) }

func (s *loadSweep) load() string { return numfmt.Plural(s.workers, "worker") + ", " + s.context }

func (s *loadSweep) table() Table {
	ms := []*result.Metric{result.Offered, result.Throughput, result.Goodput, result.Late, result.Dropped, result.Backlog}
	t := Table{Head: slices.Concat(Titles("lock", "load"), ByName(ms...), Titles("p50", "p99", "p99.9", "closed loop", "saturation point"))}
	for _, l := range s.Locks {
		for i, r := range s.Rates {
			c := l.Loads[i].Cell
			if c == nil {
				continue
			}
			row := []string{l.S.Lock.Name, r.String()}
			for _, m := range ms {
				row = append(row, CellText(m, c.Summary(m)))
			}
			for _, q := range []float64{0.5, 0.99, 0.999} {
				row = append(row, quoted(c.Waits(), q, s.floor()))
			}
			closed := numfmt.Unknown
			if l.closed > 0 {
				closed = numfmt.PerSecond(l.closed)
			}
			t.Rows = append(t.Rows, append(row, closed, cmp.Or(l.at(), numfmt.Unknown)))
		}
	}
	return t
}

// LoadLocal and LoadRemote draw the wait of acquisitions over the offered rate, in open loops.
var LoadLocal, LoadRemote = both(Chart{
	Name:  "load",
	Title: "How long does an acquisition wait at a given offered load?",
	Doc:   loadDoc,
	Open:  true,
	Draw:  drawLoad,
	Guard: flat,
}, "How long does an acquisition of a distributed lock wait at a given offered load?")

const loadDoc = "Open loops: acquisitions are requested at times drawn in advance, whether or not the lock keeps up. A wait counts from the intended start. Bold line: p99 of the waits of all rounds together, each arrival once; thin line below: p50; above: p99.9. A quantile with fewer than ten samples above it is left out. Dashed vertical line: the rate of the closed loop with as many workers. Solid vertical line: the saturation point, the greatest load at which the lock grants 95 % and p99 is at most ten times its unloaded value, the p99 at the lowest load that resolves it. The field around it: the range of the saturation point in 95 % of runs resampled from the rounds, or over the single rounds if there are fewer than six. Hue: family; grey: p99 of the other locks."

func drawLoad(g *Group) Picture {
	s := g.Loads()
	if s == nil {
		return nothing("This run has no open loop of these locks; one with --rate auto, or --workers 64 --rate 500/s,1k/s, shows how long its acquisitions wait at a given load.")
	}
	l := s.lines()
	if len(l.Lines) == 0 {
		return nothing("Too few waits were timed at any load to quote the median.")
	}
	return Picture{
		Answer: s.Answer(), Load: s.load(), Picture: l.Drawn(), Numbers: s.table(),
		Data: Source{Metrics: []*result.Metric{result.Throughput, result.Goodput}, Fields: []string{"wait"}, Rounds: []int{roundsOf(s.groups...)}},
	}
}

// loadQuantiles are drawn; the first is bold.
var loadQuantiles = []float64{0.99, 0.5, 0.999}

// Answer names the saturation points.
func (s *loadSweep) Answer() string {
	all := slices.DeleteFunc(slices.Clone(s.Locks), func(l *loadedLock) bool { return !l.S.Lock.Status.Competes() })
	competing := len(all)
	all = slices.DeleteFunc(all, func(l *loadedLock) bool { return !l.HasSaturation })
	if len(all) == 0 {
		return "Too few waits were timed at each load to quote p99, which the saturation point needs. More rounds or a longer --duration give more."
	}
	slices.SortStableFunc(all, func(a, b *loadedLock) int { return cmp.Compare(b.Saturation.UpTo, a.Saturation.UpTo) })
	says := func(l *loadedLock) string { return fmt.Sprintf("%s; %s", l.at(), l.why()) }
	best, worst := all[0], all[len(all)-1]
	points := result.Each(all, func(l *loadedLock) figure { return figure{name: l.S.Lock.Name, v: float64(l.Saturation.UpTo)} })
	text := ""
	switch {
	case len(all) == 1:
		text = fmt.Sprintf("The saturation point of %s is at %s.", best.S.Lock.Name, says(best))
	case roundsOf(s.groups...) < 2, worst.Saturation.To == 0, best.Saturation.From < worst.Saturation.To:
		text = fmt.Sprintf("The saturation points do not differ significantly: %s has it at %s, %s at %s.", best.S.Lock.Name, says(best), worst.S.Lock.Name, says(worst))
	default:
		text = fmt.Sprintf("%s has the highest saturation point%s: %s. %s has the lowest%s: %s.", best.S.Lock.Name, points[0].like(points), says(best),
			worst.S.Lock.Name, points[len(points)-1].like(points), says(worst))
	}
	if n := competing - len(all); n > 0 {
		text += fmt.Sprintf(" %d of %s %s too few timed waits for a saturation point.", n, numfmt.Plural(competing, "lock"), numfmt.Choose(n, "has", "have"))
	}
	if i := slices.IndexFunc(all, func(l *loadedLock) bool { return l.Saturation.Unsound }); i >= 0 {
		text += fmt.Sprintf(" On this machine the unloaded p99 is noise of the machine, not of the lock (%s: %s), so the limit of ten times that is loose.",
			all[i].S.Lock.Name, numfmt.Nanos(all[i].Saturation.RestP99))
	}
	return text
}

func (s *loadSweep) lines() *draw.Lines {
	floor := s.floor()
	l := &draw.Lines{XTitle: "acquisitions requested, all workers together (log scale)", XScale: draw.Logarithm, Y: draw.LogScale,
		YTitle: "time from the intended start to the grant (log scale)", Format: numfmt.Nanos, Notes: s.notes()}
	l.Stops = result.Each(s.Rates, func(r harness.Rate) draw.Stop { return draw.Stop{At: float64(r), Label: r.String()} })
	for _, x := range s.Locks {
		if x.closed > 0 {
			l.Stops = append(l.Stops, draw.Stop{At: x.closed})
		}
	}
	slices.SortStableFunc(l.Stops, func(a, b draw.Stop) int { return cmp.Compare(a.At, b.At) })
	of := func(lock string) *loadedLock {
		return s.Locks[slices.IndexFunc(s.Locks, func(x *loadedLock) bool { return x.S.Lock.Name == lock })]
	}
	l.End = func(lock string) string { return s.figure(of(lock), floor) }
	l.Under = func(c vgdraw.Canvas, p *plot.Plot, lock string) { of(lock).saturation(c, p) }
	for _, x := range s.Locks {
		for k, q := range loadQuantiles {
			style := styleOf(x.S.Lock)
			if k > 0 {
				style.Strong, style.Marker = false, nil
			}
			l.Add(x.S.Lock.Name, style, func(i int) stat.Summary {
				rate := slices.Index(s.Rates, harness.Rate(l.Stops[i].At))
				if rate < 0 {
					return stat.Summary{}
				}
				v, ok := x.wait(rate, q, floor)
				return stat.Summary{Median: v, Lo: v, Hi: v, N: map[bool]int{true: 1}[ok]}
			})
		}
	}
	return l
}

func (s *loadSweep) notes() (notes []draw.Note) {
	if slices.ContainsFunc(s.Locks, func(l *loadedLock) bool { return l.closed > 0 }) {
		notes = append(notes, draw.Note{Colour: draw.Axis, Line: true, Text: "closed loop (dashed)"})
	}
	if slices.ContainsFunc(s.Locks, func(l *loadedLock) bool { return l.HasSaturation }) {
		notes = append(notes, draw.Note{Colour: draw.Warm, Text: "saturation point (solid), its interval"})
	}
	return notes
}

// saturation point marks the saturation point of l with its interval, and the rate of the closed loop.
func (l *loadedLock) saturation(c vgdraw.Canvas, p *plot.Plot) {
	trX, _ := p.Transforms(&c)
	upright := func(at float64, hue draw.Token, dashes ...vg.Length) {
		if x := trX(at); at > 0 {
			c.StrokeLine2(vgdraw.LineStyle{Color: hue.RGBA(), Width: vg.Points(0.9), Dashes: dashes}, x, c.Min.Y, x, c.Max.Y)
		}
	}
	if l.HasSaturation {
		from, to := c.Min.X, c.Max.X
		if l.Saturation.From > 0 {
			from = max(from, trX(float64(l.Saturation.From)))
		}
		if l.Saturation.To > 0 {
			to = min(to, trX(float64(l.Saturation.To)))
		}
		c.FillPolygon(draw.Warm.RGBA(), draw.Rect(from, c.Min.Y, max(from, to), c.Max.Y))
		upright(float64(l.Saturation.UpTo), draw.Ink)
	}
	upright(l.closed, draw.Axis, 4, 2)
}

// figure is the text next to the name of l: its saturation point, or p99 at the greatest
// load that resolves it.
func (s *loadSweep) figure(l *loadedLock, floor float64) string {
	if l.HasSaturation && l.Saturation.UpTo > 0 {
		return fmt.Sprintf("saturation point %v", l.Saturation.UpTo)
	}
	for i, r := range slices.Backward(s.Rates) {
		if v, ok := l.wait(i, 0.99, floor); ok {
			return fmt.Sprintf("p99 %s at %v", numfmt.Nanos(v), r)
		}
	}
	return ""
}
