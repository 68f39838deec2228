package chart

import (
	"cmp"
	"fmt"
	"slices"

	"locklab/harness/result"
	"locklab/internal/numfmt"
)

// Limits of the histories in a page.
const (
	mostStories = 6
	openStories = 2 // not folded, on a page about failures only
)

// FaultCharts returns the charts of the histories of run, and notes on histories without a
// chart.
func FaultCharts(run *result.Run) (charts []Named, notes []string) {
	var rows []result.Survival
	total := 0
	for _, f := range run.Faults {
		if total += len(f.Histories); len(f.Histories) > 0 {
			rows = append(rows, result.JudgeFault(f))
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
	for _, row := range rows {
		if len(charts) == mostStories {
			break
		}
		st, err := ReadTimeline(run, row.Fault, row.Fault.Histories[0])
		if err != nil {
			notes = append(notes, fmt.Sprintf("The history %s cannot be drawn: %v.", row.Fault.Histories[0], err))
			continue
		}
		charts = append(charts, Named{Name: fmt.Sprintf("history-%d", len(charts)+1), Title: st.Title(), Doc: HistoryDoc + " From " + st.name + ".", Pic: st.Picture(), Folded: len(charts) >= openStories})
	}
	if rest := total - len(charts) - len(notes); rest > 0 {
		notes = append(notes, fmt.Sprintf("%d more %s beside the results.", rest, numfmt.Choose(rest, "history lies", "histories lie")))
	}
	return charts, notes
}
