//go:build gc && !purego

package machine

// stamp reads the clock of [atomics.Ticks] after all earlier loads have completed. RDTSC alone may
// execute before the load of the message, and the message would seem to arrive early. LFENCE
// prevents this (Intel SDM volume 2, RDTSC).
func stamp() uint64
