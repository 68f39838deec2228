//go:build !systematic

package spinlock

// malthusianMercy is after how many releases the worker that has been passive
// longest is served: rarely enough not to cost throughput (the paper's figure).
const malthusianMercy = 1000
