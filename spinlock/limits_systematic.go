//go:build systematic && !simulate

package spinlock

// These are small, so that the explorer comes by.
const (
	malthusianPeriod = 2
	fissileGrace     = 1
)
