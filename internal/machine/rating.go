package machine

import "math"

// A Rating is the result of [Calibrate] for another process of the machine, until a reboot.
type Rating struct {
	Hz     float64 `json:"hz"`    // ticks per second
	Floor  float64 `json:"floor"` // ns
	Step   float64 `json:"step"`  // ns
	Error  float64 `json:"error,omitempty"`
	Stated bool    `json:"stated,omitempty"`
}

// Rating returns the rating of c.
func (c Clock) Rating() Rating { return Rating{c.hz, c.floor, c.step, c.err, c.stated} }

// Clock returns the clock of r, and false if r is no valid rating, such as the zero value.
func (r Rating) Clock() (Clock, bool) {
	if !(r.Hz > 0) || math.IsInf(r.Hz, 1) || !(r.Floor >= 0) || !(r.Step >= 0) {
		return Clock{}, false
	}
	c := newClock(r.Hz)
	c.floor, c.step, c.err, c.stated = r.Floor, r.Step, r.Error, r.Stated
	return c, true
}
