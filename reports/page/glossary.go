package page

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"locklab/harness/result"
	"locklab/reports/chart"
)

// A glossary defines the metrics and other columns of charts and tables.
type glossary struct {
	Metrics []*result.Metric
	Terms   []term
	Lines   string // a command that shows the lines of a point
}

// newGlossary defines every term of a report of run and all metrics of [result.Metrics]. For
// a run without a result it defines the terms only.
func newGlossary(run *result.Run) (g glossary) {
	g.Terms = terms
	if len(run.Simulations) > 0 {
		g.Terms = slices.Concat(terms, modelTerms)
	}
	if len(run.Results) == 0 {
		return g
	}
	lock := run.Results[0].Lock
	name := strings.TrimSuffix(lock.Name, chart.MarkedName("", lock.Status))
	g.Lines = linesOf(name, run.Results[0].Workload.Workers)
	g.Metrics = result.Metrics
	return g
}

func linesOf(lock string, workers int) string {
	return "jq -c " + quote(fmt.Sprintf("select(.lock.name == %s and .workload.workers == %d)", strconv.Quote(lock), workers)) + " " + result.ResultsName
}

// MetricsText explains the way from a figure to its lines.
func (glossary) MetricsText() string {
	return "Each figure in the charts and tables is a metric of lines in results.jsonl: one line for each lock, workload and round. " +
		"\"locklab export\" writes every metric of every line, under its unit. The lines behind one point are those of its lock and workload, such as:"
}

// TermsText introduces the terms.
func (glossary) TermsText() string {
	return "What the heads of columns mean, and how their figures are come by. docs/methodology.md says why."
}
