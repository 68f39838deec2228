//go:build gc && !purego

package machine

// stamp reads the clock of [atomics.Ticks], after all loads ahead of it are
// done. RDTSC alone may run ahead of the load that a message came by, and the
// message would seem to arrive early; LFENCE holds it back (Intel SDM volume 2,
// RDTSC).
func stamp() uint64
