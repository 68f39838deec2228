package harness

import (
	"cmp"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// A Rate is the number of acquisitions per second that all workers of an open loop
// request together. 0 is a closed loop.
type Rate float64

const closedLoop = "closed"

// MaxRate is the greatest rate of a workload: an arrival every 10 ns.
const MaxRate Rate = 1e8

// String returns the form that ParseRate reads: "500/s", "1.5k/s", "2M/s".
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

// ParseRate reads "500/s", "1.5k/s", "3/ms", "2/us", or "closed" for 0.
func ParseRate(text string) (Rate, error) {
	if text == closedLoop {
		return 0, nil
	}
	m := rateRE.FindStringSubmatch(text)
	if m == nil {
		return 0, fmt.Errorf("%w: %q is not a rate: want acquisitions for a time, such as 500/s, 1k/s or 2/us, or %s for workers that ask again at once", ErrUsage, text, closedLoop)
	}
	x, err := strconv.ParseFloat(m[1]+"e"+strconv.Itoa(rateExponents[m[2]]+rateExponents[m[3]]), 64)
	if r := Rate(x); err == nil && r > 0 && r <= MaxRate {
		return r, nil
	}
	return 0, fmt.Errorf("%w: %q is not a rate: want more than 0, up to %v", ErrUsage, text, MaxRate)
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
	refuse(w.Rate > 0 && w.Think.Mean > 0, "think is %v with a rate of %v: when workers ask is said by the one or by the other", w.Think.Mean, w.Rate)
	refuse(w.Rate > 0 && float64(w.Rate)*w.Window.Seconds() < 1, "rate is %v: a window of %v is too short for one arrival", w.Rate, w.Window)
}

// An OpenLoop is the outcome of the arrivals whose intended start is in the window. Starts are
// drawn in advance and waits count from them, so a lock that stalls delays every arrival of
// that time. A closed loop would not have made those requests.
type OpenLoop struct {
	Offered uint64        `json:"offered"` // arrivals
	Span    time.Duration `json:"span"`    // length of the time in which they were offered, in ns

	// Dropped counts the arrivals that did not have the lock by the deadline. Each
	// adds a wait of the deadline to Result.Wait and does not count in Ops.
	Dropped uint64 `json:"dropped,omitempty"`

	// Backlog counts the arrivals that were neither served nor dropped at the window's end.
	// Those without a worker add their wait until then to Result.Wait.
	Backlog uint64 `json:"backlog,omitempty"`

	// Late counts the arrivals that found all workers busy; their waits count, too.
	Late uint64 `json:"late,omitempty"`

	// Behind is the number of due arrivals that no worker had taken when the most
	// delayed one was taken.
	Behind uint64 `json:"behind,omitempty"`

	// Lag50 and Lag99 are quantiles of the loop's error, in ns: from the intended to the
	// actual start of requests with a waiting worker.
	Lag50 float64 `json:"lag_p50"`
	Lag99 float64 `json:"lag_p99"`
}
