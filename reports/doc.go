// Package reports draws a run from its files: the verdicts of harness/judge, charts, and
// one self-contained page with both and the evidence for them.
//
// Each chart is a [Chart] in [Suite], in its own file chart_*.go. Its title is a question
// and its subtitle the answer, computed from the data. The same run always gives the same
// bytes. A line under each chart names its metrics or fields of results.jsonl, and the page
// defines each metric. So a reader can trace a figure to its lines.
//
// Findings of the hardware experiments are drawn from their tables. Each table names its
// kind of drawing: bars, lines or a field of cells. [FindingCharts] names these charts.
package reports
