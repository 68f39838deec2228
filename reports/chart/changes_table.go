package chart

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"locklab/harness/judge"
	"locklab/internal/numfmt"
)

func changesTable(h *judge.History, ss []*judge.HistorySeries) Table {
	t := Table{Head: Titles("case", "metric", "machine", "run", "date, UTC", "commit", "median", "interval, 95 %", "")}
	for _, s := range ss {
		for i, p := range s.Points {
			v := h.Sites[s.Site].Runs[i]
			row := []string{s.Case(), s.Title(), h.Sites[s.Site].Name, strconv.Itoa(i + 1), v.Date(), v.Commit(), changesFigure(s, p), numfmt.Unknown, changesMark(p)}
			if p.N > 0 {
				row[7] = FormatUnit(s.Metric.Unit)(p.Lo) + "–" + FormatUnit(s.Metric.Unit)(p.Hi)
			}
			t.Rows = append(t.Rows, row)
		}
	}
	return t
}

// ChangesAnswer summarizes the verdicts on ss in a sentence.
func ChangesAnswer(h *judge.History, ss []*judge.HistorySeries) string {
	var vs []judge.GateVerdict
	for _, s := range ss {
		vs = append(vs, s.Verdict)
	}
	return fmt.Sprintf("Of %s on %s: %s", numfmt.Plural(len(ss), "series"), numfmt.Plural(len(h.Sites), "machine"), CountVerdicts(vs))
}

// CountVerdicts counts each verdict in vs, the worst first: "1 regressed, 2 not worse."
func CountVerdicts(vs []judge.GateVerdict) string {
	n := make(map[judge.GateVerdict]int)
	for _, v := range vs {
		n[v]++
	}
	var parts []string
	for _, v := range judge.Verdicts {
		if n[v] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n[v], v))
		}
	}
	return strings.Join(parts, ", ") + "."
}

func changesFigure(s *judge.HistorySeries, p judge.HistoryPoint) string {
	if p.Broke {
		return "violated"
	}
	return medianText(p.Summary, FormatUnit(s.Metric.Unit))
}

// changesMark returns the reason for a missing figure, or how the run compares.
func changesMark(p judge.HistoryPoint) string {
	if p.N == 0 || p.Broke {
		return p.Gap
	}
	return string(cmp.Or(p.Off, p.Verdict))
}
