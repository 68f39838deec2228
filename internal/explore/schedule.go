//go:build systematic

package explore

import (
	"fmt"
	"slices"

	"locklab/atomics"
)

// choose decides the next event, and returns the worker that does it next; nil ends the run.
func (r *run) choose() *Worker {
	for r.err == nil {
		if w := r.goesLate(); w != nil || r.err != nil {
			return w
		}
		able := r.ableSet()
		r.fair.observe(able)
		able &^= r.fair.behind(able)
		choices := r.choices(able)
		if len(choices) == 0 {
			if able == 0 && !r.finished() {
				r.err = ErrDeadlock
			}
			return nil
		}
		d := choices[0].decision
		if len(r.path) < len(r.prefix) {
			d = r.prefix[len(r.path)]
		} else if !r.traced {
			if r.covered() {
				return nil
			}
			for _, c := range choices[1:] {
				r.later(c)
			}
		}
		if w := r.take(d, able); w != nil {
			return w
		}
	}
	return nil
}

func (r *run) covered() bool {
	if r.e.met(r.state(), r.preemptions, r.reorderings) {
		r.err = errCovered
	}
	return r.err != nil
}

type choice struct {
	decision    decision
	preemptions int
	reorderings int
}

func (r *run) later(c choice) {
	p, o := r.preemptions+c.preemptions, r.reorderings+c.reorderings
	if p > r.e.limits.Preemptions || o > r.e.limits.Reorderings {
		return
	}
	r.e.todo[p+o] = append(r.e.todo[p+o], item{
		path: r.path, n: len(r.path), next: c.decision, sites: r.sites,
	})
}

// goesLate decides about the latest stores of the current worker: either they become visible
// now, or the worker runs first, and is returned. There is no third case: others that run
// before that could as well run before the stores.
func (r *run) goesLate() *Worker {
	if r.current < 0 {
		return nil
	}
	w := r.workers[r.current]
	if len(w.buffer) == 0 || w.late {
		return nil
	}
	late := decideLate | decision(w.id)
	if r.able(w) && passes(w.pending.Op) {
		switch {
		case len(r.path) < len(r.prefix):
			if r.prefix[len(r.path)] == late {
				r.path = append(r.path, late)
				r.reorderings++
				w.late = true
				r.noteText(w, "goes on before its stores are visible")
				return w
			}
		case !r.traced:
			if r.covered() {
				return nil
			}
			r.later(choice{decision: late, reorderings: 1})
		}
	}
	for len(w.buffer) > 0 {
		r.flush(w)
	}
	return nil
}

// passes reports whether op may overtake stores that came before it.
func passes(op atomics.Op) bool {
	return op == atomics.OpLoad || op == atomics.OpStoreRelease || op == opLeave
}

func (r *run) ableSet() (set uint8) {
	for i, w := range r.workers {
		if r.able(w) {
			set |= 1 << i
		}
	}
	return set
}

// choices lists the possible next events, free ones first.
func (r *run) choices(able uint8) []choice {
	list := r.scratch[:0]
	n := len(r.workers)
	stop := 0 // a preemption
	if r.current >= 0 && able&(1<<r.current) != 0 {
		stop = 1
		list = append(list, choice{decision: decideStep | decision(r.current)})
	}
	for i := 1; i <= n; i++ {
		w := (r.current + i) % n
		if w != r.current && able&(1<<w) != 0 {
			list = append(list, choice{decideStep | decision(w), stop, 0})
		}
	}
	for _, w := range r.workers {
		// While a worker continues, no other can observe when its stores arrive.
		if len(w.buffer) > 0 && (w.id != r.current || stop == 0) {
			list = append(list, choice{decision: decideFlush | decision(w.id)})
		}
	}
	alone := len(list) == 0
	for _, w := range r.workers {
		if w.done || !w.waits || w.stuck || r.able(w) || r.e.idle[r.place(w)] && !alone {
			continue
		}
		cost := stop
		if w.id == r.current {
			cost = 0
		}
		list = append(list, choice{decideOut | decision(w.id), cost, 0})
	}
	r.scratch = list
	return list
}

// take carries out a decision and returns the worker that goes on by it.
func (r *run) take(d decision, able uint8) *Worker {
	w := r.workers[d.worker()]
	ok := false
	switch d.kind() {
	case decideStep:
		ok = able&(1<<w.id) != 0
	case decideFlush:
		ok = len(w.buffer) > 0
	case decideOut:
		ok = !w.done && w.waits && !r.able(w)
	}
	if !ok {
		r.err = fmt.Errorf("explore: decision %d is not possible", len(r.path)+1)
		return nil
	}
	r.path = append(r.path, d)
	if d.kind() == decideFlush {
		r.flush(w)
		return nil
	}
	if d.kind() == decideOut {
		w.out = 1
		w.last = able == 0 && !r.buffered()
	}
	if r.current >= 0 && w.id != r.current && able&(1<<r.current) != 0 {
		r.preemptions++
		r.noteText(r.workers[r.current], "is preempted")
	}
	return w
}

func (r *run) buffered() bool {
	return slices.ContainsFunc(r.workers, func(w *Worker) bool { return len(w.buffer) > 0 })
}

func (r *run) finished() bool {
	return !slices.ContainsFunc(r.workers, func(w *Worker) bool { return !w.done })
}

// state returns a hash of all that decides how the run can continue: see Known states.
func (r *run) state() uint64 {
	h := mix(r.memory.sum, uint64(r.current+1))
	alive := uint8(0)
	for _, w := range r.workers {
		if !w.done {
			alive |= 1 << w.id
		}
		// Whether a word was written matters to a worker that waits for nothing in particular.
		stirred := w.stirred && w.waits && len(w.observed) == 0
		flags := uint64(len(w.buffer)) << 8
		for i, flag := range [...]bool{w.late, w.done, w.waits, stirred, w.stuck} {
			if flag {
				flags |= 1 << i
			}
		}
		h = mix(h, w.history)
		h = mix(h, flags)
	}
	return mix(mix(h, r.fair.state(alive)), r.section.state())
}

// A decision is the next event: a kind in the upper half, and the worker in the lower half.
type decision uint8

const (
	decideStep  decision = 0x10 // the worker does its next operation
	decideLate  decision = 0x20 // it does so while its stores stay invisible
	decideFlush decision = 0x30 // its oldest store becomes visible
	decideOut   decision = 0x40 // it waits in vain until it does something else

	kindMask decision = 0xf0
)

func (d decision) kind() decision { return d & kindMask }
func (d decision) worker() int    { return int(d &^ kindMask) }
