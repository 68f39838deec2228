// Package metric turns a [harness.Result] into figures: one file a metric,
// each a declarative [Metric] with its unit, its source and one pure function,
// all listed in [Suite].
//
// Rank 2. It may import harness and harness/stat; it must not import a lock, a file format, a
// runner or a chart.
package metric
