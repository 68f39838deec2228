//go:build !systematic

package atomics

import "unsafe"

// Lane returns a number from 0 to n-1 for the caller, n from 1 to 1<<31, to spread writers of
// one counter over n words. It costs about a nanosecond. A goroutine usually gets the same
// number again, but may get another one at any call.
func Lane(n int) int {
	var here byte
	// Stacks have 2 KiB or more and are often neighbours. A step of the golden ratio spreads
	// neighbours evenly.
	h := uint32(uintptr(unsafe.Pointer(&here))>>11) * 0x9E3779B9
	return int(uint64(h) * uint64(n) >> 32)
}
