//go:build gc && !purego

package machine

// stamp reads the clock of [atomics.Ticks] after all preceding loads are done. RDTSC may
// run ahead of the load that received a message, and the message would seem to arrive
// early; LFENCE prevents that (Intel SDM volume 2, RDTSC).
func stamp() uint64
