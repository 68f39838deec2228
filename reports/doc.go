// Package reports draws what a run left on disk: the verdicts of harness/verdict,
// charts, and one self-contained page that holds both with the evidence for them.
//
// Each chart is a [Chart] in [Suite], in its own file chart_*.go. Its title is
// a question and its subtitle the answer, computed from the data. The same run
// always gives the same bytes. Under a chart stands which metrics or fields of
// results.jsonl it draws, and the page defines each metric, so that a figure can be
// followed to its lines.
//
// What the experiments about the hardware found is drawn from the tables of
// their findings, by the painter of the kind that a table asks for: bars, lines
// or a field of cells ([FindingCharts] names these charts).
//
// Rank 6. It may import harness, metric, resultfile, verdict and internal/machine;
// it must not import a lock, a runner or a backend: an old file still draws after
// its lock is gone.
package reports
