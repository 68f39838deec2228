package reports

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"locklab/harness"
	"locklab/harness/metric"
	"locklab/harness/resultfile"
	"locklab/harness/stat"
	"locklab/internal/numfmt"
)

// A group is the results of one run whose workloads differ in nothing but the
// number of workers, of local locks or of those kept by servers.
type group struct {
	remote  bool
	axes    string           // the workload without the workers, such as "hold=100ns"
	load    harness.Workload // the same: one of those of the group
	all     []*group         // the groups of the run for the same kind of lock, this one among them
	run     *resultfile.Run  // that the group is of
	both    []*group         // all groups of the run, for local locks and for those kept by servers
	cpus    int              // processors that the workers of local locks share; 0 if unknown
	workers []int            // ascending
	series  []*series
	cases   int
}

// A series is one lock in a group. A lock with a violation anywhere in the run
// has none: it is listed as broken and drawn nowhere.
type series struct {
	lock  harness.Lock
	look  look
	cells map[int]*cell // by workers
}

// A cell is the rounds of one lock at one number of workers.
type cell struct {
	rounds map[int]*harness.Result
	wait   *harness.Histogram // of all rounds together, once asked for
}

// groups sorts the results of run into groups: local before remote, and those
// with more cases first.
func groups(run *resultfile.Run) []*group {
	type key struct {
		remote bool
		axes   string
	}
	byKey := make(map[key]*group)
	bySeries := make(map[*group]map[string]*series)
	looks := assignLooks(run.Results)
	broken := violations(run)
	for _, r := range run.Results {
		if r.Workload.Workers < 1 || broken[r.Lock.Name] != nil {
			continue
		}
		k := key{r.Lock.Traits.Needs != "", axes(r.Workload)}
		g := byKey[k]
		if g == nil {
			g = &group{remote: k.remote, axes: k.axes, load: r.Workload, cpus: processors(run, r.Workload), run: run}
			byKey[k], bySeries[g] = g, make(map[string]*series)
		}
		s := bySeries[g][r.Lock.Name]
		if s == nil {
			s = &series{lock: r.Lock, look: looks[r.Lock.Name], cells: make(map[int]*cell)}
			bySeries[g][r.Lock.Name] = s
			g.series = append(g.series, s)
		}
		c := s.cells[r.Workload.Workers]
		if c == nil {
			c = &cell{rounds: make(map[int]*harness.Result)}
			s.cells[r.Workload.Workers] = c
			g.cases++
		}
		c.rounds[r.Round] = r
		if i, ok := slices.BinarySearch(g.workers, r.Workload.Workers); !ok {
			g.workers = slices.Insert(g.workers, i, r.Workload.Workers)
		}
	}
	return arrange(slices.Collect(maps.Values(byKey)))
}

// arrange sorts gs and what is in them, and makes those of a kind known to each
// other.
func arrange(gs []*group) []*group {
	for _, g := range gs {
		slices.SortFunc(g.series, func(a, b *series) int { return a.look.compare(b.look) })
	}
	slices.SortFunc(gs, func(a, b *group) int {
		if a.remote != b.remote {
			if b.remote {
				return -1
			}
			return 1
		}
		plain := cmp.Compare(strings.Count(a.axes, " "), strings.Count(b.axes, " ")) // fewer axes off their default
		return cmp.Or(cmp.Compare(b.cases, a.cases), plain, cmp.Compare(a.axes, b.axes))
	})
	for _, g := range gs {
		g.both = gs
		g.all = slices.DeleteFunc(slices.Clone(gs), func(o *group) bool { return o.remote != g.remote })
	}
	return gs
}

// axes returns the name of w without its first part, the workers.
func axes(w harness.Workload) string {
	_, rest, _ := strings.Cut(w.Name(), "/")
	return strings.ReplaceAll(rest, "/", " ")
}

// processors returns how many processors local workers share under w.
func processors(run *resultfile.Run, w harness.Workload) int {
	m := run.Manifest.Machine
	n := m.GOMAXPROCS
	if w.GOMAXPROCS > 0 {
		n = w.GOMAXPROCS
	}
	if m.CPUs > 0 && (n == 0 || n > m.CPUs) {
		n = m.CPUs
	}
	return n
}

// crowd returns the greatest number of workers at which most locks were
// measured: three quarters as many as where the most were. (A lock for two
// workers must not turn every chart into one of two workers.) Controls do not
// count.
func (g *group) crowd() int {
	locks := make([]int, len(g.workers))
	for i, w := range g.workers {
		for _, s := range g.at(w) {
			if s.lock.Status != harness.Control {
				locks[i]++
			}
		}
	}
	most := slices.Max(locks)
	for i, n := range slices.Backward(locks) {
		if 4*n >= 3*most {
			return g.workers[i]
		}
	}
	return g.workers[len(g.workers)-1]
}

// at returns the series that were measured with w workers.
func (g *group) at(w int) []*series {
	var out []*series
	for _, s := range g.series {
		if s.cells[w] != nil {
			out = append(out, s)
		}
	}
	return out
}

// floor returns the latency, in nanoseconds, below which the quantiles of g are
// the clock's; 0 if that is not known.
func (g *group) floor() float64 {
	var most float64
	for _, s := range g.series {
		for _, c := range s.cells {
			for _, r := range c.rounds {
				if f := metric.Floor(r); f > most && f < 1e12 { // 17 minutes: more is damage
					most = f
				}
			}
		}
	}
	return most
}

// unit is what contends for a lock of g.
func (g *group) unit(n int) string { return numfmt.Plural(n, "worker") }

// order returns the numbers of the rounds of c, ascending.
func (c *cell) order() []int { return slices.Sorted(maps.Keys(c.rounds)) }

// summary returns what the rounds of c say about m; N is 0 if they say nothing.
func (c *cell) summary(m *metric.Metric) stat.Summary {
	var rounds []*harness.Result
	if c != nil {
		for _, i := range c.order() {
			rounds = append(rounds, c.rounds[i])
		}
	}
	return m.Summary(rounds)
}

// pairs returns m of the rounds that a and b both have, in order.
func pairs(a, b *cell, m *metric.Metric) (xs, ys []float64) {
	for _, i := range a.order() {
		if b.rounds[i] == nil {
			continue
		}
		x, okX := m.Of(a.rounds[i])
		y, okY := m.Of(b.rounds[i])
		if okX && okY {
			xs, ys = append(xs, x), append(ys, y)
		}
	}
	return xs, ys
}

// waits returns the waits of all rounds as one histogram: quantiles of the
// whole, never averages of quantiles.
func (c *cell) waits() harness.Histogram {
	if c.wait == nil {
		var all harness.Histogram
		for _, i := range c.order() {
			all = all.Merge(c.rounds[i].Wait)
		}
		c.wait = &all
	}
	return *c.wait
}

// violations returns the violations of each lock that has any.
func violations(run *resultfile.Run) map[string][]*harness.Result {
	out := make(map[string][]*harness.Result)
	for _, r := range run.Results {
		if len(r.Violations) > 0 {
			out[r.Lock.Name] = append(out[r.Lock.Name], r)
		}
	}
	return out
}
