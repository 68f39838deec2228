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

func names(set uint8) string {
	var workers []string
	for i := range MaxWorkers {
		if set&(1<<i) != 0 {
			workers = append(workers, fmt.Sprintf("worker %d", i))
		}
	}
	return strings.Join(workers, ", ")
}

// fairness stops waiting workers from running forever ahead of the worker that could end their
// wait. It is the fair scheduler of Madanlal Musuvathi and Shaz Qadeer, "Fair Stateless Model
// Checking", PLDI 2008, algorithm 1. When a worker yields for the second time, it lets all workers
// run first that were able to run in between but did not. Sets of workers are bits.
type fairness struct {
	n      int
	able   uint8             // as observed last
	by     int               // whose step came last; -1 once it has been observed
	before [MaxWorkers]uint8 // which must run before this worker does
	// Since the worker yielded last:
	always  [MaxWorkers]uint8 // which were able to run all the time
	stopped [MaxWorkers]uint8 // which it made unable to run
	ran     [MaxWorkers]uint8
}

func (f *fairness) init(n int) {
	f.n, f.by = n, -1
	for i := range f.ran {
		f.ran[i] = 1<<n - 1 // no worker is owed a run at the first yield
	}
}

func (f *fairness) steps(w int) {
	for i := range f.n {
		f.before[i] &^= 1 << w
		f.ran[i] |= 1 << w
	}
	f.by = w
}

func (f *fairness) observe(able uint8) {
	for i := range f.n {
		f.always[i] &= able
	}
	if f.by >= 0 {
		f.stopped[f.by] |= f.able &^ able
		f.by = -1
	}
	f.able = able
}

func (f *fairness) yields(w int, able uint8) {
	f.observe(able)
	f.before[w] |= (f.always[w] | f.stopped[w]) &^ f.ran[w]
	f.always[w], f.stopped[w], f.ran[w] = able, 0, 0
}

// behind returns which of the able must let another one of them go first.
func (f *fairness) behind(able uint8) (set uint8) {
	for i := range f.n {
		if f.before[i]&able != 0 {
			set |= 1 << i
		}
	}
	return set
}

// state returns a hash of the future-relevant state of the workers that have not returned.
func (f *fairness) state(alive uint8) uint64 {
	h := uint64(0)
	for i := range f.n {
		if alive&(1<<i) == 0 {
			continue
		}
		ran := f.ran[i] & alive
		stopped := f.stopped[i] & alive &^ ran
		always := f.always[i] & alive &^ ran &^ stopped
		h = mix(h, uint64(f.before[i]&alive)|uint64(always)<<8|uint64(stopped)<<16|uint64(ran)<<24)
	}
	return h
}

type cell struct {
	word    atomics.Word
	version uint64 // which write the value is of; 0 is what the word began with
}

// memory is all words, with total store order: a store buffer per worker, oldest first.
type memory struct {
	cells []cell // few: a search is faster than a map
	sum   uint64 // of the versions
}

func (m *memory) at(w atomics.Word) int {
	for i := range m.cells {
		if m.cells[i].word == w {
			return i
		}
	}
	m.cells = append(m.cells, cell{word: w})
	return len(m.cells) - 1
}

// write makes v the value of cell c, and reports whether it changed: else no worker sees it.
func (m *memory) write(c int, v, event uint64) bool {
	if m.cells[c].word.Get() == v {
		return false
	}
	m.cells[c].word.Set(v)
	m.sum += scramble(event) - scramble(m.cells[c].version)
	m.cells[c].version = event
	return true
}

type entry struct {
	cell  int
	value uint64
	event uint64
}

// scramble spreads the bits of x (the finalizer of MurmurHash3, with 0 at 0).
func scramble(x uint64) uint64 {
	x = (x ^ x>>33) * 0xff51afd7ed558ccd
	x = (x ^ x>>33) * 0xc4ceb9fe1a85ec53
	return x ^ x>>33
}

func mix(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a^0x9e3779b97f4a7c15, b^0xd6e8feb86659fd93)
	return scramble(hi ^ lo ^ bits.RotateLeft64(a, 23))
}
