// Package boottime has a clock that counts on while the machine is suspended, when Go's
// monotonic clock stands still: leases end meanwhile.
//
// Rank 0. It imports the standard library and golang.org/x/sys/unix.
package boottime
