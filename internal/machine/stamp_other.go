//go:build !(amd64 && gc && !purego)

package machine

import "locklab/atomics"

// stamp reads the clock of [atomics.Ticks], which waits for the loads ahead of
// it where it is a counter other than that of amd64.
func stamp() uint64 { return atomics.Ticks() }
