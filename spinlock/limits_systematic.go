//go:build systematic

package spinlock

// These are small, so that the explorer comes by.
const (
	malthusianPeriod = 2
	fissileGrace     = 1
)
