package machine

import (
	"math"
	"slices"
	"time"

	"locklab/atomics"
	"locklab/internal/stat"
)

// A Clock times short spans with the fastest counter of the machine. Get one from [Calibrate]; the
// zero value converts every delta to 0 ns. It is immutable and may be copied and shared, also with
// other processes of the machine until a reboot.
//
// Two readings are ordered with the memory accesses around them only as [atomics.Ticks] documents.
type Clock struct {
	Period float64 `json:"period"` // ns per tick
	// Floor is the time between two back-to-back readings, in ns: part of every span, so one
	// near it is unknown. It is the median over chains: a single pair shows the clock's step.
	Floor float64 `json:"floor"`
	// Step is the clock's step, in ns: the greatest number that divides every difference,
	// within a tick. The TSC of some AMD machines moves every 10 ns.
	Step float64 `json:"step"`
	// Error is the spread of independent calibrations of the rate in ppm, greatest minus least, or
	// 0 if the machine states the rate. It excludes shared errors, such as a slew.
	Error  float64 `json:"error,omitempty"`
	Stated bool    `json:"stated,omitempty"` // the machine states the rate; otherwise it was measured
}

// Calibrate returns a clock whose rate is accurate to a few ppm. It takes less than 5 ms, or
// about 40 ms if the rate must be measured, longer if the clock advances by microseconds.
//
// The rate comes from atomics.ClockHz if the machine states it, such as on arm64. Otherwise
// Calibrate compares the counter with Go's monotonic clock, which may be slewed by up to 500
// ppm.
func Calibrate() Clock {
	hz, err := atomics.ClockHz(), 0.0
	stated := hz > 0
	if !stated {
		hz, err = measureHz()
	}
	period := 1e9 / hz
	return Clock{period, period * readingTicks(), period * stepTicks(deltas()), err, stated}
}

// Now returns the counter, in ticks from an arbitrary start; only differences are meaningful. It
// inlines to [atomics.Ticks].
func (Clock) Now() uint64 { return atomics.Ticks() }

// Nanoseconds converts the difference of two readings, later minus earlier, to the nearest ns,
// in about 2 ns. A negative one, possible across cores, becomes 0.
func (c Clock) Nanoseconds(ticks uint64) int64 {
	return int64(float64(max(0, int64(ticks)))*c.Period + 0.5)
}

// Name returns the name of the counter: "RDTSC", "CNTVCT_EL0" or "monotonic".
func (Clock) Name() string { return atomics.ClockName() }

// Hz returns the rate of the clock in ticks per second.
func (c Clock) Hz() float64 { return math.Round(1e9 / c.Period) }

// measureHz returns the result of [agree] for the rates of three spans.
func measureHz() (hz, ppm float64) {
	const span = 12 * time.Millisecond
	epoch := time.Now()
	elapsed := func() int64 { return int64(time.Since(epoch)) }
	var rates []float64
	for len(rates) < 3 {
		ns0, ticks0 := ReadTogether(elapsed, atomics.Ticks)
		time.Sleep(span)
		ns1, ticks1 := ReadTogether(elapsed, atomics.Ticks)
		if d := int64(ticks1 - ticks0); d > 0 && ns1 > ns0 {
			rates = append(rates, float64(d)/float64(ns1-ns0)*1e9)
		}
	}
	return agree(rates)
}

// agree takes the median, which ignores one bad span.
func agree(rates []float64) (median, ppm float64) {
	median = stat.Median(rates)
	return median, (slices.Max(rates) - slices.Min(rates)) / median * 1e6
}

// ReadTogether reads two clocks at one moment, the first in ns. It keeps the try with the least
// time between two readings of the first around the other. Its error is at most half that time,
// some 30 ns: a preempted thread spoils only a try.
func ReadTogether(now func() int64, other func() uint64) (ns int64, ticks uint64) {
	best := int64(math.MaxInt64)
	for range 50 {
		before := now()
		t := other()
		if took := now() - before; took < best {
			best, ns, ticks = took, before+took/2, t
		}
	}
	return ns, ticks
}

func readingTicks() float64 {
	const chains, links = 63, 64
	var costs []float64
	sum := 0.0
	for range chains {
		first := atomics.Ticks()
		last := first
		for range links {
			last = atomics.Ticks()
		}
		cost := float64(max(0, int64(last-first))) / links
		costs = append(costs, cost)
		sum += cost
	}
	if median := stat.Median(costs); median > 0 {
		return median
	}
	return sum / chains // most chains fit between two steps of the clock
}

// deltas counts the differences of successive readings. The distance of the readings varies, so
// that a regular distance is not mistaken for a step of the clock.
func deltas() map[uint64]int {
	const enough, limit = 8192, 20 * time.Millisecond
	seen := make(map[uint64]int)
	start := time.Now()
	before := atomics.Ticks()
	for positive, i := 0, 0; positive < enough; i++ {
		Do(i & 15)
		now := atomics.Ticks()
		if d := int64(now - before); d > 0 {
			seen[uint64(d)]++
			positive++
		}
		before = now
		if i&255 == 255 && time.Since(start) > limit {
			break
		}
	}
	return seen
}

// stepTicks returns the step of a clock, in ticks, from the count of each difference, or 0. A
// step of s ticks, s not an integer, appears as k*s rounded up or down. Three neighbouring
// integers mean single ticks. Rare differences come from a change of core or a correction, and
// are excluded.
func stepTicks(seen map[uint64]int) float64 {
	values := usual(seen)
	step, previous := math.Inf(1), 0.0
	for len(values) > 0 {
		run, count, sum := 0, 0.0, 0.0
		for run < len(values) && values[run] == values[0]+uint64(run) {
			n := float64(seen[values[run]])
			count += n
			sum += n * float64(values[run])
			run++
		}
		if run > 2 {
			return 1
		}
		values = values[run:]
		step, previous = min(step, sum/count-previous), sum/count
	}
	if previous == 0 {
		return 0
	}
	return step
}

func usual(seen map[uint64]int) []uint64 {
	total := 0
	for _, n := range seen {
		total += n
	}
	var values []uint64
	for v, n := range seen {
		if n > total/500 {
			values = append(values, v)
		}
	}
	slices.Sort(values)
	return values
}
