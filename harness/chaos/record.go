package chaos

import "locklab/harness/oracle"

// The bounds of histories. An event takes some 100 bytes of memory, and as many to judge it.
const (
	// mostEvents is the number of events kept of a try, for all locks: a worker that locks as
	// fast as it can makes ten thousand a second.
	mostEvents = 1 << 21

	mostOfOne = 1 << 20 // the limit for one lock
)

// A record is the growing history of a lock, with answers to frequent questions of scenarios.
type record struct {
	most   int // limit of events; the rest is dropped
	events oracle.History
	cut    bool // there were more than most

	grants int
	last   int64         // time of the latest grant
	latest map[int]int64 // time of each worker's latest grant
	holds  map[int]bool  // workers that were granted the lock and have neither released it nor been notified of its loss
}

func newRecord(most int) record {
	return record{most: most, latest: make(map[int]int64), holds: make(map[int]bool)}
}

func (r *record) add(e oracle.Event) {
	switch e.Kind {
	case oracle.Granted:
		r.grants++
		r.last, r.latest[e.Worker] = max(r.last, e.At), max(r.latest[e.Worker], e.At)
		r.holds[e.Worker] = true
	case oracle.Told, oracle.Releasing, oracle.Killed:
		delete(r.holds, e.Worker)
	}
	if r.cut = len(r.events) >= r.most; !r.cut {
		r.events = append(r.events, e)
	}
}

// until returns the events up to end, by time.
func (r *record) until(end int64) oracle.History {
	r.events.Sort()
	for i := range r.events {
		if r.events[i].At > end {
			return r.events[:i]
		}
	}
	return r.events
}
