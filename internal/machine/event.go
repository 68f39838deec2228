package machine

import "time"

// An event is something that Linux counts for a thread, by type and number of perf_event.h.
type event struct {
	name   string
	kind   uint32
	number uint64
	mode   mode
}

// A mode is the processor mode in which an event happens.
type mode int

const (
	anyMode    mode = iota
	kernelMode      // always 0 if counted in user mode only
	clockMode       // independent of the mode
)

// The types of events.
const (
	hardware = 0 // counted by the processor
	software = 1 // counted by the kernel
)

// events are the counted events.
var events = []event{
	{"cycles", hardware, 0, anyMode},              // cycles of the processor
	{"instructions", hardware, 1, anyMode},        // instructions completed
	{"cache-references", hardware, 2, anyMode},    // accesses that missed the first caches; which, depends on the processor
	{"cache-misses", hardware, 3, anyMode},        // references that missed the last cache
	{"task-clock", software, 1, clockMode},        // ns of processor time
	{"page-faults", software, 2, anyMode},         // page faults
	{"context-switches", software, 3, kernelMode}, // times the thread gave up its processor or lost it
	{"cpu-migrations", software, 4, kernelMode},   // times the thread went on on another processor
}

// A Count is the count of one event.
type Count struct {
	Event    string
	Reason   string // why it cannot be counted, "" if it can
	UserOnly bool   // kernel mode is not counted

	Raw     uint64        // events counted; task-clock in ns
	Enabled time.Duration // how long the thread ran
	Running time.Duration // part of Enabled during which the events were counted
}

// Value returns the number of events, or false. If the kernel multiplexes counters, it is an
// estimate: Raw times Enabled by Running.
func (c Count) Value() (float64, bool) {
	if c.Reason != "" || c.Running <= 0 {
		return 0, false
	}
	return float64(c.Raw) * (float64(c.Enabled) / float64(c.Running)), true
}

// Sub returns the count since earlier, a count of the same event.
func (c Count) Sub(earlier Count) Count {
	c.Raw -= earlier.Raw
	c.Enabled -= earlier.Enabled
	c.Running -= earlier.Running
	return c
}

// Counters count events of the processor and the kernel for one thread, from [OpenCounters].
type Counters []opened

// An opened is an event that is being counted, or the reason why it is not.
type opened struct {
	count Count
	file  int
}

// EventNames returns the names of the events, such as "cycles", hardware first.
func EventNames() []string {
	var names []string
	for _, e := range events {
		names = append(names, e.name)
	}
	return names
}

// An EventStatus reports whether an event can be counted here.
type EventStatus struct {
	Event    string `json:"event"`
	Reason   string `json:"reason,omitempty"`    // "" if it can be counted
	UserOnly bool   `json:"user_only,omitempty"` // kernel mode is not counted
}
