//go:build systematic

package explore

import (
	"fmt"
	"math/bits"
	"strings"

	"locklab/atomics"
)

// section watches which workers (bits) ask for a lock, wait for it and are inside.
type section struct {
	permits int
	fifo    bool
	inside  uint8
	readers uint8
	asking  uint8             // has called Lock but done nothing yet
	asked   uint8             // has done the first operation of Lock
	waits   uint8             // has asked, and then had to wait
	ahead   [MaxWorkers]uint8 // which were waiting when this worker asked
}

func (s *section) begins(w *Worker) {
	if bit := uint8(1) << w.id; s.asking&bit != 0 {
		s.asking &^= bit
		s.asked |= bit
		s.ahead[w.id] = s.waits
	}
}

// waiting notes that w cannot go on. If it has asked, it has a place now.
func (s *section) waiting(w *Worker) { s.waits |= s.asked & (1 << w.id) }

func (s *section) ends(w *Worker) {
	bit := uint8(1) << w.id
	s.asking &^= bit
	s.asked &^= bit
	s.waits &^= bit
	s.ahead[w.id] = 0
	for i := range s.ahead {
		s.ahead[i] &^= bit
	}
}

func (s *section) leave(w *Worker) {
	s.inside &^= 1 << w.id
	s.readers &^= 1 << w.id
}

func (s *section) state() uint64 {
	h := mix(uint64(s.inside)|uint64(s.readers)<<8, uint64(s.asking)|uint64(s.asked)<<8|uint64(s.waits)<<16)
	if s.fifo {
		for _, a := range s.ahead {
			h = h<<8 ^ h>>56 ^ uint64(a)
		}
		h = scramble(h)
	}
	return h
}

// Asks marks the worker's next operation as the start of an acquisition.
func (w *Worker) Asks() {
	w.run.section.asking |= 1 << w.id
	w.observed = w.observed[:0]
	w.run.noteText(w, "calls Lock")
}

// Enter records that w has the lock; it begins a critical section.
func (w *Worker) Enter() {
	s := &w.run.section
	w.run.noteText(w, "is inside")
	if ahead := s.ahead[w.id]; s.fifo && ahead != 0 {
		w.halt(fmt.Errorf("%w: worker %d is inside before %s", ErrOrder, w.id, names(ahead)))
	}
	s.ends(w)
	others := s.inside
	s.inside |= 1 << w.id
	if s.readers != 0 || bits.OnesCount8(s.inside) > s.permits {
		w.halt(fmt.Errorf("%w: worker %d and %s", ErrExclusion, w.id, names(others|s.readers)))
	}
}

// EnterShared is Enter for a reader: any number of them may be inside.
func (w *Worker) EnterShared() {
	s := &w.run.section
	w.run.noteText(w, "is inside as a reader")
	s.ends(w)
	s.readers |= 1 << w.id
	if s.inside != 0 {
		w.halt(fmt.Errorf("%w: worker %d as a reader and %s", ErrExclusion, w.id, names(s.inside)))
	}
}

// Leave ends the critical section. Others may run before it, and see w inside.
func (w *Worker) Leave() { w.point(atomics.Access{Op: opLeave}) }

// Fail ends the schedule with an error.
func (w *Worker) Fail(err error) { w.halt(err) }

// names lists workers: "worker 1, worker 2".
func names(set uint8) string {
	var workers []string
	for i := range MaxWorkers {
		if set&(1<<i) != 0 {
			workers = append(workers, fmt.Sprintf("worker %d", i))
		}
	}
	return strings.Join(workers, ", ")
}
