//go:build systematic

package explore

import (
	"errors"
	"fmt"

	"locklab/atomics"
)

// opLeave is the end of a critical section, for the explorer one more operation.
const opLeave atomics.Op = 200

// A run is one schedule. Its workers are coroutines: nothing runs at the same time.
// Its fields are one state: an operation of a worker may change any of them.
type run struct {
	e       *explorer
	program Program
	workers []*Worker
	memory  memory
	section section
	fair    fairness

	prefix   []decision // to follow; then the first choice each time
	known    []uint64   // sites of the waits in prefix
	sites    []uint64   // of all waits
	path     []decision // taken so far
	traced   bool       // r writes lines and explores no other schedules
	lines    []line     // of the trace
	timeline string     // text of lines

	current     int     // which worker did the last operation, or -1
	running     *Worker // whose code runs; nil is the driver's or the program's
	chosen      *Worker // which is next
	aborted     bool    // the coroutines are to unwind
	scratch     []choice
	steps       int
	preemptions int
	reorderings int
	err         error
}

func newRun(e *explorer, prefix []decision) *run {
	return &run{e: e, prefix: prefix, current: -1}
}

// errCovered ends a run that has reached a fully explored state.
var errCovered = errors.New("covered")

// execute runs the schedule and sets r.err.
func (r *run) execute() {
	defer atomics.SetScheduler(r.access)()
	r.program = r.e.build()
	n := len(r.program.Workers)
	if n == 0 || n > MaxWorkers {
		panic(fmt.Sprintf("explore: a program of %d workers, want 1 to %d", n, MaxWorkers))
	}
	r.section.permits, r.section.fifo = max(1, r.program.Permits), r.program.FIFO
	r.fair.init(n)
	for i, body := range r.program.Workers {
		w := &Worker{run: r, id: i, co: r.e.coroutine(i)}
		w.happens(uint64(i)) // equal histories of two workers are two
		w.co.body = func() { w.body(body) }
		r.workers = append(r.workers, w)
	}
	defer r.abort()
	for _, w := range r.workers {
		r.resume(w) // to its first operation
	}
	for r.chosen = r.choose(); r.chosen != nil; {
		if !r.resume(r.chosen) {
			r.chosen = r.choose() // it has returned
		}
	}
	if r.err == nil && r.program.Final != nil {
		if err := r.program.Final(); err != nil {
			r.err = fmt.Errorf("%w: %w", ErrFinal, err)
		}
	}
	if r.err == errCovered {
		r.err = nil
	}
	if r.traced {
		r.timeline = r.text() // while the workers still stand where they ended
	}
}

func (r *run) resume(w *Worker) bool {
	r.running = w
	w.done = w.co.resume()
	r.running = nil
	return !w.done
}

func (r *run) abort() {
	r.aborted = true
	for _, w := range r.workers {
		if !w.done {
			r.resume(w)
		}
	}
}

// access is the scheduler of all words.
func (r *run) access(a atomics.Access) (before uint64) {
	w := r.running
	if w == nil { // the program is built or judged: no worker is there
		before = a.Word.Get()
		a.Word.Set(a.After(before))
		return before
	}
	switch a.Op {
	case atomics.OpLane:
		return uint64(w.id)
	case atomics.OpNow:
		return 0
	}
	return w.point(a)
}

// point is where w stands before its operation a. It returns when a has happened.
func (w *Worker) point(a atomics.Access) (before uint64) {
	r := w.run
	if r.aborted {
		panic(unwind{}) // a deferred call of the code under test
	}
	w.pending = a
	first := !w.started
	w.started = true
	r.arrive(w)
	if w.joined && r.able(w) {
		w.joined = false
		return r.step(w)
	}
	w.joined = false
	if first || r.continues(w) != w {
		w.suspend()
	}
	return r.step(w)
}

func (w *Worker) suspend() {
	w.co.suspend()
	if w.run.aborted {
		panic(unwind{})
	}
}

// continues returns which worker does the next operation, for the driver too.
func (r *run) continues(w *Worker) *Worker {
	if r.goesOut(w) {
		return w
	}
	r.chosen = r.choose()
	return r.chosen
}

// fail is called while a worker runs.
func (r *run) fail(err error) {
	if r.err == nil {
		r.err = err
	}
	r.chosen = nil
}

func (w *Worker) halt(err error) {
	w.run.fail(err)
	w.run.running = nil
	w.suspend()
}

func (r *run) step(w *Worker) (before uint64) {
	r.steps++
	if r.steps > maxSteps {
		w.halt(ErrLivelock)
	}
	r.section.begins(w)
	r.current = w.id
	r.fair.steps(w.id)
	return r.perform(w)
}

// perform does the pending operation of w on memory.
func (r *run) perform(w *Worker) (before uint64) {
	a := w.pending
	if w.waits {
		w.waits = false
		w.observed = w.observed[:0]
	}
	switch a.Op {
	case atomics.OpSpin:
		w.happens(eventSpin)
		r.note(w, a, 0, 0)
		return 0
	case opLeave:
		w.happens(eventLeave)
		r.note(w, a, 0, 0)
		r.section.leave(w)
		w.joined = true
		return 0
	case atomics.OpStoreRelease:
		c := r.memory.at(a.Word)
		w.happens(eventStore)
		w.buffer = append(w.buffer, entry{cell: c, value: a.New, event: w.history})
		w.acts()
		r.note(w, a, 0, a.New)
		return 0
	case atomics.OpLoad:
		return r.load(w)
	}
	for len(w.buffer) > 0 {
		r.flush(w) // an instruction with LOCK empties the store buffer
	}
	return r.modify(w)
}

// load does a Load: a worker sees its own stores at once.
func (r *run) load(w *Worker) uint64 {
	c := r.memory.at(w.pending.Word)
	for i := len(w.buffer) - 1; i >= 0; i-- {
		if w.buffer[i].cell == c {
			w.happens(eventForward)
			w.observe(c, r.memory.cells[c].version)
			r.note(w, w.pending, w.buffer[i].value, w.buffer[i].value)
			return w.buffer[i].value
		}
	}
	before := w.pending.Word.Get()
	r.reads(w, c)
	r.note(w, w.pending, before, before)
	return before
}

// modify does an operation that is atomic and sequentially consistent.
func (r *run) modify(w *Worker) uint64 {
	a := w.pending
	c := r.memory.at(a.Word)
	before := a.Word.Get()
	after := a.After(before)
	if a.Op == atomics.OpStore {
		w.happens(eventStore)
	} else {
		r.reads(w, c)
	}
	if before != after {
		w.happens(eventWrite)
		w.acts()
		r.written(w, c, after, w.history)
	}
	r.note(w, a, before, after)
	return before
}

func (r *run) reads(w *Worker, c int) {
	version := r.memory.cells[c].version
	w.happens(version)
	w.observe(c, version)
}

func (r *run) flush(w *Worker) {
	oldest := w.buffer[0]
	w.buffer = w.buffer[:copy(w.buffer, w.buffer[1:])]
	r.noteFlush(w, oldest)
	if len(w.buffer) == 0 {
		w.late = false
	}
	r.written(w, oldest.cell, oldest.value, oldest.event)
}

// written is a write by w that is visible to all.
func (r *run) written(w *Worker, c int, v, event uint64) {
	if !r.memory.write(c, v, event) {
		return
	}
	for _, u := range r.workers {
		u.stuck = false
		if u == w {
			u.noteWrite(c, event)
		} else {
			u.stirred = true
		}
	}
}
