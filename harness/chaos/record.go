package chaos

import (
	"errors"
	"fmt"
	"os"

	"locklab/harness/oracle"
)

// The bounds of histories.
const (
	// mostEvents is the number of events kept of a try, for all locks: a worker that locks as
	// fast as it can makes ten thousand a second. In a file each takes some 100 bytes.
	mostEvents = 1 << 21

	// mostOfOne is the limit for one history: judging it takes up to 120 bytes of
	// memory per event.
	mostOfOne = 1 << 20

	// DefaultMemory replaces a Plan.Memory of 0.
	DefaultMemory = 16 << 20

	eventBytes = 96 // of an event in memory, without its text
)

// A record is the growing history of a lock: the latest events in memory, the earlier ones in
// a file. Answers to frequent questions of scenarios are kept separately.
type record struct {
	dir  string // of the file; "" is the system's temporary directory
	most int    // limit of events; the rest is dropped
	room int    // limit of bytes of events in memory

	recent  oracle.History
	bytes   int      // bytes of recent
	file    *os.File // nil until memory is full
	spilled int      // events in the file
	parts   []int64  // ends of the parts written together; each part is in order of time
	err     error    // why the history is incomplete
	cut     bool     // there were more than most

	grants int
	last   int64         // time of the latest event
	latest map[int]int64 // time of each worker's latest event
	holds  map[int]bool  // workers that were granted the lock and have neither released it nor been notified of its loss
}

func (r *record) add(e oracle.Event) {
	r.note(&e)
	if r.spilled+len(r.recent) >= r.most {
		r.cut = true
		return
	}
	if r.err != nil {
		return
	}
	r.recent = append(r.recent, e)
	if r.bytes += eventBytes + len(e.Text); r.bytes > r.room {
		r.err = r.spill()
	}
}

func (r *record) note(e *oracle.Event) {
	switch e.Kind {
	case oracle.Granted:
		if r.latest == nil {
			r.latest, r.holds = make(map[int]int64), make(map[int]bool)
		}
		r.grants++
		r.last, r.latest[e.Worker] = max(r.last, e.At), max(r.latest[e.Worker], e.At)
		r.holds[e.Worker] = true
	case oracle.Told, oracle.Releasing, oracle.Killed:
		delete(r.holds, e.Worker)
	}
}

// spill moves the events in memory to the file, by time. After a failure the history is
// incomplete and nothing more is kept.
func (r *record) spill() error {
	recent := r.recent
	recent.Sort()
	r.recent, r.bytes = recent[:0], 0
	if r.file == nil {
		var err error
		if r.file, err = nameless(r.dir); err != nil {
			return fmt.Errorf("chaos: a history that takes more than %d bytes: %w", r.room, err)
		}
	}
	n, err := recent.WriteTo(r.file)
	if err != nil {
		return fmt.Errorf("chaos: %w", err)
	}
	r.parts = append(r.parts, r.size()+n)
	r.spilled += len(recent)
	clear(recent) // frees their texts
	return nil
}

// size returns the valid size of the file in bytes.
func (r *record) size() int64 {
	if len(r.parts) == 0 {
		return 0
	}
	return r.parts[len(r.parts)-1]
}

// nameless returns a new unlinked file, which the system frees however the process ends.
func nameless(dir string) (*os.File, error) {
	f, err := os.CreateTemp(dir, "locklab-history-")
	if err != nil {
		return nil, err
	}
	if err := os.Remove(f.Name()); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

func (r *record) close() {
	if r.file != nil {
		r.file.Close()
	}
	*r = record{}
}
