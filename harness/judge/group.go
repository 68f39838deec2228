package judge

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"

	"locklab/harness"
	"locklab/harness/result"
	"locklab/internal/machine"
	"locklab/internal/numfmt"
	"locklab/internal/stat"
)

// A Group is the results of one run whose workloads differ only in the number of workers,
// for local or for distributed locks.
type Group struct {
	Remote  bool
	Axes    string           // the workload without the workers, such as "hold=100ns"
	Load    harness.Workload // workload of one case of the group
	Run     *result.Run      // the run of the group
	CPUs    int              // whole processors for the workers of local locks in every window; 0 if unknown
	Limit   float64          // processors that the control groups allowed, the least of all windows; 0 is no limit
	Taken   bool             // others, the host or the CPU limit took processor time in some window
	Workers []int            // ascending
	Series  []*Series        // by family, then by name
	Cases   int

	floor    float64                            // see Floor
	ratiosOf map[comparisons]map[*Series]*Ratio // computed on demand
	metric   *result.Metric                     // compares the locks, instead of the metric of the situation
}

// A Series is one lock in a group. A lock with a violation anywhere in the run has no
// series: it is listed as broken and not drawn.
type Series struct {
	Lock  result.Lock
	Cells map[int]*Cell // by workers
}

// A Cell is the rounds of one lock at one number of workers.
type Cell struct {
	Rounds map[int]*result.Result
	wait   *result.Histogram // of all rounds together, computed on demand
	order  []*result.Result  // by round, computed on demand
}

// Groups sorts the results of run into groups: local before remote, closed loops before
// open ones, and those with more cases first.
func Groups(run *result.Run) []*Group {
	type key struct {
		remote bool
		axes   string
	}
	broken := Violations(run)
	sound := slices.DeleteFunc(slices.Clone(run.Results), func(r *result.Result) bool {
		return r.Workload.Workers < 1 || broken[r.Lock.Name] != nil
	})
	var out []*Group
	for _, rs := range result.GroupBy(sound, func(r *result.Result) key { return key{r.Lock.Traits.Needs != "", Axes(r.Workload)} }) {
		w := rs[0].Workload
		g := &Group{Remote: rs[0].Lock.Traits.Needs != "", Axes: Axes(w), Load: w, CPUs: processors(run, w), Limit: run.Manifest.Machine.CPULimit, Run: run}
		for _, of := range result.GroupBy(rs, lockName) {
			s := &Series{Lock: of[0].Lock, Cells: make(map[int]*Cell)}
			for _, r := range of {
				g.see(r)
				if s.Cells[r.Workload.Workers] == nil {
					s.Cells[r.Workload.Workers] = &Cell{Rounds: make(map[int]*result.Result)}
				}
				s.Cells[r.Workload.Workers].Rounds[r.Round] = r
			}
			g.Series, g.Cases = append(g.Series, s), g.Cases+len(s.Cells)
			g.Workers = slices.AppendSeq(g.Workers, maps.Keys(s.Cells))
		}
		slices.Sort(g.Workers)
		g.Workers = slices.Compact(g.Workers)
		out = append(out, g)
	}
	return arrange(out)
}

func lockName(r *result.Result) string { return r.Lock.Name }

var last = map[bool]int{true: 1} // orders values with a property after others

func arrange(gs []*Group) []*Group {
	for _, g := range gs {
		slices.SortFunc(g.Series, func(a, b *Series) int {
			return cmp.Or(cmp.Compare(family(a), family(b)), cmp.Compare(a.Lock.Name, b.Lock.Name))
		})
	}
	slices.SortFunc(gs, func(a, b *Group) int {
		return cmp.Or(last[a.Remote]-last[b.Remote], last[a.Open()]-last[b.Open()], cmp.Compare(b.Cases, a.Cases),
			strings.Count(a.Axes, " ")-strings.Count(b.Axes, " "), // fewer axes off their default
			cmp.Compare(a.Axes, b.Axes))
	})
	return gs
}

// Open reports whether the cases of g are open loops.
func (g *Group) Open() bool { return g.Load.Rate > 0 }

func family(s *Series) int { return slices.Index(harness.Families, s.Lock.Family) }

// Axes returns the name of w without its first part, the workers.
func Axes(w harness.Workload) string {
	_, rest, _ := strings.Cut(w.Name(), "/")
	return strings.ReplaceAll(rest, "/", " ")
}

func processors(run *result.Run, w harness.Workload) int {
	m := run.Manifest.Machine
	n := cmp.Or(max(0, w.GOMAXPROCS), m.GOMAXPROCS)
	if m.CPUs > 0 && (n == 0 || n > m.CPUs) {
		n = m.CPUs
	}
	return n
}

func (g *Group) see(r *result.Result) {
	if n := r.Noise; n != nil && n.CPUs > 0 {
		g.CPUs = min(g.CPUs, n.CPUs)
		if n.Limit > 0 && (g.Limit == 0 || n.Limit < g.Limit) {
			g.Limit = n.Limit
		}
	}
	if f := result.Floor(r); f < 1e12 { // 17 minutes: more is damage
		g.floor = max(g.floor, f)
	}
	if g.Limit > 0 && g.CPUs > 0 {
		g.CPUs = min(g.CPUs, max(1, int(g.Limit)))
	}
	g.Taken = g.Taken || slices.ContainsFunc(r.Warnings, func(w machine.Warning) bool {
		return w.Kind == "steal" || w.Kind == "others" || w.Kind == "throttled"
	})
}

// Processors describes the processors that the workers of local locks share, such as "2 CPUs".
func (g *Group) Processors() string {
	if g.Limit > 0 && g.Limit < float64(g.CPUs)+1 {
		return numfmt.Number(g.Limit) + " CPUs"
	}
	return numfmt.Plural(g.CPUs, "CPU")
}

// MostWorkers returns the greatest number of workers with at least three quarters of the greatest
// number of measured locks. (A lock for two workers must not turn every chart into one of
// two workers.) Controls do not count.
func (g *Group) MostWorkers() int {
	locks := make([]int, len(g.Workers))
	for i, w := range g.Workers {
		for _, s := range g.At(w) {
			if s.Lock.Status != harness.Control {
				locks[i]++
			}
		}
	}
	most := slices.Max(locks)
	for i, n := range slices.Backward(locks) {
		if 4*n >= 3*most {
			return g.Workers[i]
		}
	}
	return g.Workers[len(g.Workers)-1]
}

// At returns the series that were measured with w workers.
func (g *Group) At(w int) []*Series {
	return slices.DeleteFunc(slices.Clone(g.Series), func(s *Series) bool { return s.Cells[w] == nil })
}

// Floor returns the latency, in nanoseconds, below which the quantiles of g are limited by
// the clock; 0 if unknown.
func (g *Group) Floor() float64 {
	return g.floor
}

// Results returns the results of c, by round. A nil Cell has none.
func (c *Cell) Results() []*result.Result {
	if c == nil {
		return nil
	}
	if len(c.order) != len(c.Rounds) {
		c.order = slices.SortedFunc(maps.Values(c.Rounds), func(a, b *result.Result) int { return a.Round - b.Round })
	}
	return c.order
}

// Summary summarizes m over the rounds of c; N is 0 if no round has it.
func (c *Cell) Summary(m *result.Metric) stat.Summary { return m.Summary(c.Results()) }

// mostShared is the number of rounds up to which a block is compared with all blocks of a
// reference in its pass. If noise is skewed, the median of these ratios favours one of two equal
// locks, by less than shows in so few rounds.
const mostShared = 20

// Pairs returns m in the common rounds of a and b, in order. For a rate of two locks whose
// blocks alternated in one process, the pair is the median of the ratios of their blocks
// in the same pass, and 1, unless that is 0 or infinite. Figures that either clock cannot
// resolve are equal.
func Pairs(a, b *Cell, m *result.Metric) (xs, ys []float64) {
	for _, r := range a.Results() {
		other := b.Rounds[r.Round]
		if other == nil {
			continue
		}
		if ratio, ok := blockRatio(r, other, m, min(len(a.Rounds), len(b.Rounds)) <= mostShared); ok {
			xs, ys = append(xs, ratio), append(ys, 1)
			continue
		}
		x, y := gateReadings(m, []*result.Result{r}), gateReadings(m, []*result.Result{other})
		if floor := floorOf(x, y); len(x) > 0 && len(y) > 0 {
			xs, ys = append(xs, max(x[0].Value, floor)), append(ys, max(y[0].Value, floor))
		}
	}
	return xs, ys
}

// blockRatio returns the median ratio of the blocks of a to the blocks of b in the same
// pass: all, or one of each. ok is false if m is not a rate, if a or b has no figure of m, if
// they were not measured in one process, or if the median is 0 or infinite.
func blockRatio(a, b *result.Result, m *result.Metric, all bool) (ratio float64, ok bool) {
	x, y := a.Blocks, b.Blocks
	if x == nil || y == nil || x.Process != y.Process || !x.Valid() || !y.Valid() || !m.Read(a).Known || !m.Read(b).Known {
		return 0, false
	}
	of := func(b *result.Blocks) []uint64 { return b.Ops }
	switch m {
	case result.Throughput:
	case result.Handovers:
		of = func(b *result.Blocks) []uint64 { return b.Handovers }
	default:
		return 0, false
	}
	if !all {
		x, y = x.Firsts(), y.Firsts()
	}
	ratio = stat.MedianRatio(x.Ratios(y, of))
	return ratio, ratio > 0 && !math.IsInf(ratio, 1)
}

func (c *Cell) blocks() (n int) {
	for _, r := range c.Rounds {
		if r.Blocks != nil {
			n += len(slices.DeleteFunc(slices.Clone(r.Blocks.Elapsed), func(ns int64) bool { return ns == 0 }))
		}
	}
	return n
}

// Waits returns the waits of all rounds together, since quantiles cannot be averaged.
func (c *Cell) Waits() result.Histogram {
	if c.wait == nil {
		var all result.Histogram
		for _, r := range c.Results() {
			all = all.Merge(r.Wait)
		}
		c.wait = &all
	}
	return *c.wait
}

// Violations returns the results with a violation, by lock.
func Violations(run *result.Run) map[string][]*result.Result {
	out := make(map[string][]*result.Result)
	for _, r := range run.Results {
		if len(r.Violations) > 0 {
			out[r.Lock.Name] = append(out[r.Lock.Name], r)
		}
	}
	return out
}

// Figures returns m for the rounds of c that have it.
func (c *Cell) Figures(m *result.Metric) (out []float64) {
	for _, r := range c.Results() {
		if v, ok := m.Of(r); ok {
			out = append(out, v)
		}
	}
	return out
}
