//go:build systematic

package spinlock

// malthusianMercy is small, so that the explorer comes by.
const malthusianMercy = 2
