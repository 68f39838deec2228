// Package chart turns a run into pictures, one file an idea. Each chart of the locks is a
// [Chart] in [Suite]. Its title is a question and its answer is computed from the data. A
// chart of local locks and the same chart of distributed locks share one drawing function.
// A [Source] names the metrics and fields of results.jsonl that a picture draws.
//
// Findings of the hardware experiments are drawn from their tables. Each table names its
// kind of drawing: bars, lines or a field of cells. [FindingCharts] returns them.
package chart
