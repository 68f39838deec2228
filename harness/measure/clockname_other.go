//go:build !linux

package measure

// RankClockName names the clock of this process, which no other reads.
func RankClockName() string { return ownClock() }
