//go:build gc && !purego

package machine

// stamp reads the clock of [atomics.Ticks] after all earlier loads: LFENCE keeps RDTSC from
// executing before the load of the message (Intel SDM volume 2, RDTSC).
func stamp() uint64
