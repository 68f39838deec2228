package machine

import (
	"testing"
	"time"
)

func TestMonotonicAt(t *testing.T) {
	const due = int64(12345 * time.Microsecond)
	at, reads := int64(0), 0
	read := func() int64 {
		if reads++; reads < 300 && reads%3 != 1 { // after the first clock of a try, and after the second
			at += int64(time.Duration(reads) * time.Millisecond)
		}
		at += 100
		return at
	}
	got := monotonicAt(read, func() int64 { return due - read() })
	if d := got - due; d < -1000 || d > 1000 {
		t.Errorf("%v away from what it is", time.Duration(d))
	}
	now := time.Now()
	before, after := MonotonicAt(now), Monotonic()
	if later := MonotonicAt(now.Add(time.Hour)) - before; before > after || later < int64(time.Hour-time.Millisecond) || later > int64(time.Hour+time.Millisecond) {
		t.Errorf("now is at %d, and %d was read later; an hour later is %v later", before, after, time.Duration(later))
	}
}
