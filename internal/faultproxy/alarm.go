package faultproxy

import "time"

// coarse is the time before a message is due during which the runtime's timer is too coarse.
const coarse = 3 * time.Millisecond

// An alarm lets a goroutine wait until a time more precisely than the runtime's timers.
type alarm struct{ fine fine }

func (a *alarm) until(due time.Time, gone <-chan struct{}) bool {
	if !a.fine.ready() {
		return sleep(time.Until(due), gone)
	}
	if wait := time.Until(due) - coarse; wait > 0 && !sleep(wait, gone) {
		return false
	}
	if wait := time.Until(due); wait > 0 && !a.fine.sleep(wait) {
		return sleep(time.Until(due), gone)
	}
	return true
}

func (a *alarm) close() { a.fine.close() }

func sleep(d time.Duration, gone <-chan struct{}) bool {
	if d <= 0 {
		return true
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-gone:
		return false
	}
}
