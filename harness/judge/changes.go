package judge

import (
	"cmp"
	"math"

	"locklab/harness"
	"locklab/harness/result"
	"locklab/internal/stat"
)

// A Case is the part of an [Entry] in a table of runs: a lock with a number of workers.
type Case struct {
	Workers int         `json:"workers"`
	Verdict GateVerdict `json:"verdict"`
	Notable bool        `json:"notable"`         // its runs are worth showing
	Level   *Figure     `json:"level,omitempty"` // of a history: the median, the least and the greatest run since the last change; N counts runs
	Runs    []CaseRun   `json:"runs"`            // by column
}

// A CaseRun is a case in a run.
type CaseRun struct {
	Figure   *Figure     `json:"figure"`
	Violated bool        `json:"violated"`
	Note     string      `json:"note"`             // the reason for a missing figure
	Change   *Change     `json:"change,omitempty"` // a step that begins with the run
	Off      GateVerdict `json:"off,omitempty"`    // of a single run off its level
}

// A tableKey identifies the table of a case.
type tableKey struct {
	site   int
	remote bool
	metric *result.Metric
	axes   string
}

// A runTables collects tables of runs.
type runTables struct {
	tables []Table
	at     map[tableKey]int
}

func (x *runTables) add(site int, l harness.Lock, w harness.Workload, m *result.Metric, row Entry, begin func() Table) {
	k := tableKey{site, l.Traits.Needs != "", m, Axes(w)}
	i, known := x.at[k]
	if !known {
		i = len(x.tables)
		x.at[k] = i
		t := begin()
		t.Distributed, t.Workload, t.Detail = k.remote, k.axes, noDetail
		x.tables = append(x.tables, t)
	}
	row.Lock, row.Case.Workers, row.Modes = l.Name, w.Workers, make([][]Mode, len(row.Ratios))
	x.tables[i].Rows = append(x.tables[i].Rows, row)
}

// Tables returns c as one table for each metric and workload: a row is a case, the columns
// are the base and the new run, or the lock [Comparison.To] and the others.
func (c *Comparison) Tables() []Table {
	out := runTables{tables: []Table{}, at: make(map[tableKey]int)}
	names := [2]string{"BASE", "NEW"}
	if c.To != "" {
		names = [2]string{c.To, "others"}
	}
	for _, r := range c.Rows {
		row := Entry{Ratios: []*Ratio{nil, changed(r.Metric, r.Ratio, c.Margin)}, Case: &Case{Verdict: r.Verdict, Notable: r.Note != "", Runs: []CaseRun{
			{Figure: figure(r.Base), Violated: r.BaseBroke}, {Figure: figure(r.New), Violated: r.NewBroke, Note: r.Note}}}}
		out.add(0, r.Lock, r.Workload, r.Metric, row, func() Table {
			t := Table{Baseline: names[0]}
			for _, name := range names {
				t.Columns = append(t.Columns, runColumn(name, r.Metric, r.Metric.Name, c.Level))
			}
			return t
		})
	}
	return out.tables
}

// Tables returns h as one table for each metric, workload and machine: a row is a case, a
// column is a run, and a ratio is to the last earlier run with a figure.
func (h *History) Tables() []Table {
	out := runTables{tables: []Table{}, at: make(map[tableKey]int)}
	for i := range h.Series {
		s := &h.Series[i]
		out.add(s.Site, s.Lock, s.Workload, s.Metric, s.entry(h.Margin), func() Table {
			t := Table{Baseline: "the run before", Machine: h.Sites[s.Site].Name}
			for _, v := range h.Sites[s.Site].Runs {
				t.Columns = append(t.Columns, runColumn(v.Name, s.Metric, s.Title(), h.Level))
			}
			return t
		})
	}
	return out.tables
}

func runColumn(run string, m *result.Metric, name string, level float64) Column {
	return Column{Run: run, Metric: name, Unit: m.Unit, Better: m.Better, Level: level}
}

func (s *HistorySeries) entry(margin float64) Entry {
	levels := s.Levels()
	row := Entry{Case: &Case{Verdict: s.Verdict, Notable: s.Notable()}}
	if l := levels[len(levels)-1]; l.Runs > 0 {
		row.Case.Level = &Figure{Value: l.Median, Lo: l.Least, Hi: l.Most, N: int64(l.Runs)}
	}
	for i, p := range s.Points {
		run := CaseRun{Figure: figure(p.Summary), Violated: p.Broke, Note: p.Gap, Off: p.Off}
		for k := range s.Changes {
			if s.Changes[k].At == i {
				run.Change = &s.Changes[k]
			}
		}
		row.Case.Runs = append(row.Case.Runs, run)
		row.Ratios = append(row.Ratios, changed(s.Metric, p.Before, margin))
	}
	return row
}

func changed(m *result.Metric, r stat.Ratio, margin float64) *Ratio {
	out := compared(r, margin)
	if out == nil {
		return nil
	}
	out.P = &r.P
	if m.Better == result.Lower {
		out.Reading = cmp.Or(map[Outcome]Outcome{Faster: Slower, Slower: Faster}[out.Reading], out.Reading)
	}
	return out
}

func finite(v float64) float64 { return min(v, math.MaxFloat64) }
