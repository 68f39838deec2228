package machine

import "time"

// An event is something that Linux counts for a thread, by type and number of perf_event.h.
type event struct {
	name   string
	doc    string
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
	{"cycles", "cycles of the processor", hardware, 0, anyMode},
	{"instructions", "instructions completed", hardware, 1, anyMode},
	{"cache-references", "accesses that missed the first caches; which, depends on the processor", hardware, 2, anyMode},
	{"cache-misses", "of these, those that missed the last cache", hardware, 3, anyMode},
	{"task-clock", "ns of processor time", software, 1, clockMode},
	{"page-faults", "page faults", software, 2, anyMode},
	{"context-switches", "times the thread gave up its processor or lost it", software, 3, kernelMode},
	{"cpu-migrations", "times the thread went on on another processor", software, 4, kernelMode},
}

// A Scope selects the threads to count.
type Scope int

const (
	// ThisThread counts the calling thread, which runtime.LockOSThread holds.
	ThisThread Scope = iota
	// WholeProcess counts all threads, but may miss one that starts during [OpenCounters].
	WholeProcess
)

// A Count is the count of one event.
type Count struct {
	Event    string
	Reason   string // why it cannot be counted, "" if it can
	UserOnly bool   // kernel mode is not counted

	Raw     uint64        // events counted; task-clock in ns
	Enabled time.Duration // how long the threads ran
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

// Counters count events of the processor and the kernel for some threads, from [OpenCounters].
type Counters struct {
	scope  Scope
	counts []opened
}

type opened struct {
	count Count
	files []int
}

// OpenCounters starts counting with perf_event_open(2). An event that cannot be counted carries its
// reason; on systems other than Linux this is every event. To open and to close takes part of a
// millisecond; to read takes 1 µs for each event and thread.
func OpenCounters(scope Scope) *Counters {
	c := &Counters{scope: scope}
	c.open()
	return c
}

// Read returns the counts since OpenCounters, in the order of [EventNames]; see [Count.Sub].
func (c *Counters) Read() []Count {
	counts := make([]Count, len(c.counts))
	for i, o := range c.counts {
		counts[i] = o.read()
	}
	return counts
}

// Close ends the counting.
func (c *Counters) Close() error { return c.close() }

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
