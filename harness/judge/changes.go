package judge

import (
	"math"

	"locklab/harness/result"
)

// A Case is the part of an [Entry] in a table of runs: a lock with a number of workers.
type Case struct {
	Workers int       `json:"workers"`
	Verdict Verdict   `json:"verdict"`
	Notable bool      `json:"notable"`         // its runs are worth showing
	Level   *Figure   `json:"level,omitempty"` // of a history: the median, the least and the greatest run since the last change; N counts runs
	Runs    []CaseRun `json:"runs"`            // by column
}

// A CaseRun is a case in a run.
type CaseRun struct {
	Figure   *Figure `json:"figure"`
	Violated bool    `json:"violated"`
	Note     string  `json:"note"`             // the reason for a missing figure
	Change   *Change `json:"change,omitempty"` // a step that begins with the run
	Off      Verdict `json:"off,omitempty"`    // of a single run off its level
}

// Tables returns c as one table for each metric and workload: a row is a case, the columns
// are the base and the new run.
func (c *Comparison) Tables() []Table {
	names := []string{"BASE", "NEW"}
	return tablesOf(c.Rows, c.Tolerance, c.Level, func(int) (Table, []string) { return Table{Baseline: names[0]}, names })
}

// Tables returns h as one table for each metric, workload and machine: a row is a case, a
// column is a run, and a ratio is to the last earlier run with a figure.
func (h *History) Tables() []Table {
	return tablesOf(h.Series, h.Tolerance, h.Level, func(site int) (Table, []string) {
		names := result.Each(h.Sites[site].Runs, func(v Visit) string { return v.Name })
		return Table{Baseline: "the run before", Machine: h.Sites[site].Name}, names
	})
}

// tablesOf returns the tables of ss; begin returns an empty table of a site, and its runs.
func tablesOf(ss []HistorySeries, tolerance, level float64, begin func(site int) (Table, []string)) []Table {
	type key struct {
		site   int
		remote bool
		metric *result.Metric
		axes   string
	}
	out := []Table{}
	for _, of := range result.GroupBy(ss, func(s HistorySeries) key { return key{s.Site, s.Lock.Traits.Needs != "", s.Metric, Axes(s.Workload)} }) {
		s := of[0]
		t, runs := begin(s.Site)
		t.Distributed, t.Workload, t.Detail = s.Lock.Traits.Needs != "", Axes(s.Workload), noDetail
		t.Columns = result.Each(runs, func(run string) Column {
			return Column{Run: run, Metric: s.Title(), Unit: s.Metric.Unit, Better: s.Metric.Better, Level: level}
		})
		t.Rows = result.Each(of, func(s HistorySeries) Entry { return s.entry(tolerance, t.Machine != "") })
		out = append(out, t)
	}
	return out
}

// entry returns s as a row of a table, with its level if it is of a history.
func (s *HistorySeries) entry(tolerance float64, history bool) Entry {
	row := Entry{Lock: s.Lock.Name, Status: s.Lock.Status, Modes: make([][]Mode, len(s.Points)), Case: &Case{Workers: s.Workload.Workers, Verdict: s.Verdict, Notable: s.Note() != ""}}
	if history {
		levels := s.Levels()
		row.Case.Notable = s.Notable()
		if l := levels[len(levels)-1]; l.Runs > 0 {
			row.Case.Level = &Figure{Value: l.Median, Lo: l.Least, Hi: l.Most, N: int64(l.Runs)}
		}
	}
	for i, p := range s.Points {
		run := CaseRun{Figure: figure(p.Summary), Violated: p.Broke, Note: p.Gap, Off: p.Off}
		for k := range s.Changes {
			if s.Changes[k].At == i {
				run.Change = &s.Changes[k]
			}
		}
		row.Case.Runs = append(row.Case.Runs, run)
		row.Ratios = append(row.Ratios, compared(s.Metric, p.Before, tolerance))
	}
	return row
}

func finite(v float64) float64 { return min(v, math.MaxFloat64) }
