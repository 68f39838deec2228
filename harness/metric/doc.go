// Package metric turns a [harness.Result] into figures: one file a metric,
// each a declarative [Metric] with its unit, its source and one pure function,
// all listed in [Suite]. It also holds the statistics that every consumer of
// those figures shares: [Summarize] for the rounds of one case, [Compare] for
// two cases that were measured in the same rounds.
//
// Rank 2. It may import harness; it must not import a lock, a file format, a
// runner or a chart.
package metric
