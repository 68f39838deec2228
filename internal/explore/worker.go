//go:build systematic

package explore

import (
	"fmt"
	"iter"
	"runtime"

	"locklab/atomics"
)

// Events of a worker's history other than the writes that it reads.
const (
	eventSpin uint64 = iota + 1
	eventLeave
	eventStore
	eventForward
	eventWrite
)

// The numbers behind waiting.
const (
	// patience is how many reads in a row may find the same before a worker counts as waiting,
	// although it calls no SpinHint. It is more than one acquisition does without waiting.
	patience = 10
	// inVain is how many operations without a change make a worker's wait infinite.
	inVain = 1000
)

// A Worker is one of the workers of a [Program], in one schedule.
// Its fields are one state: each operation changes several.
type Worker struct {
	run *run
	id  int
	co  *coroutine

	started bool
	done    bool
	joined  bool           // its next operation belongs to the last one
	pending atomics.Access // what it is about to do

	// history is a hash of the worker's operations and the writes that it read. Since workers are
	// deterministic, it represents their local state.
	history uint64
	buffer  []entry // StoreReleases that others do not see yet
	late    bool    // the worker has gone on since

	observed []observation // what it has read since it last began to wait
	waits    bool          // it is about to spin: it has nothing to do until there is news
	stirred  bool          // another has written since it began to wait
	site     uint64        // the call stack of the wait
	out      int           // operations done in vain since a decision to continue
	stuck    bool          // its decision to continue was in vain
	last     bool          // it continued because no other worker could run
}

// An observation is a cell that a worker has read.
type observation struct {
	cell    int
	version uint64
	times   int // in a row, without a write of its own
}

// ID returns the number of the worker, from 0.
func (w *Worker) ID() int { return w.id }

func (w *Worker) happens(event uint64) { w.history = mix(w.history, event) }

// observe notes that w has read a version of cell c.
func (w *Worker) observe(c int, version uint64) {
	for i := range w.observed {
		l := &w.observed[i]
		if l.cell != c {
			continue
		}
		if l.version != version {
			l.version, l.times = version, 0
		}
		l.times++
		return
	}
	w.observed = append(w.observed, observation{c, version, 1})
}

func (w *Worker) noteWrite(c int, version uint64) {
	for i := range w.observed {
		if w.observed[i].cell == c {
			w.observed[i].version = version
		}
	}
}

func (w *Worker) acts() {
	for i := range w.observed {
		w.observed[i].times = 0
	}
}

// arrive is called when w has a new pending operation.
func (r *run) arrive(w *Worker) {
	switch w.pending.Op {
	case atomics.OpSpin:
		w.waits = true
	case atomics.OpLoad, atomics.OpCompareAndSwap, atomics.OpSwap:
		w.waits = r.pollsAgain(w)
	case atomics.OpAcquire:
		if !r.able(w) {
			r.section.waiting(w)
		}
	}
	if !w.waits {
		return
	}
	w.stirred = false
	if w.out == 0 {
		r.section.waiting(w)
		w.site = r.site()
		r.fair.yields(w.id, r.ableSet())
	}
}

// pollsAgain reports whether w, after reads enough, is about to find the same again.
func (r *run) pollsAgain(w *Worker) bool {
	if !r.idles(w) {
		return false
	}
	for _, l := range w.observed {
		if l.times >= patience && r.memory.cells[l.cell].word == w.pending.Word {
			return l.version == r.memory.cells[l.cell].version
		}
	}
	return false
}

func (r *run) idles(w *Worker) bool {
	switch a := w.pending; a.Op {
	case atomics.OpSpin, atomics.OpLoad:
		return true
	case atomics.OpCompareAndSwap, atomics.OpSwap, atomics.OpAdd:
		before := a.Word.Get()
		return len(w.buffer) == 0 && a.After(before) == before
	}
	return false
}

// able reports whether w can do its pending operation, and has reason to.
func (r *run) able(w *Worker) bool {
	switch {
	case w.done:
		return false
	case w.waits:
		return r.news(w)
	case w.pending.Op == atomics.OpAcquire:
		return w.pending.Word.Get() > 0
	}
	return true
}

// news reports whether a word that w has read is different now; any word if it has read none.
func (r *run) news(w *Worker) bool {
	for _, l := range w.observed {
		if r.memory.cells[l.cell].version != l.version {
			return true
		}
	}
	return len(w.observed) == 0 && w.stirred
}

// goesOut reports whether w, which continues until it does something else, still waits.
func (r *run) goesOut(w *Worker) bool {
	if w.out == 0 {
		return false
	}
	w.out++
	if r.idles(w) && w.out <= inVain {
		return true
	}
	vain := r.idles(w)
	if r.traced { // the text is slow to build
		r.noteText(w, fmt.Sprintf("waits and polls, %d operations in vain", w.out-1))
	}
	w.out = 0
	if vain {
		r.e.idle[r.place(w)] = true
		w.stuck = true
		if !w.last && !r.traced {
			r.fail(errCovered) // as if it had just waited
			w.suspend()
		}
	}
	return false
}

// site returns a hash of the stack, which names a wait loop and its caller. That is slow, so
// while r repeats the beginning of another run, it takes the sites from there.
func (r *run) site() uint64 {
	h := uint64(0)
	if n := len(r.sites); len(r.path) < len(r.prefix) && n < len(r.known) {
		h = r.known[n]
	} else {
		var pcs [16]uintptr
		for _, pc := range pcs[:runtime.Callers(5, pcs[:])] {
			h = mix(h, uint64(pc))
		}
	}
	r.sites = append(r.sites, h)
	return h
}

// place returns a hash of the wait loop of w and of the values of all words: a loop over two
// words that never ends with some values may end with others.
func (r *run) place(w *Worker) uint64 {
	h := w.site
	for i, c := range r.memory.cells {
		h += c.word.Get() * scramble(uint64(i)+1)
	}
	return h
}

// A coroutine runs one body after another on its own goroutine, which never runs at the same time
// as its resumer. A switch costs a fifth of a goroutine switch, and a grown stack is kept.
type coroutine struct {
	body  func()
	next  func() (finished, ok bool)
	stop  func()
	yield func(finished bool) bool
}

func newCoroutine() *coroutine {
	c := &coroutine{}
	c.next, c.stop = iter.Pull(func(yield func(finished bool) bool) {
		c.yield = yield
		for more := true; more; more = yield(true) {
			c.body()
		}
	})
	return c
}

func (c *coroutine) resume() (finished bool) {
	finished, _ = c.next()
	return finished
}

func (c *coroutine) suspend() { c.yield(false) }

type unwind struct{}

func (e *explorer) coroutine(i int) *coroutine {
	for len(e.coroutines) <= i {
		e.coroutines = append(e.coroutines, newCoroutine())
	}
	return e.coroutines[i]
}

func (e *explorer) dismiss() {
	for _, c := range e.coroutines {
		c.stop()
	}
}

func (w *Worker) body(do func(*Worker)) {
	defer func() {
		switch p := recover(); p.(type) {
		case nil, unwind:
		default:
			w.run.fail(fmt.Errorf("%w: worker %d: %v", ErrPanic, w.id, p))
		}
	}()
	do(w)
}
