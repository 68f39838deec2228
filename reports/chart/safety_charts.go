package chart

import (
	"cmp"
	"fmt"
	"slices"

	"locklab/harness/result"
	"locklab/internal/numfmt"
)

// Limits of the histories in a page, and for one scenario.
const (
	mostStories = 6
	mostAlike   = 2
	openStories = 2 // not folded, on a page about failures only
)

// FaultCharts returns the charts of s, each of a history, and notes on histories without a
// chart. run must be sanitized; s is nil without distributed locks.
func FaultCharts(run *result.Run, s *Safety) (charts []Named, notes []string) {
	if s == nil {
		return nil, nil
	}
	rows, total := s.toldOf()
	told := make(map[string]int)
	for _, row := range rows {
		if len(charts) == mostStories || told[row.Fault.Scenario] == mostAlike {
			continue
		}
		st, err := ReadTimeline(run, row.Fault, row.Fault.Histories[0])
		if err != nil {
			notes = append(notes, fmt.Sprintf("The history %s cannot be drawn: %v.", Short(row.Fault.Histories[0], 200), err))
			continue
		}
		told[row.Fault.Scenario]++
		charts = append(charts, Named{Name: fmt.Sprintf("history-%d", len(charts)+1), Title: st.Title(), Doc: HistoryDoc + " From " + Short(st.name, 200) + ".", Pic: st.Picture(), Folded: len(charts) >= openStories})
	}
	if rest := total - len(charts) - len(notes); rest > 0 {
		notes = append(notes, fmt.Sprintf("%d more %s beside the results.", rest, numfmt.Choose(rest, "history lies", "histories lie")))
	}
	return charts, notes
}

func (s *Safety) toldOf() (rows []result.Survival, total int) {
	for _, h := range s.Scenarios {
		for _, row := range h.Rows {
			if total += len(row.Fault.Histories); len(row.Fault.Histories) > 0 {
				rows = append(rows, row)
			}
		}
	}
	rank := func(row result.Survival) int {
		switch {
		case row.Verdict == result.Refuted:
			return 0
		case row.Broken > 0:
			return 1
		}
		return 2
	}
	slices.SortStableFunc(rows, func(a, b result.Survival) int { return cmp.Compare(rank(a), rank(b)) })
	return rows, total
}
