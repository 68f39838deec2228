//go:build !(amd64 && gc && !purego)

package machine

import "locklab/atomics"

// stamp reads the clock of [atomics.Ticks]; counters other than the amd64 TSC wait for earlier
// loads.
func stamp() uint64 { return atomics.Ticks() }
