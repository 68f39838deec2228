package faultproxy

import (
	"time"

	"locklab/internal/machine"
)

// coarse is the time before a message is due during which the runtime's timer is too coarse.
const coarse = 3 * time.Millisecond

// until waits until due, by alarm at the end, and reports whether gone is still open.
func until(alarm *machine.Alarm, due time.Time, gone <-chan struct{}) bool {
	if !sleep(time.Until(due)-coarse, gone) {
		return false
	}
	wait := time.Until(due)
	return wait <= 0 || alarm.Sleep(wait) || sleep(time.Until(due), gone)
}

func sleep(d time.Duration, gone <-chan struct{}) bool {
	if d <= 0 { // a timer of no time is late
		return true
	}
	select {
	case <-time.After(d):
		return true
	case <-gone:
		return false
	}
}
