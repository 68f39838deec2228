//go:build !(amd64 && gc && !purego)

package machine

import "locklab/atomics"

// stamp reads the clock of [atomics.Ticks]. Counters other than the one of amd64 wait for
// the preceding loads.
func stamp() uint64 { return atomics.Ticks() }
