//go:build !systematic

package mutex

import "locklab/atomics"

// bravoTicks is the clock for the time during which the bypass stays shut.
func bravoTicks() uint64 { return atomics.Ticks() }
