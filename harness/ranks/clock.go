package ranks

import (
	"context"
	"errors"
	"fmt"
	"locklab/internal/machine"
	"math"
	"time"
)

// A Clock is what is known of this rank's clock: a time of CLOCK_MONOTONIC here plus
// Offset is one of the clock that all ranks have in common, but for Error at most in
// either direction.
//
// The common clock is that of the server where the ranks meet, in ns since 1970. Each
// reading of it lies between a time before and one after here, which bounds the offset
// (Cristian, Probabilistic clock synchronization, Distributed Computing 3, 1989); the
// offset is in the intersection of all bounds (Marzullo, Maintaining the Time in a
// Distributed System, PhD thesis, Stanford 1984). Its middle is Offset and half its width
// Error: a bound, not an estimate, as long as neither clock is set and their rates differ
// by less than 100 ppm. Redis returns its clock to the microsecond.
//
// If all ranks read the same clock, those of one boot of one kernel, it is the common
// one: Offset and Error are 0. To measure against the server's could only add an error,
// and the server's may be set.
type Clock struct {
	Offset int64  // ns
	Error  int64  // ns, -1 if nothing is known
	Reason string // why nothing is known
	At     int64  // CLOCK_MONOTONIC when it was measured, ns; 0 for the same clock
}

// Until is what c, measured before a time of interest, and later, measured after it, say
// of all of the time between, if the server's clock was not set: the offset may have
// moved from one to the other.
func (c Clock) Until(later Clock) Clock {
	switch {
	case c.Error < 0:
		return c
	case later.Error < 0:
		return later
	}
	// Between two bounds it strays no farther than the rates allow in half the time.
	stray := drift(later.At-c.At) / 2
	low := min(c.Offset-c.Error, later.Offset-later.Error) - stray
	high := max(c.Offset+c.Error, later.Offset+later.Error) + stray
	return between(low, high, later.At)
}

// maxDrift is by how much the rates of two clocks may differ, in ns per ns: 50 ppm is
// usual for the crystals of computers, and those that NTP steers are far better.
const maxDrift = 100e-6

// drift is how far two clocks may drift apart in some ns.
func drift(ns int64) int64 { return int64(math.Ceil(math.Abs(float64(ns)) * maxDrift)) }

// between is a clock with an offset in [low, high].
func between(low, high, at int64) Clock {
	half := (high - low + 1) / 2
	return Clock{Offset: low + half, Error: half, At: at}
}

// A sample is one reading of the server's clock: at some time between before and after,
// it showed something from server on, but less than resolution later. All in ns.
type sample struct{ before, after, server, resolution int64 }

// bounds are those of the offset at a time here.
func (s sample) bounds(at int64) (low, high int64) {
	return s.server - s.after - drift(at-s.before), s.server + s.resolution - s.before + drift(at-s.before)
}

const (
	samples    = 40 // a measurement makes
	minSamples = 8  // are needed

	clockResolution = int64(time.Microsecond) // of Redis, in ns
)

// intersect returns the clock that all of some samples allow, at the time of the last.
func intersect(all []sample) Clock {
	if len(all) < minSamples {
		return unknown(fmt.Sprintf("the server's clock was read %d times: %d are needed", len(all), minSamples))
	}
	at := all[len(all)-1].after
	low, high := int64(math.MinInt64), int64(math.MaxInt64)
	for _, s := range all {
		l, h := s.bounds(at)
		low, high = max(low, l), min(high, h)
	}
	if low > high {
		return unknown(fmt.Sprintf("readings of the server's clock contradict each other by %v: it was set", time.Duration(low-high)))
	}
	return between(low, high, at)
}

func unknown(why string) Clock { return Clock{Error: -1, Reason: why} }

// Clock returns what was measured last.
func (g *Group) Clock() Clock {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.clock
}

func (g *Group) setClock(c Clock) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.clock = c
}

// Measure measures Clock anew, by some tens of requests. That nothing is known of it is
// no error: Clock says why. The error is the cause of ctx or of Context, whichever ended,
// or that the server refuses to tell its clock.
func (g *Group) Measure(ctx context.Context) error {
	if g.same {
		g.setClock(Clock{})
		return nil
	}
	var all []sample
	for i := range samples {
		s, err := g.sample(ctx)
		switch {
		case err == nil:
			all = append(all, s)
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case g.context.Err() != nil:
			return context.Cause(g.context)
		case errors.Is(err, errRefused):
			return fmt.Errorf("ranks: %v: %w", g.at, err)
		}
		sleep(ctx, phase(i))
	}
	g.setClock(intersect(all))
	return nil
}

// phase is a pause that puts the next sample at another part of a millisecond:
// multiples of the golden ratio spread most evenly (Knuth, TAOCP 3, 6.4).
func phase(i int) time.Duration {
	_, part := math.Modf(float64(i) * math.Phi)
	return time.Duration(float64(time.Millisecond) * (0.5 + part))
}

// sample reads the server's clock once.
func (g *Group) sample(ctx context.Context) (sample, error) {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	s := sample{resolution: clockResolution}
	var err error
	s.before = machine.Monotonic()
	s.server, err = g.board.now(ctx)
	s.after = machine.Monotonic()
	return s, err
}

// check measures anew if the server's clock is not where it was expected.
func (g *Group) check(ctx context.Context) error {
	c := g.Clock()
	if g.same {
		return nil
	}
	s, err := g.sample(ctx)
	if err == nil && c.Error >= 0 {
		low, high := s.bounds(s.after)
		wide := c.Error + drift(s.after-c.At)
		if low <= c.Offset+wide && high >= c.Offset-wide {
			return nil
		}
	}
	return g.Measure(ctx)
}
