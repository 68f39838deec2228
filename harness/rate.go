package harness

import (
	"cmp"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// A Rate is the number of acquisitions per second that all workers of an open loop
// request together. 0 is a closed loop.
type Rate float64

const closedLoop = "closed"

// String returns the form that Set reads: "500/s", "1.5k/s", "2M/s".
func (r Rate) String() string {
	if r == 0 {
		return closedLoop
	}
	digits, prefix := r.digits()
	return digits + prefix + "/s"
}

// Rounded returns r with this number of significant figures.
func (r Rate) Rounded(figures int) Rate {
	x, err := strconv.ParseFloat(strconv.FormatFloat(float64(r), 'e', max(1, figures)-1, 64), 64)
	if err != nil {
		return r
	}
	return Rate(x)
}

// name returns r as a value in a benchmark name, which has no slash: "500-per-s".
func (r Rate) name() string {
	digits, prefix := r.digits()
	return digits + prefix + "-per-s"
}

// digits returns r in full with the greatest prefix that leaves at least one whole digit
// and loses nothing.
func (r Rate) digits() (digits, prefix string) {
	for _, p := range []struct {
		unit Rate
		name string
		exp  string
	}{{1e6, "M", "e6"}, {1e3, "k", "e3"}} {
		if r < p.unit {
			continue
		}
		text := strconv.FormatFloat(float64(r/p.unit), 'f', -1, 64)
		if back, err := strconv.ParseFloat(text+p.exp, 64); err == nil && Rate(back) == r {
			return text, p.name
		}
	}
	return strconv.FormatFloat(float64(r), 'f', -1, 64), ""
}

var rateRE = regexp.MustCompile(`^([0-9]{1,18}(?:\.[0-9]{1,18})?)([kM]?)/(s|ms|us|µs|μs)$`)

var rateExponents = map[string]int{"": 0, "k": 3, "M": 6, "s": 0, "ms": 3, "us": 6, "µs": 6, "μs": 6}

// Set reads "500/s", "1.5k/s", "3/ms", "2/us", or "closed" for 0.
func (r *Rate) Set(text string) error {
	if text == closedLoop {
		*r = 0
		return nil
	}
	m := rateRE.FindStringSubmatch(text)
	if m == nil {
		return fmt.Errorf("%w: %q is not a rate: want acquisitions for a time, such as 500/s, 1k/s or 2/us, or %s for workers that ask again at once", ErrUsage, text, closedLoop)
	}
	x, err := strconv.ParseFloat(m[1]+"e"+strconv.Itoa(rateExponents[m[2]]+rateExponents[m[3]]), 64)
	if err == nil && x > 0 && Rate(x) <= MaxRate {
		*r = Rate(x)
		return nil
	}
	return fmt.Errorf("%w: %q is not a rate: want more than 0, up to %v", ErrUsage, text, MaxRate)
}

// An Arrival is the spacing of the arrivals of an open loop.
type Arrival string

// The kinds of arrivals.
const (
	Poisson Arrival = ""     // independent of each other, like arrivals from many clients
	Even    Arrival = "even" // equally spaced, like the ticks of a timer
)

// String returns the name of a; "poisson" for the zero value.
func (a Arrival) String() string { return cmp.Or(string(a), "poisson") }

func (w Workload) validateLoad(refuse func(mistake bool, format string, args ...any)) {
	refuse(!(w.Rate >= 0 && w.Rate <= MaxRate), "rate is %s: want more than 0, up to %v, or 0 for workers that ask again at once", strings.TrimSuffix(w.Rate.name(), "-per-s"), MaxRate)
	refuse(w.Arrivals != Poisson && w.Arrivals != Even, "arrivals is %q: want one of %v", string(w.Arrivals), Arrivals)
	refuse(w.Deadline < 0 || w.Deadline > MaxDeadline, "deadline is %v: want 0 to %v", w.Deadline, MaxDeadline)
	refuse(w.Rate == 0 && w.Arrivals != Poisson, "arrivals is %v without a rate: workers that ask again at once have no arrivals", w.Arrivals)
	refuse(w.Rate == 0 && w.Deadline > 0, "deadline is %v without a rate: it counts from when an acquisition was meant to begin", w.Deadline)
	refuse(w.Rate > 0 && w.Think.Mean > 0, "think is %v with a rate of %v: both decide when workers ask, so leave out one of them", w.Think.Mean, w.Rate)
	refuse(w.Rate > 0 && float64(w.Rate)*w.Window.Seconds() < 1, "rate is %v: a window of %v is too short for one arrival", w.Rate, w.Window)
}
