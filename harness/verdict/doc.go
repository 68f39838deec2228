// Package verdict says which lock to use, from the results of a run alone: [Groups]
// sorts the results by workload, [Standing] finds the situations that they cover, and
// [Judge] applies the rule to one of them. Measuring ends here; package reports draws
// what it says.
//
// [RoundsFor] and [PlannedRounds] say before a run how many rounds its verdicts need.
//
// Rank 5. It must not import a lock, a runner or a chart.
package verdict
