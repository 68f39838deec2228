//go:build gc && !purego

package atomics

const clockName = "RDTSC"

// ticks returns the time-stamp counter.
func ticks() uint64

// clockHz is 0: no instruction reports the rate on all CPUs and hypervisors.
func clockHz() float64 { return 0 }
