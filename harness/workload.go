package harness

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// A Workload says how hard a lock is driven. Each field is an axis of the lab;
// the zero value of an optional axis is its default.
type Workload struct {
	Workers int `json:"workers"` // goroutines that contend, at least 1

	// Clients is over how many Remotes the workers of a remote lock spread;
	// 0 gives each worker its own. Local locks ignore it.
	Clients int `json:"clients,omitempty"`

	Hold  Span `json:"hold"`  // time inside the critical section
	Think Span `json:"think"` // time between release and the next request

	Wait WaitPolicy `json:"wait,omitempty"`
	Pin  Pin        `json:"pin,omitempty"`

	GOMAXPROCS int `json:"gomaxprocs,omitempty"` // 0 keeps the runtime's own choice

	// Reads is how many acquisitions in a hundred only read. A lock that lets
	// readers share does; any other is taken as for a write.
	Reads int `json:"reads,omitempty"`

	// Locks is over how many locks of the kind the workers spread, each
	// acquisition at random; 0 is one.
	Locks int `json:"locks,omitempty"`

	// Garbage adds a goroutine that allocates, so that the garbage collector
	// runs in the window. Otherwise it does not.
	Garbage bool `json:"garbage,omitempty"`

	Warmup time.Duration `json:"warmup"` // driven but not measured
	Window time.Duration `json:"window"` // measured
}

// Name returns the axes as benchmark name parts, such as
// "workers=8/hold=100ns": workers always, then every axis that is off its
// default, then hold. It never ends in "-digits".
func (w Workload) Name() string {
	parts := []string{fmt.Sprintf("workers=%d", w.Workers)}
	add := func(off bool, format string, v any) {
		if off {
			parts = append(parts, fmt.Sprintf(format, v))
		}
	}
	add(w.Clients != 0, "clients=%d", w.Clients)
	add(w.Wait != WaitAdaptive, "wait=%s", w.Wait)
	add(w.Pin != PinNone, "pin=%s", w.Pin)
	add(w.GOMAXPROCS != 0, "procs=%d", w.GOMAXPROCS)
	add(w.Reads != 0, "reads=%d%%", w.Reads)
	add(w.Locks > 1, "locks=%d", w.Locks)
	add(w.Garbage, "gc=%s", "on")
	add(w.Think.Mean != 0, "think=%s", w.Think)
	return strings.Join(append(parts, "hold="+w.Hold.String()), "/")
}

// Pin says how workers are bound to processors.
type Pin string

// The pinning policies.
const (
	PinNone   Pin = ""       // plain goroutines, as services run them
	PinThread Pin = "thread" // each worker locked to an OS thread
	PinCPU    Pin = "cpu"    // each worker on a thread bound to one CPU, in topology order
)

// Pins lists every pinning policy, default first.
var Pins = []Pin{PinNone, PinThread, PinCPU}

// String returns the policy's name; "none" for the zero value.
func (p Pin) String() string {
	if p == PinNone {
		return "none"
	}
	return string(p)
}

// A Span is a length of time that a worker spends: calibrated CPU work in
// local runs, sleep in remote runs, where the CPU belongs to the servers too.
type Span struct {
	Mean time.Duration `json:"mean"`
	// Exp draws each span from an exponential distribution with that mean;
	// otherwise every span is the mean.
	Exp bool `json:"exp,omitempty"`
}

// String returns the form that ParseSpan reads: "100ns", or "100ns-exp".
func (s Span) String() string {
	d := s.Mean.String()
	// 1m0s and 1h0m0s are noise in a name.
	if strings.HasSuffix(d, "m0s") {
		d = strings.TrimSuffix(d, "0s")
	}
	if s.Exp {
		d += "-exp"
	}
	return d
}

// ParseSpan reads "0", "100ns" or "100ns-exp".
func ParseSpan(text string) (Span, error) {
	mean, exp := strings.CutSuffix(text, "-exp")
	d, err := time.ParseDuration(mean)
	if err != nil || d < 0 {
		return Span{}, fmt.Errorf("%w: %q is not a span: want a duration of 0 or more, such as 100ns, or 100ns-exp for exponential times", ErrUsage, text)
	}
	return Span{Mean: d, Exp: exp}, nil
}

// maxima that keep a typing mistake from taking the machine down.
const (
	maxWorkers = 4096
	maxLocks   = 1 << 16
	maxSpan    = time.Minute
	maxProcs   = 4096
)

// MaxWindow is the longest window, and the longest warm-up, of a workload.
const MaxWindow = time.Hour

// Validate reports the first mistake in w as an error that wraps ErrUsage.
func (w Workload) Validate() error {
	bad := func(format string, args ...any) error {
		return fmt.Errorf("%w: "+format, append([]any{ErrUsage}, args...)...)
	}
	switch {
	case w.Workers < 1 || w.Workers > maxWorkers:
		return bad("workers is %d: want 1 to %d", w.Workers, maxWorkers)
	case w.Clients < 0 || w.Clients > w.Workers:
		return bad("clients is %d: want 1 to the number of workers (%d), or 0 for one client each", w.Clients, w.Workers)
	case w.Hold.Mean < 0 || w.Hold.Mean > maxSpan:
		return bad("hold is %v: want 0 to %v", w.Hold.Mean, maxSpan)
	case w.Think.Mean < 0 || w.Think.Mean > maxSpan:
		return bad("think is %v: want 0 to %v", w.Think.Mean, maxSpan)
	case !slices.Contains(WaitPolicies, w.Wait):
		return bad("wait is %q: want one of %v", w.Wait, WaitPolicies)
	case !slices.Contains(Pins, w.Pin):
		return bad("pin is %q: want one of %v", w.Pin, Pins)
	case w.GOMAXPROCS < 0 || w.GOMAXPROCS > maxProcs:
		return bad("gomaxprocs is %d: want 1 to %d, or 0 for the runtime's choice", w.GOMAXPROCS, maxProcs)
	case w.Reads < 0 || w.Reads > 100:
		return bad("reads is %d: want 0 to 100, a share in percent", w.Reads)
	case w.Locks < 0 || w.Locks > maxLocks:
		return bad("locks is %d: want 1 to %d", w.Locks, maxLocks)
	case w.Warmup < 0 || w.Warmup > MaxWindow:
		return bad("warmup is %v: want 0 to %v", w.Warmup, MaxWindow)
	case w.Window <= 0 || w.Window > MaxWindow:
		return bad("the measured window is %v: want more than 0, and %v at most", w.Window, MaxWindow)
	}
	return nil
}
