//go:build gc && !purego

package atomics

const clockName = "CNTVCT_EL0"

func ticks() uint64

func cntfrq() uint64

func clockHz() float64 { return float64(cntfrq()) }
