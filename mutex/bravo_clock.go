//go:build !systematic

package mutex

import "locklab/atomics"

// bravoTicks is the time by which the bypass stays shut after a writer.
func bravoTicks() uint64 { return atomics.Ticks() }
