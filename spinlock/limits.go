//go:build !systematic || simulate

package spinlock

// malthusianPeriod is after how many releases the worker that has been passive
// longest is served: rarely enough not to cost throughput (the paper's figure).
const malthusianPeriod = 1000

// fissileGrace is how often the alpha waits, by polls up to the next yield or by
// one yield, before it becomes impatient: a few microseconds. From 5 to 1000 polls,
// with 2 and 8 goroutines on two busy processors, speed and fairness differed less
// than between two runs.
const fissileGrace = 20
