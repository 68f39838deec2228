//go:build !linux

package ranks

// ClockName names the clock of this process, which no other reads.
func ClockName() string { return ownClock() }
