package machine

import "time"

// An event is something that Linux counts for a thread. Type and number are
// those of its header linux/perf_event.h, which programs are compiled with, so
// they never change.
type event struct {
	name   string
	doc    string
	kind   uint32
	number uint64
	mode   mode
}

// A mode says in which mode of the processor an event happens.
type mode int

const (
	anyMode    mode = iota
	kernelMode      // counted in user mode alone it is always 0
	clockMode       // it is not of a mode: counted in user mode alone it is the same
)

// The types of events.
const (
	hardware = 0 // counted by the processor
	software = 1 // counted by the kernel
)

// events are those that tell something about a lock.
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

// A Scope says whose events are counted.
type Scope int

const (
	// ThisThread counts the calling thread, which runtime.LockOSThread holds.
	ThisThread Scope = iota
	// WholeProcess counts all threads there are, and those that they start. One
	// that starts during the call of [OpenCounters] may be missed.
	WholeProcess
)

// A Count is what was counted of one event.
type Count struct {
	Event    string
	Reason   string // why it cannot be counted, "" if it can
	UserOnly bool   // what happens in the kernel is not counted

	Raw     uint64        // events while they were counted; task-clock in ns
	Enabled time.Duration // how long the threads ran
	Running time.Duration // for how much of that the events were counted
}

// Value returns the number of events; false if they cannot be counted. A
// processor has few counters, and the kernel multiplexes them where more events
// are asked for: then Value is an estimate, Raw times Enabled by Running.
func (c Count) Value() (float64, bool) {
	if c.Reason != "" || c.Running <= 0 {
		return 0, false
	}
	return float64(c.Raw) * (float64(c.Enabled) / float64(c.Running)), true
}

// Sub returns what was counted since earlier, a count of the same event.
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

// An opened event has one file for each thread, none where it cannot be
// counted.
type opened struct {
	count Count
	files []int
}

// OpenCounters begins to count, by perf_event_open(2). It always returns
// something to read: an event that cannot be counted carries its reason. So it
// is on a system other than Linux, where no event can. To open and to close them
// takes part of a millisecond, to read them a microsecond for each event and
// thread.
func OpenCounters(scope Scope) *Counters {
	c := &Counters{scope: scope}
	c.open()
	return c
}

// Read returns what has been counted since OpenCounters, in the order of
// [EventNames]. Two readings differ by what happened between them; see
// [Count.Sub].
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

// An EventStatus says whether an event can be counted here.
type EventStatus struct {
	Event    string `json:"event"`
	Reason   string `json:"reason,omitempty"`    // why not, "" if it can
	UserOnly bool   `json:"user_only,omitempty"` // what happens in the kernel is not counted
}
