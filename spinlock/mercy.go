//go:build !systematic

package spinlock

// malthusianMercy is after how many releases the worker that has been passive
// longest is served: rarely enough not to cost throughput (the paper's figure).
const malthusianMercy = 1000

// fissileGrace is how often the alpha looks before it becomes impatient: a few
// microseconds. From 5 to 1000 looks, with 2 and 8 goroutines on two busy
// processors, speed and fairness differed less than between two runs.
const fissileGrace = 50
