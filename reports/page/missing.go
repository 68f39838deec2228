package page

import (
	"fmt"
	"slices"
	"strings"

	"locklab/harness/result"
	"locklab/internal/numfmt"
	"locklab/reports/chart"
)

// notKnown gives the reasons for unknown figures of t by column, or "".
func notKnown(t chart.Table) string {
	var why []string
	for j, h := range t.Head {
		missing := slices.ContainsFunc(t.Rows, func(row []string) bool { return j < len(row) && row[j] == numfmt.Unknown })
		if text := untold(h); missing && text != "" {
			why = append(why, h.Text+": "+text)
		}
	}
	if why == nil {
		return ""
	}
	return numfmt.Unknown + " stands for no figure. " + numfmt.Sentence(strings.Join(why, "; "))
}

var quantiles = []struct {
	name string
	q    float64
}{{"p999", 0.999}, {"p99.9", 0.999}, {"p99", 0.99}, {"p90", 0.9}, {"p50", 0.5}}

func untold(h chart.Piece) string {
	name := strings.ToLower(h.Text)
	if h.Metric != nil {
		name = h.Metric.Name
	}
	for _, x := range quantiles {
		if strings.Contains(name, x.name) {
			return fmt.Sprintf("fewer than the %d timed samples that it takes", result.Needed(x.q))
		}
	}
	switch {
	case h.Metric == result.Jain:
		return "one worker, or fewer acquisitions than workers in most of its slices"
	case h.Metric != nil:
		return "no round has it"
	}
	return ""
}
