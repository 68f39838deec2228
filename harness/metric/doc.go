// Package metric computes figures from a [harness.Result]. Each file has one metric: a
// declarative [Metric] with its unit, its source and one pure function, listed in
// [Suite].
//
// Rank 2. It may import harness and harness/stat; it must not import a lock, a file
// format, a runner or a chart.
package metric
