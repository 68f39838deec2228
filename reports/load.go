package reports

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"locklab/harness"
	"locklab/harness/result"

	"locklab/harness/judge"
	"locklab/internal/numfmt"
)

// A loadSweep is the open loops of a run whose workloads differ only in the rate.
type loadSweep struct {
	context string // the rest of the workload
	rates   []harness.Rate
	groups  []*group // by rate
	workers int      // at which most locks were measured
	locks   []*loadedLock
}

// A loadedLock is the results of one lock at each rate.
type loadedLock struct {
	s      *series
	cells  []*cell // by rate; nil if not measured
	closed float64 // acquisitions per second in the closed loop with as many workers; 0 if not measured

	knee   judge.Knee
	kneed  bool         // the results give a saturation point
	sought *result.Knee // the search that chose the rates; nil without one
}

// loads returns the open loops of the run for locks of the kind of g, under its conditions,
// or nil.
func (g *group) loads() *loadSweep {
	for _, s := range g.loadSweeps() {
		if g.conditions == "" || g.conditions == s.context {
			s.fill(g.closedLike(s.groups[0].Load))
			s.findKnees(g.Run.Manifest.Knees)
			return s
		}
	}
	return nil
}

// loadSweeps returns the open loops of the run for locks of the kind of g, with the most
// rates first. Each sweep has the open loops that differ only in the rate.
func (g *group) loadSweeps() (sweeps []*loadSweep) {
	byRest := make(map[string]*loadSweep)
	for _, o := range g.both {
		if !o.Open() || o.Remote != g.Remote || o.Load.Rate > harness.MaxRate {
			continue
		}
		rest := o.Load
		rest.Rate = 0
		context := judge.Axes(rest)
		s := byRest[context]
		if s == nil {
			s = &loadSweep{context: context}
			byRest[context] = s
			sweeps = append(sweeps, s)
		}
		i, _ := slices.BinarySearch(s.rates, o.Load.Rate)
		s.rates, s.groups = slices.Insert(s.rates, i, o.Load.Rate), slices.Insert(s.groups, i, o)
	}
	slices.SortStableFunc(sweeps, func(a, b *loadSweep) int { return cmp.Compare(len(b.rates), len(a.rates)) })
	return sweeps
}

// under returns g once for each picture of c: a chart of open loops has one for each set of
// conditions.
func (c *Chart) under(g *group) []*group {
	sweeps := g.loadSweeps()
	if !c.open || len(sweeps) < 2 {
		return []*group{g}
	}
	var out []*group
	for _, s := range sweeps {
		one := *g
		one.conditions = s.context
		out = append(out, &one)
	}
	return out
}

// titled returns the question of a chart, with the conditions of g if its run has open
// loops under several.
func (g *group) titled(question string) string {
	if g.conditions == "" {
		return question
	}
	return strings.TrimSuffix(question, "?") + ", with " + g.conditions + "?"
}

// findKnees finds the saturation points of the locks. sought are the results of the run's
// own search.
func (s *loadSweep) findKnees(sought []result.Knee) {
	floor := s.floor()
	for _, l := range s.locks {
		loads := make([]judge.Load, len(s.rates))
		for i, r := range s.rates {
			loads[i] = judge.Load{Rate: r, Cell: l.cells[i]}
		}
		l.knee, l.kneed = judge.KneeOf(loads, floor)
		i := slices.IndexFunc(sought, func(k result.Knee) bool {
			found := k.Missing == "" && k.UpTo > 0 && k.UpTo < k.Over && k.Over <= harness.MaxRate
			return found && k.Lock == l.s.Lock.Name && k.Workload.Workers == s.workers && judge.Axes(k.Workload) == s.context
		})
		if i >= 0 {
			l.sought = &sought[i]
		}
	}
}

// closedLike returns the group of the run whose workload is load in a closed loop, or nil.
func (g *group) closedLike(load harness.Workload) *group {
	load.Rate, load.Arrivals, load.Deadline = 0, harness.Poisson, 0
	i := slices.IndexFunc(g.both, func(o *group) bool { return o.Remote == g.Remote && o.Axes == judge.Axes(load) })
	if i < 0 {
		return nil
	}
	return g.both[i]
}

// fill selects the number of workers at which most locks were measured, and adds these
// locks.
func (s *loadSweep) fill(closed *group) {
	most := 0
	for _, g := range s.groups {
		for _, w := range g.Workers {
			if n := len(g.at(w)); n > most || n == most && w > s.workers {
				most, s.workers = n, w
			}
		}
	}
	byName := make(map[string]*loadedLock)
	for i, g := range s.groups {
		for _, x := range g.at(s.workers) {
			l := byName[x.Lock.Name]
			if l == nil {
				l = &loadedLock{s: x, cells: make([]*cell, len(s.rates))}
				byName[x.Lock.Name] = l
				s.locks = append(s.locks, l)
			}
			l.cells[i] = x.Cells[s.workers]
		}
	}
	if closed != nil {
		for _, x := range closed.at(s.workers) {
			if l := byName[x.Lock.Name]; l != nil {
				if v := x.Cells[s.workers].Summary(result.Throughput).Median; v > 0 && v < 1e12 { // otherwise it is damage
					l.closed = v
				}
			}
		}
	}
	slices.SortFunc(s.locks, func(a, b *loadedLock) int {
		return cmp.Or(cmp.Compare(slices.Index(harness.Families, a.s.Lock.Family), slices.Index(harness.Families, b.s.Lock.Family)),
			cmp.Compare(a.s.Lock.Name, b.s.Lock.Name))
	})
}

// at returns the saturation point of l with its interval, or "" if neither results nor
// search found it.
func (l *loadedLock) at() string {
	switch k := l.knee; {
	case l.kneed && k.UpTo == 0:
		return fmt.Sprintf("under %v", k.Over)
	case l.kneed && k.Over == 0 && k.From == k.UpTo:
		return fmt.Sprintf("%v or more", k.UpTo)
	case l.kneed:
		return fmt.Sprintf("%v [%s .. %s]", k.UpTo, bound(k.From, "less"), bound(k.To, "more"))
	case l.sought != nil:
		return l.probed() + ", by short probes"
	}
	return ""
}

// probed returns the result of the search for the saturation point of l.
func (l *loadedLock) probed() string {
	return fmt.Sprintf("%v .. %v", l.sought.UpTo.Rounded(result.KneeFigures), l.sought.Over.Rounded(result.KneeFigures))
}

// bound returns r, or beyond if r is unknown.
func bound(r harness.Rate, beyond string) string {
	if r == 0 {
		return beyond
	}
	return r.String()
}

// why gives the reason for the upper end of the loads that l sustains, in a sentence
// without its end.
func (l *loadedLock) why() string {
	k := l.knee
	switch k.Rule {
	case result.LimitGranted:
		return fmt.Sprintf("at %v it grants less than %d %% of what is asked for", k.Over, result.LeastGoodput)
	case result.LimitP99:
		return fmt.Sprintf("at %v p99 passes %d times its unloaded value, %s at %v", k.Over, result.MostSlowdown, numfmt.Nanos(k.RestP99), k.Rest)
	}
	return fmt.Sprintf("this run asked for no more, and p99 is %s there", numfmt.Nanos(k.P99))
}

// wait returns quantile q of the waits of l at rate i over all rounds, or the floor of the
// clock if that is greater. ok is false if there are too few samples.
func (l *loadedLock) wait(i int, q, floor float64) (v float64, ok bool) {
	if l.cells[i] == nil {
		return 0, false
	}
	v, ok = result.Quantile(l.cells[i].Waits(), q)
	return max(v, floor, 1), ok
}

func (s *loadSweep) floor() (most float64) {
	for _, g := range s.groups {
		most = max(most, g.Floor())
	}
	return most
}

func noLoads(g *group) picture {
	kind := "local"
	if g.Remote {
		kind = "distributed"
	}
	return nothing("This run has no open loop of a %s lock; one with --rate auto, or --workers 64 --rate 500/s,1k/s, shows how long its acquisitions wait at a given load.", kind)
}

func (s *loadSweep) load() string { return numfmt.Plural(s.workers, "worker") + ", " + s.context }

func (s *loadSweep) table() table {
	ms := []*result.Metric{result.Offered, result.Throughput, result.Goodput, result.Late, result.Dropped, result.Backlog}
	t := table{head: slices.Concat(titles("lock", "load"), byName(ms...), titles("p50", "p99", "p99.9", "closed loop", "knee"))}
	for _, l := range s.locks {
		for i, r := range s.rates {
			if l.cells[i] == nil {
				continue
			}
			row := []string{l.s.Lock.Name, r.String()}
			for _, m := range ms {
				row = append(row, cellText(m, l.cells[i].Summary(m)))
			}
			for _, q := range []float64{0.5, 0.99, 0.999} {
				row = append(row, quoted(l.cells[i].Waits(), q, s.floor()))
			}
			closed := unknown
			if l.closed > 0 {
				closed = numfmt.PerSecond(l.closed)
			}
			t.rows = append(t.rows, append(row, closed, cmp.Or(l.at(), unknown)))
		}
	}
	return t
}
