// Package boottime has a clock that continues to count while the machine is suspended,
// when Go's monotonic clock stops: leases expire meanwhile.
package boottime
