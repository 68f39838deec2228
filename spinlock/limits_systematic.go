//go:build systematic && !simulate

package spinlock

// These are small, so that the explorer reaches them.
const (
	malthusianPeriod = 2
	fissileGrace     = 1
)
