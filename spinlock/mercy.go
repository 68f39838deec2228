//go:build !systematic

package spinlock

// malthusianMercy is after how many releases the worker that has been passive
// longest is served: rarely enough not to cost throughput (the paper's figure).
const malthusianMercy = 1000

// fissileGrace is how often the alpha looks before it becomes impatient.
const fissileGrace = 50
