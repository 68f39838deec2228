//go:build !systematic || simulate

package spinlock

// malthusianPeriod is the number of releases after which the worker that has been passive
// longest is served: rare enough not to cost throughput (the paper's value).
const malthusianPeriod = 1000

// fissileGrace is the number of waits, each of polls up to the next yield or of one yield,
// before the alpha becomes impatient: a few microseconds. From 5 to 1000 polls, with 2 and 8
// goroutines on two busy processors, speed and fairness differed less than between two runs.
const fissileGrace = 20
