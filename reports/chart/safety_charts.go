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

// A FaultChart is a chart about failure scenarios.
type FaultChart struct {
	Name, Title, Doc string
	Pic              Picture
	Folded           bool // folded, on a page about failures only
}

// FaultCharts returns the names of the charts of run's failure scenarios, each of a history,
// for [WritePNG] and [WriteSVG].
func FaultCharts(run *result.Run) (names []string) {
	for _, c := range RunFaultCharts(Sanitize(run)) {
		names = append(names, c.Name)
	}
	return names
}

// RunFaultCharts returns the charts of FaultCharts; run must be sanitized.
func RunFaultCharts(run *result.Run) []FaultChart {
	s := SafetyOf(run)
	if s == nil || !s.Tried() {
		return nil
	}
	charts, _ := DrawFaults(run, s)
	return charts
}

// DrawFaults returns the charts of s, and notes on histories without a chart.
func DrawFaults(run *result.Run, s *Safety) (charts []FaultChart, notes []string) {
	rows, total := s.toldOf()
	drawn := 0
	told := make(map[string]int)
	for _, row := range rows {
		if drawn == mostStories || told[row.Fault.Scenario] == mostAlike {
			continue
		}
		st, err := ReadTimeline(run, row.Fault, row.Fault.Histories[0])
		if err != nil {
			notes = append(notes, fmt.Sprintf("The history %s cannot be drawn: %v.", Short(row.Fault.Histories[0], 200), err))
			continue
		}
		drawn++
		told[row.Fault.Scenario]++
		charts = append(charts, FaultChart{fmt.Sprintf("history-%d", drawn), st.Title(), HistoryDoc + " From " + Short(st.name, 200) + ".", st.Picture(), drawn > openStories})
	}
	if rest := total - drawn - len(notes); rest > 0 {
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
