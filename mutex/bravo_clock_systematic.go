//go:build systematic

package mutex

// bravoTicks never advances: the hardest case is a bypass that opens again at once.
func bravoTicks() uint64 { return 0 }
