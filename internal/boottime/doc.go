// Package boottime has a clock that continues to count while the machine is suspended,
// when Go's monotonic clock stops: leases expire meanwhile.
//
// Rank 0. It imports the standard library and golang.org/x/sys/unix.
package boottime
