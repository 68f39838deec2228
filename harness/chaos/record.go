package chaos

import (
	"errors"
	"fmt"
	"os"

	"locklab/harness/oracle"
)

// The bounds of histories.
const (
	// mostEvents is how many events a try keeps, of all locks: a worker that locks as
	// fast as it can makes ten thousand a second. In a file they take some 100 bytes each.
	mostEvents = 1 << 21

	// mostOfOne is how many of them one history may have: what is concluded from one of
	// them takes up to 120 bytes in memory.
	mostOfOne = 1 << 20

	// DefaultMemory is Plan.Memory if that is 0.
	DefaultMemory = 16 << 20

	eventBytes = 96 // of an event in memory, without its text
)

// A record is the history of a lock while it is made: the latest events in memory, and
// those before them in a file once they take too much of it. What a scenario asks again
// and again it knows without a look at either.
type record struct {
	dir  string // of the file; "" is the system's for temporary files
	most int    // events; the rest is left out
	room int    // bytes of events in memory

	recent  oracle.History
	bytes   int      // that these take
	file    *os.File // nil until there is no room
	spilled int      // events in the file
	parts   []int64  // where those end that were written together, which are in order of time
	err     error    // why the history is not whole
	cut     bool     // there were more than most

	grants int
	last   int64         // when the latest was
	latest map[int]int64 // that of each worker
	holds  map[int]bool  // workers that were granted the lock, and have neither released it nor been told that it is lost
}

// add takes an event in, and makes room if there is too little.
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

// spill moves what is in memory to the file, by time. If that fails the history is not whole, and
// nothing more is kept.
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
	clear(recent) // their texts
	return nil
}

// size returns how many bytes of the file count.
func (r *record) size() int64 {
	if len(r.parts) == 0 {
		return 0
	}
	return r.parts[len(r.parts)-1]
}

// nameless returns a new file that has no name any more: the system takes it back when it
// is closed or the process has ended, however it ends.
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

// close takes the history back.
func (r *record) close() {
	if r.file != nil {
		r.file.Close()
	}
	*r = record{}
}
