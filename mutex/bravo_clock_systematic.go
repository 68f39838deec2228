//go:build systematic

package mutex

// bravoTicks never advances: the explorer has no clock, and a bypass that opens again at
// once is the hardest case.
func bravoTicks() uint64 { return 0 }
