package measure

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"time"

	"locklab/internal/machine"
)

// A RankClock relates clocks: a time of CLOCK_MONOTONIC here plus Offset is a common time,
// with at most Error in either direction.
//
// The common clock is the server's, in ns since 1970. Each reading of it lies between two
// times here, which bounds the offset (Cristian, Probabilistic clock synchronization,
// Distributed Computing 3, 1989). The offset is in the intersection of all bounds (Marzullo,
// Maintaining the Time in a Distributed System, PhD thesis, Stanford 1984), with Offset in its
// middle and half its width Error. That holds if neither clock is set and their rates differ
// by less than 100 ppm.
//
// If all ranks read the same clock, of one boot of one kernel, it is the common one, and
// Offset and Error are 0: the server's could only add an error.
type RankClock struct {
	Offset int64 // ns
	Error  int64 // ns, -1 if nothing is known
	At     int64 // CLOCK_MONOTONIC when it was measured, ns; 0 for the same clock
}

var unknownClock = RankClock{Error: -1}

// Until combines c and later, measured before and after, into a Clock that holds for all of
// the time between, if the server's clock was not set. The offset may have moved.
func (c RankClock) Until(later RankClock) RankClock {
	switch {
	case c.Error < 0:
		return c
	case later.Error < 0:
		return later
	}
	stray := drift(later.At-c.At) / 2
	low := min(c.Offset-c.Error, later.Offset-later.Error) - stray
	high := max(c.Offset+c.Error, later.Offset+later.Error) + stray
	return clockBetween(low, high, later.At)
}

// maxDrift is the greatest difference of the rates of two clocks, in ns per ns: 50 ppm is
// usual for the crystals of computers, and clocks under NTP are far better.
const maxDrift = 100e-6

func drift(ns int64) int64 { return int64(math.Ceil(math.Abs(float64(ns)) * maxDrift)) }

func clockBetween(low, high, at int64) RankClock {
	half := (high - low + 1) / 2
	return RankClock{Offset: low + half, Error: half, At: at}
}

// A sample is one reading of the server's clock: at some time between before and after,
// it showed a time from server to less than server + resolution. All in ns.
type sample struct{ before, after, server, resolution int64 }

func (s sample) bounds(at int64) (low, high int64) {
	return s.server - s.after - drift(at-s.before), s.server + s.resolution - s.before + drift(at-s.before)
}

const (
	samples    = 40 // per measurement
	minSamples = 8
)

func intersect(all []sample) RankClock {
	if len(all) < minSamples {
		return unknownClock
	}
	at := all[len(all)-1].after
	low, high := int64(math.MinInt64), int64(math.MaxInt64)
	for _, s := range all {
		l, h := s.bounds(at)
		low, high = max(low, l), min(high, h)
	}
	if low > high { // the server's clock was set
		return unknownClock
	}
	return clockBetween(low, high, at)
}

// measureClock measures the clock again, by some tens of requests. The error is the cause of
// ctx or Context, or the server's refusal.
func (g *Ranks) measureClock(ctx context.Context) error {
	if g.same {
		return nil
	}
	ctx, cancel := g.within(ctx)
	defer cancel()
	var all []sample
	for i := range samples {
		s, err := g.sample(ctx)
		switch {
		case err == nil:
			all = append(all, s)
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case errors.Is(err, errRefused):
			return g.meeting.unreachable(err)
		}
		sleep(ctx, phase(i))
	}
	g.clock = intersect(all)
	return nil
}

// phase returns a pause to the next sample, by the golden ratio (Knuth, TAOCP 3, 6.4).
func phase(i int) time.Duration {
	_, part := math.Modf(float64(i) * math.Phi)
	return time.Duration(float64(time.Millisecond) * (0.5 + part))
}

func (g *Ranks) sample(ctx context.Context) (sample, error) {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	s := sample{resolution: clockResolution}
	var err error
	s.before = machine.Monotonic()
	s.server, err = g.meeting.now(ctx)
	s.after = machine.Monotonic()
	return s, err
}

// startLead is the time from the last rank's arrival to the start: a poll, a few requests, and
// a late scheduler.
const startLead = int64(200 * time.Millisecond)

// commonStart returns the start of all ranks on the own clock, which shows now: the latest
// arrival plus startLead, perhaps in the past. All others came before this rank read their posts.
// If one came later than now, the server's clock was set, so the common clock cannot be trusted.
// If a rank's clock is unknown, all begin when they learn that all have come, within about 50 ms.
func commonStart(all []arrival, c RankClock, now int64) int64 {
	last := slices.MaxFunc(all, func(a, b arrival) int { return cmp.Compare(a.Time, b.Time) })
	known := c.Error >= 0 && !slices.ContainsFunc(all, func(a arrival) bool { return a.Error < 0 })
	at := last.Time - c.Offset
	allowed := c.Error + last.Error
	if c.At != 0 {
		allowed += drift(now - c.At)
	}
	if !known || at > now+allowed {
		return now + startLead
	}
	return at + startLead
}

// RankClockName names this process's CLOCK_MONOTONIC by the kernel's boot (boot_id of
// random(4)) and the time namespace (time_namespaces(7)); ranks with one name read one clock.
// If the system does not report it, the name is unique to the process.
//
// Virtual machines resumed from one snapshot share a name and not a clock: do not spread ranks
// over them.
func RankClockName() string {
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	space, failed := os.Readlink("/proc/self/ns/time")
	if os.IsNotExist(failed) {
		space, failed = "time:none", nil // before Linux 5.6
	}
	if err != nil || failed != nil {
		return fmt.Sprintf("process %d %s", os.Getpid(), processNonce)
	}
	return strings.TrimSpace(string(boot)) + " " + space
}

var processNonce = rand.Text()
