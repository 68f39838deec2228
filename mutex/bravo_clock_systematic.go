//go:build systematic

package mutex

// bravoTicks stands still: the explorer knows no time, and a bypass that opens
// again at once is the hardest case.
func bravoTicks() uint64 { return 0 }
