//go:build !linux

package machine

import "time"

// An Alarm lets a goroutine sleep for less than a millisecond. On this system it does not sleep.
type Alarm struct{}

// NewAlarm returns nil.
func NewAlarm() *Alarm { return nil }

// Sleep reports that it did not sleep.
func (*Alarm) Sleep(time.Duration) bool { return false }

// Close does nothing.
func (*Alarm) Close() {}
