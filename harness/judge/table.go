package judge

import (
	"cmp"
	"slices"
	"strings"

	"locklab/harness"
	"locklab/harness/result"
	"locklab/internal/stat"
)

// DefaultBaseline is the default lock that locks of one process are compared with.
// DefaultOfReaders is the one that a Go program uses if it mostly reads.
const (
	DefaultBaseline  = "sync-mutex"
	DefaultOfReaders = "sync-rwmutex"
)

// A Table compares the cases of a workload with a baseline. In a table of locks, a column is
// a number of workers, a row is a lock, and the comparisons of a table are one family. In a
// table of runs, a column is a run, a row is a case, and the comparisons of all tables are
// one family.
type Table struct {
	Distributed bool     `json:"distributed"`
	Workload    string   `json:"workload"`          // without the workers, such as "hold=100ns"
	Machine     string   `json:"machine,omitempty"` // of a history
	Baseline    string   `json:"baseline"`          // a lock or a run
	Columns     []Column `json:"columns"`
	Detail      int      `json:"detail"` // column of the waits, fairness and cost in the rows; -1 if they have none
	Rows        []Entry  `json:"rows"`   // of locks: by the ratio in that column, greatest first; violators last
}

const noDetail = -1

// A Column is a number of workers, or a run.
type Column struct {
	Workers int     `json:"workers,omitempty"`
	Run     string  `json:"run,omitempty"`
	Metric  string  `json:"metric"` // the name of the compared metric
	Unit    string  `json:"unit"`
	Better  string  `json:"better"` // result.Higher or result.Lower
	Level   float64 `json:"level"`  // confidence of each interval: all of the family hold together with 95 %, or 1 - alpha of a comparison of runs
	Rate    *Figure `json:"rate"`   // of a baseline lock, in Unit
}

// An Entry is a row of a table: the figures of one lock.
type Entry struct {
	Lock   string         `json:"lock"`
	Status harness.Status `json:"status"`
	Ratios []*Ratio       `json:"ratios"` // by column; nil if it was not measured there
	Modes  [][]Mode       `json:"modes"`  // by column; nil if the rates of its rounds are one group

	// Figures in column Detail; nil if not available.
	Moment   *Figure `json:"moment"`   // ns, p99 of the wait of a worker at a random moment
	P99      *Figure `json:"p99"`      // ns, p99 of the wait of an acquisition
	Longest  *Figure `json:"longest"`  // ns, the longest time without an acquisition of some worker
	Jain     *Figure `json:"jain"`     // Jain's fairness index in percent
	CPU      *Figure `json:"cpu"`      // ns of processor time per acquisition
	Requests *Figure `json:"requests"` // messages to servers per acquisition

	// Violated is the number of the lock's results in the run with a violation. Rule is the
	// first violated rule.
	Violated int    `json:"violated"`
	Results  int    `json:"results"` // of a violator
	Rule     string `json:"rule"`

	Case *Case `json:"case,omitempty"` // in a table of runs
}

// A Figure is a value with its number of rounds or samples.
type Figure struct {
	Value  float64 `json:"value"`
	Lo     float64 `json:"lo,omitempty"` // interval of 95 %; 0 if unknown
	Hi     float64 `json:"hi,omitempty"`
	N      int64   `json:"n"`
	AtMost bool    `json:"at_most"`         // Value is an upper bound
	Rough  bool    `json:"rough,omitempty"` // less than ten samples lie beyond Value
}

// A Ratio is the figure of a lock divided by the figure of the baseline in the same rounds.
type Ratio struct {
	Median  float64      `json:"median"`
	Lo      float64      `json:"lo"` // 0 if there are too few rounds for an interval
	Hi      float64      `json:"hi"`
	N       int          `json:"n"`                // rounds
	Blocks  int          `json:"blocks,omitempty"` // of the lock, if the locks took turns
	Reading Significance `json:"reading"`
	P       float64      `json:"p"` // of two runs corrected for all comparisons, of two locks not
}

// A Significance grades the difference between a lock and the baseline.
type Significance string

const (
	Faster     Significance = "faster"     // significantly; better, if the metric is no rate
	Slower     Significance = "slower"     // significantly
	Equivalent Significance = "equivalent" // the whole interval is within the tolerance
	Noisy      Significance = "noisy"      // neither significant nor equivalent
	TooFew     Significance = "too few rounds"
)

// A Power counts the large differences in tables that are significant.
type Power struct {
	Large       int `json:"large"`       // ratios that differ from 1 by 25 % or more
	Significant int `json:"significant"` // of these
}

// PowerOf returns the power of the comparisons in ts.
func PowerOf(ts []Table) (p Power) {
	const large = 1.25
	for _, t := range ts {
		for _, row := range t.Rows {
			for _, r := range row.Ratios {
				if r == nil || row.Lock == t.Baseline || r.Median < large && r.Median > 1/large {
					continue
				}
				p.Large++
				if r.Reading.Significant() {
					p.Significant++
				}
			}
		}
	}
	return p
}

// Significant reports whether the lock differs significantly from the baseline.
func (s Significance) Significant() bool { return s == Faster || s == Slower }

// Tables returns a table for each closed-loop workload of run, or for each open-loop one if its
// locks have no other. The baseline is the lock of that name, if the workload has it, or else
// the default one.
func Tables(run *result.Run, baseline string) []Table { return tablesBy(nil, run, baseline) }

func (g *Group) table(baseline string) Table {
	most := g.MostWorkers()
	base := g.baseline(baseline, most)
	t := Table{Distributed: g.Remote, Workload: g.Axes, Baseline: base.Lock.Name, Detail: slices.Index(g.Workers, most)}
	for _, w := range g.Workers {
		m := g.Metric(w)
		t.Columns = append(t.Columns, Column{Workers: w, Metric: m.Name, Unit: m.Unit, Better: m.Better, Level: g.level(), Rate: figure(base.Cells[w].Summary(m))})
	}
	t.Rows = result.Each(g.Series, func(s *Series) Entry { return t.entry(g, s, base) })
	slices.SortStableFunc(t.Rows, func(a, b Entry) int { return cmp.Compare(b.ratio(t.Detail), a.ratio(t.Detail)) })
	t.Rows = append(t.Rows, g.violators()...)
	return t
}

// Metric returns the metric that compares locks at a number of workers.
func (g *Group) Metric(workers int) *result.Metric {
	return Situation{group: g, Workers: workers}.Metric()
}

// baseline returns the named lock, else sync.Mutex or the fastest peer, else the first lock in the
// flag --locks of the run, else the first by family and name.
func (g *Group) baseline(name string, workers int) (found *Series) {
	best := 0.0
	named := func(name string) *Series {
		if i := slices.IndexFunc(g.Series, func(s *Series) bool { return s.Lock.Name == name }); i >= 0 {
			return g.Series[i]
		}
		return nil
	}
	if found = cmp.Or(named(name), named(DefaultBaseline)); found != nil {
		return found
	}
	at := g.At(workers)
	for _, s := range at {
		if rate := s.Cells[workers].Summary(g.Metric(workers)); s.Lock.Family == harness.Peer && correct(s.Lock) && rate.Median > best {
			found, best = s, rate.Median
		}
	}
	if found != nil {
		return found
	}
	words := strings.FieldsFunc(g.Run.Manifest.Flags["locks"], func(r rune) bool { return r == ',' || r == '|' })
	for _, word := range words {
		if i := slices.IndexFunc(at, func(s *Series) bool { return s.Lock.Name == word }); i >= 0 {
			return at[i]
		}
	}
	return at[0]
}

func (t Table) entry(g *Group, s, base *Series) Entry {
	r := Entry{Lock: s.Lock.Name, Status: s.Lock.Status}
	for _, c := range t.Columns {
		var ratio *Ratio
		var ms []Mode
		if a := s.Cells[c.Workers]; a != nil {
			ms = a.modes(g.Metric(c.Workers))
			ratio = g.ratios(c.Workers, base, c.Level)[s]
		}
		r.Ratios, r.Modes = append(r.Ratios, ratio), append(r.Modes, ms)
	}
	if c := s.Cells[t.Columns[t.Detail].Workers]; c != nil {
		r.P99, r.Moment, r.Longest = Quantile(c.Waits(), 0.99, g.Floor()), Moment(c.Waits(), 0.99, g.Floor()), Longest(c)
		r.Jain, r.CPU, r.Requests = figure(c.Summary(result.Jain)), figure(c.Summary(result.CPU)), figure(c.Summary(result.Requests))
	}
	return r
}

// level returns the confidence of each comparison with the baseline in the table of g.
func (g *Group) level() float64 {
	return stat.Level(g.Cases - len(g.Workers))
}

// comparisons are those of all locks with a base.
type comparisons struct {
	workers int
	base    *Series
	level   float64
}

// ratios returns the rate of each series over the rate of the base in common rounds; nil
// without one.
func (g *Group) ratios(w int, base *Series, level float64) map[*Series]*Ratio {
	f := comparisons{w, base, level}
	if out := g.ratiosOf[f]; out != nil || base.Cells[w] == nil {
		return out
	}
	out := make(map[*Series]*Ratio)
	at := g.At(w)
	rs := result.Each(at, func(s *Series) stat.Ratio {
		xs, ys := Pairs(s.Cells[w], base.Cells[w], g.Metric(w))
		return stat.Paired(xs, ys, level)
	})
	for i, r := range stat.Moderate(rs) {
		if c := compared(g.Metric(w), r, g.Run.Manifest.ToleranceOrDefault()); c != nil {
			c.Blocks = at[i].Cells[w].blocks()
			out[at[i]] = c
		}
	}
	if g.ratiosOf == nil {
		g.ratiosOf = make(map[comparisons]map[*Series]*Ratio)
	}
	g.ratiosOf[f] = out
	return out
}

func compared(m *result.Metric, r stat.Ratio, tolerance float64) *Ratio {
	if r.N == 0 {
		return nil
	}
	out := &Ratio{Median: finite(r.Median), N: r.N, Reading: TooFew, P: r.P}
	if !r.Enough() {
		return out
	}
	out.Lo, out.Hi = finite(r.Lo), finite(r.Hi) // a rate of 0 makes it infinite
	switch {
	case r.Lo >= 1/(1+tolerance) && r.Hi <= 1+tolerance:
		out.Reading = Equivalent
	case r.Lo > 1 && m.Better == result.Lower, r.Hi < 1 && m.Better != result.Lower:
		out.Reading = Slower
	case r.Lo > 1, r.Hi < 1:
		out.Reading = Faster
	default:
		out.Reading = Noisy
	}
	return out
}

func (r Entry) ratio(i int) float64 {
	if r.Ratios[i] == nil {
		return 0
	}
	return r.Ratios[i].Median
}

func (g *Group) violators() (out []Entry) {
	for _, x := range Exclusions(g.Run) {
		here := slices.ContainsFunc(g.Run.Results, func(r *result.Result) bool {
			return r.Lock.Name == x.Lock.Name && g.Remote == (r.Lock.Traits.Needs != "") && g.Axes == Axes(r.Workload)
		})
		if here && x.Violated > 0 {
			out = append(out, Entry{Lock: x.Lock.Name, Status: x.Lock.Status, Ratios: make([]*Ratio, len(g.Workers)), Modes: make([][]Mode, len(g.Workers)),
				Violated: x.Violated, Results: x.Results, Rule: x.Violation.Rule})
		}
	}
	return out
}

func figure(s stat.Summary) *Figure {
	if s.N == 0 {
		return nil
	}
	f := &Figure{Value: finite(s.Median), N: int64(s.N), AtMost: s.AtMost}
	if s.Confidence >= stat.Level(1) {
		f.Lo, f.Hi = s.Lo, finite(s.Hi)
	}
	return f
}

// Quantile returns quantile q of h; nil if h has too few samples.
func Quantile(h result.Histogram, q, floor float64) *Figure {
	v, ok := result.Quantile(h, q)
	return waited(h, v, floor, ok)
}

func waited(h result.Histogram, v, floor float64, known bool) *Figure {
	if !known {
		return nil
	}
	return &Figure{Value: max(v, floor), N: h.Count(), AtMost: v < floor}
}

// Moment returns quantile q of the wait at a random moment; nil if h has too few samples.
func Moment(h result.Histogram, q, floor float64) *Figure {
	_, ok := result.Quantile(h, q)
	f := waited(h, h.TimeQuantile(q), floor, ok)
	if f != nil {
		f.Rough = q > h.ResolvedTime()
	}
	return f
}

// Longest returns the longest wait in the rounds of c; nil if it was not recorded.
func Longest(c *Cell) *Figure {
	unserved := c.Figures(result.Unserved)
	if len(unserved) == 0 {
		return nil
	}
	f := &Figure{Value: slices.Max(unserved), N: int64(len(unserved))}
	if waits := c.Waits(); len(waits) > 0 { // the last wait may end after the window
		f.Value = max(f.Value, waits.Quantile(1))
	}
	return f
}
