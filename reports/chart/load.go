package chart

import (
	"cmp"
	"fmt"
	"slices"

	"locklab/harness"
	"locklab/harness/judge"
	"locklab/harness/result"
	"locklab/internal/numfmt"
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
	S      *series
	Cells  []*Cell // by rate; nil if not measured
	closed float64 // acquisitions per second in the closed loop with as many workers; 0 if not measured

	Saturation    judge.Saturation
	HasSaturation bool // the results give a saturation point
}

// Loads returns the open loops for locks of g's kind, under the conditions with the most
// rates, or nil.
func (g *Group) Loads() *loadSweep {
	var most *loadSweep
	byRest := make(map[string]*loadSweep)
	for _, o := range g.Both {
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
		}
		i, _ := slices.BinarySearch(s.Rates, o.Load.Rate)
		s.Rates, s.groups = slices.Insert(s.Rates, i, o.Load.Rate), slices.Insert(s.groups, i, o)
		if most == nil || len(s.Rates) > len(most.Rates) {
			most = s
		}
	}
	if most != nil {
		most.fill(g.closedLike(most.groups[0].Load))
		most.findSaturations()
	}
	return most
}

func (s *loadSweep) findSaturations() {
	floor := s.floor()
	for _, l := range s.Locks {
		loads := make([]judge.Load, len(s.Rates))
		for i, r := range s.Rates {
			loads[i] = judge.Load{Rate: r, Cell: l.Cells[i]}
		}
		l.Saturation, l.HasSaturation = judge.SaturationOf(loads, floor)
	}
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
				l = &loadedLock{S: x, Cells: make([]*Cell, len(s.Rates))}
				byName[x.Lock.Name] = l
				s.Locks = append(s.Locks, l)
			}
			l.Cells[i] = x.Cells[s.workers]
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
	slices.SortFunc(s.Locks, func(a, b *loadedLock) int {
		return cmp.Or(cmp.Compare(slices.Index(harness.Families, a.S.Lock.Family), slices.Index(harness.Families, b.S.Lock.Family)),
			cmp.Compare(a.S.Lock.Name, b.S.Lock.Name))
	})
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
		return fmt.Sprintf("at %v it grants less than %d %% of what is asked for", k.Over, result.LeastGoodput)
	case result.LimitP99:
		return fmt.Sprintf("at %v p99 passes %d times its unloaded value, %s at %v", k.Over, result.MostSlowdown, numfmt.Nanos(k.RestP99), k.Rest)
	}
	return fmt.Sprintf("this run asked for no more, and p99 is %s there", numfmt.Nanos(k.P99))
}

// wait returns quantile q of the waits of l at rate i over all rounds, or the floor of the
// clock if that is greater. ok is false if there are too few samples.
func (l *loadedLock) wait(i int, q, floor float64) (v float64, ok bool) {
	if l.Cells[i] == nil {
		return 0, false
	}
	v, ok = result.Quantile(l.Cells[i].Waits(), q)
	return max(v, floor, 1), ok
}

func (s *loadSweep) floor() (most float64) {
	for _, g := range s.groups {
		most = max(most, g.Floor())
	}
	return most
}

func (s *loadSweep) load() string { return numfmt.Plural(s.workers, "worker") + ", " + s.context }

func (s *loadSweep) table() Table {
	ms := []*result.Metric{result.Offered, result.Throughput, result.Goodput, result.Late, result.Dropped, result.Backlog}
	t := Table{Head: slices.Concat(Titles("lock", "load"), ByName(ms...), Titles("p50", "p99", "p99.9", "closed loop", "saturation point"))}
	for _, l := range s.Locks {
		for i, r := range s.Rates {
			if l.Cells[i] == nil {
				continue
			}
			row := []string{l.S.Lock.Name, r.String()}
			for _, m := range ms {
				row = append(row, CellText(m, l.Cells[i].Summary(m)))
			}
			for _, q := range []float64{0.5, 0.99, 0.999} {
				row = append(row, quoted(l.Cells[i].Waits(), q, s.floor()))
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
