package machine

import "time"

// An event is counted by Linux for a thread. Type and number come from its header
// linux/perf_event.h, which programs are compiled with, so they never change.
type event struct {
	name   string
	doc    string
	kind   uint32
	number uint64
	mode   mode
}

type mode int

const (
	anyMode    mode = iota
	kernelMode      // counted in user mode only, it is always 0
	clockMode       // without a mode: counted in user mode only, it is the same
)

const (
	hardware = 0 // counted by the processor
	software = 1 // counted by the kernel
)

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

// A Scope selects the threads whose events are counted.
type Scope int

const (
	// ThisThread counts the calling thread, which must hold runtime.LockOSThread.
	ThisThread Scope = iota
	// WholeProcess counts all existing threads, and threads that they start. It may miss
	// one that starts during the call of [OpenCounters].
	WholeProcess
)

// A Count is the count of one event.
type Count struct {
	Event    string
	Reason   string // reason why it cannot be counted, or ""
	UserOnly bool   // events in the kernel are not counted

	Raw     uint64        // events while they were counted; task-clock in ns
	Enabled time.Duration // run time of the threads
	Running time.Duration // part of Enabled during which the events were counted
}

// Value returns the number of events; false if they cannot be counted. A processor has
// few counters, and the kernel multiplexes them for more events: then Value is an
// estimate, Raw times Enabled by Running.
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

// Counters count the events of the processor and the kernel for some threads.
// Get them from [OpenCounters].
type Counters struct {
	scope  Scope
	counts []opened
}

type opened struct {
	count Count
	files []int
}

// OpenCounters starts to count, with perf_event_open(2). It always succeeds: an event
// that cannot be counted has a reason, as all events on systems other than Linux. Opening
// and closing takes part of a millisecond, reading a microsecond for each event and
// thread.
func OpenCounters(scope Scope) *Counters {
	c := &Counters{scope: scope}
	c.open()
	return c
}

// Read returns the counts since OpenCounters, in the order of [EventNames]. The
// difference of two readings counts the events between them; see [Count.Sub].
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
	Reason   string `json:"reason,omitempty"`    // reason why not, or ""
	UserOnly bool   `json:"user_only,omitempty"` // events in the kernel are not counted
}
