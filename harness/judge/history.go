package judge

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"locklab/harness"
	"locklab/harness/result"
	"locklab/internal/stat"
)

// The verdicts on a series of runs, in addition to those on two.
const (
	Steady   Verdict = "no change found"          // no step, with enough runs for one
	FewRuns  Verdict = "too few runs"             // a step and an off day cannot be distinguished
	OffRun   Verdict = "newest run is an outlier" // to the worse; another run will show whether it stays
	OneRun   Verdict = "measured once"
	OffWorse Verdict = "outlier, worse"  // a single run off its level
	OffBest  Verdict = "outlier, better" // likewise
)

// HistoryOptions determine the runs of a series, and when a difference counts.
type HistoryOptions struct {
	CompareOptions
	AsGiven bool // keep the order of the runs; otherwise they are ordered by the date of their manifests

	// To names reference locks, if any: figures are ratios to the first of them that
	// the same round has under the same workload; local locks have local references.
	To []string
}

// A History is the comparison of several runs, machine by machine.
type History struct {
	Sites     []Site          `json:"machines"`
	Series    []HistorySeries `json:"-"`
	Alpha     float64         `json:"alpha"`
	Tolerance float64         `json:"tolerance"`
	Tests     int             `json:"comparisons"`  // of neighbouring runs
	Level     float64         `json:"level"`        // confidence of each of their intervals: all hold together with 1 - Alpha
	Few       int             `json:"least_runs"`   // for a step
	To        []string        `json:"to,omitempty"` // HistoryOptions.To
	Warnings  []string        `json:"warnings"`
}

// A Site is a machine with its runs.
type Site struct {
	Name string  `json:"name"` // unique
	Runs []Visit `json:"runs"`
}

// A Visit is a run of a series.
type Visit struct {
	Manifest result.Manifest `json:"manifest"`
	Dir      string          `json:"dir"`
	Name     string          `json:"name"`       // "BASE", "NEW", or such as "run 3"
	Differs  []string        `json:"differs"`    // conditions that differ from the run before, such as "kernel 6.1 and 6.18"
	SameCode bool            `json:"same_build"` // measured by the same build as the run before

	run *result.Run
}

// Date returns the start of v.
func (v *Visit) Date() string { return v.Manifest.Started.UTC().Format("2006-01-02 15:04") }

// Commit returns the short commit of v's build.
func (v *Visit) Commit() string { return cmp.Or(v.Manifest.ShortCommit(), "unknown") }

// A HistorySeries is one case by one metric, over the runs of a machine, or over the base and
// the new run of a [Comparison].
type HistorySeries struct {
	Site     int
	Lock     result.Lock
	Workload harness.Workload
	Metric   *result.Metric
	Points   []HistoryPoint // one of each run of the machine
	Changes  []Change
	Verdict  Verdict

	to []string // HistoryOptions.To
}

// A HistoryPoint is a case in a run.
type HistoryPoint struct {
	stat.Summary        // the median of the rounds, with an interval of 95 %; N is 0 if there is no figure
	Gap          string // reason for a missing or incomplete figure, or ""
	Missing      bool   // planned in the run
	Broke        bool   // the lock broke a promise in the run

	// Before is the ratio to the last earlier run with a figure, with P corrected for
	// all comparisons. Verdict is on these two runs. N is 0 in the first run.
	Before  stat.Ratio
	Verdict Verdict

	Off Verdict // OffWorse or OffBest for a single run off its level, else ""

	value float64 // input of the search for steps
}

// A Change is a step of a series that exceeds the tolerance.
type Change struct {
	At      int     `json:"-"`       // the first point after it
	Old     float64 `json:"before"`  // the median of the runs of that level
	New     float64 `json:"after"`   // likewise
	Ratio   *Ratio  `json:"ratio"`   // of the runs after it to the runs before; 95 %; P is corrected for all cases of the machine
	Verdict Verdict `json:"verdict"` // Better or Regressed
}

// Title names the figures of s: the metric, and its reference locks.
func (s *HistorySeries) Title() string {
	if len(s.to) == 0 {
		return s.Metric.Name
	}
	return s.Metric.Name + " to " + strings.Join(s.to, ", ")
}

// Note returns the reason for the verdict if the figures do not show it.
func (s *HistorySeries) Note() string { return s.Points[len(s.Points)-1].Gap }

// Case returns the benchmark name of s's case.
func (s *HistorySeries) Case() string { return caseName(s.Lock.Name, s.Workload) }

// Figures returns the number of points of s with a figure.
func (s *HistorySeries) Figures() int {
	return len(slices.DeleteFunc(slices.Clone(s.Points), func(p HistoryPoint) bool { return p.N == 0 }))
}

// Outcome returns the worst of h's verdicts: Worse if the last change of a case is for
// the worse, else Unsure if a case is inconclusive.
func (h *History) Outcome() Outcome { return outcomeOf(h.Series) }

// NewHistory compares several different runs. The error wraps harness.ErrUsage if no machine has two runs
// with a case in common.
func NewHistory(runs []*result.Run, o HistoryOptions) (*History, error) {
	if len(o.Metrics) == 0 {
		o.Metrics = Metrics[:1]
	}
	h := &History{Alpha: cmp.Or(o.Alpha, DefaultAlpha), Tolerance: stat.DefaultTolerance, To: o.To, Warnings: []string{}}
	if o.Tolerance != nil {
		h.Tolerance = *o.Tolerance
	}
	if len(runs) < 2 {
		return nil, fmt.Errorf("%w: a history takes two runs at least, got %d", harness.ErrUsage, len(runs))
	}
	runs = slices.Clone(runs)
	if !o.AsGiven {
		slices.SortStableFunc(runs, func(a, b *result.Run) int { return a.Manifest.Started.Compare(b.Manifest.Started) })
	}
	o, err := o.setAgainst(runs)
	if err != nil {
		return nil, err
	}
	sites := result.GroupBy(runs, func(r *result.Run) string { return r.Manifest.Machine.Identity(o.AnyHost) })
	names := siteNames(sites)
	var tests []test
	for i, site := range sites {
		h.Sites = append(h.Sites, Site{Name: names[i], Runs: visits(site)})
		series, ts := seriesOf(i, len(h.Series), site, o)
		h.Series, tests = append(h.Series, series...), append(tests, ts...)
		if len(site) == 1 {
			h.Warnings = append(h.Warnings, fmt.Sprintf("%s has one run: there is nothing to compare it with", names[i]))
		}
	}
	if len(tests) == 0 && !slices.ContainsFunc(h.Series, func(s HistorySeries) bool { return s.Verdict == Regressed || s.Verdict == Expected }) {
		return nil, fmt.Errorf("%w: no case has a figure of %s in two runs of one machine: runs are of one machine if its host, processors, system and GOMAXPROCS are the same",
			harness.ErrUsage, metricNames(o.Metrics))
	}
	h.Tests, h.Level = len(tests), judgeTests(h.Series, tests, h.Alpha, h.Tolerance, false)
	h.steps(len(sites))
	for i := range h.Series {
		h.Series[i].setVerdict(h)
	}
	slices.SortStableFunc(h.Series, byCase(o.Metrics))
	h.Warnings = append(h.Warnings, historyWarnings(h)...)
	return h, nil
}

func siteNames(sites [][]*result.Run) (names []string) {
	for _, runs := range sites {
		e := runs[0].Manifest.Machine
		name := cmp.Or(strings.TrimSpace(e.Host), e.String(), "unknown machine")
		unique := name
		for n := 2; slices.Contains(names, unique); n++ {
			unique = fmt.Sprintf("%s (%d)", name, n)
		}
		names = append(names, unique)
	}
	return names
}

func visits(runs []*result.Run) (out []Visit) {
	for i, r := range runs {
		v := Visit{Manifest: r.Manifest, Dir: r.Dir, run: r, Name: fmt.Sprintf("run %d", i+1), Differs: []string{}}
		if i > 0 {
			was, is := runs[i-1].Manifest, r.Manifest
			v.Differs = append(v.Differs, differences(was, is, match(nil, runs[i-1], r))...)
			v.SameCode = was.Binary != "" && was.Binary == is.Binary ||
				(was.Binary == "" || is.Binary == "") && was.Commit != "" && was.Commit == is.Commit && !strings.HasSuffix(is.Commit, "+dirty")
		}
		out = append(out, v)
	}
	return out
}

func (h *History) steps(sites int) {
	few := func(s Site) bool { return len(s.Runs) < stat.MinSteps(h.Alpha) }
	enough := len(slices.DeleteFunc(slices.Clone(h.Sites), few))
	alpha := h.Alpha / float64(max(1, enough))
	h.Few = stat.MinSteps(alpha)
	for site := range sites {
		var of []*HistorySeries
		var values [][]float64
		for i := range h.Series {
			if s := &h.Series[i]; s.Site == site {
				of, values = append(of, s), append(values, s.values(0, len(s.Points)))
			}
		}
		for i, steps := range stat.Steps(values, alpha) {
			of[i].change(steps, h.Tolerance)
		}
	}
}

// values returns NaN for a missing figure.
func (s *HistorySeries) values(from, to int) []float64 {
	return result.Each(s.Points[from:to], func(p HistoryPoint) float64 { return p.value })
}

// change keeps the steps to a level that differs from the last one by more than the
// tolerance: of consecutive small steps, the last counts.
func (s *HistorySeries) change(steps []stat.Step, tolerance float64) {
	if len(steps) == 0 {
		return
	}
	level := s.values(0, steps[0].At)
	for i, step := range steps {
		end := len(s.Points)
		if i+1 < len(steps) {
			end = steps[i+1].At
		}
		next := s.values(step.At, end)
		const confidence = 0.95
		ratio := stat.Unpaired(next, level, confidence)
		ratio.P = step.P
		worse := worse(s.Metric, ratio).Median
		if max(worse, 1/worse) <= 1+tolerance {
			continue
		}
		c := Change{At: step.At, Old: stat.Median(level), New: stat.Median(next), Ratio: compared(s.Metric, ratio, tolerance), Verdict: Better}
		if worse > 1 {
			c.Verdict = Regressed
		}
		s.Changes, level = append(s.Changes, c), next
	}
}
