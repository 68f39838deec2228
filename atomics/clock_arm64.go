//go:build gc && !purego

package atomics

const clockName = "CNTVCT_EL0"

// ticks returns the virtual counter.
func ticks() uint64

// cntfrq returns the rate of the counter in Hz, as the firmware set it.
func cntfrq() uint64

func clockHz() float64 { return float64(cntfrq()) }
