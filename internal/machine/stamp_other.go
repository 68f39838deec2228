//go:build !(amd64 && gc && !purego)

package machine

import "locklab/atomics"

// stamp reads the clock of [atomics.Ticks], which waits for earlier loads except on amd64.
func stamp() uint64 { return atomics.Ticks() }
