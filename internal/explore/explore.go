//go:build systematic

package explore

import (
	"errors"
	"fmt"
)

// Errors of a schedule. A [Failure] wraps one of them.
var (
	ErrExclusion = errors.New("explore: too many inside at once")
	ErrDeadlock  = errors.New("explore: deadlock: no worker can go on, and what they wait for never changes")
	ErrLivelock  = errors.New("explore: livelock: steps without end")
	ErrOrder     = errors.New("explore: out of order: one that asked later went first")
	ErrFinal     = errors.New("explore: wrong result when all have finished")
	ErrPanic     = errors.New("explore: panic")
)

// MaxWorkers bounds the workers of a program.
const MaxWorkers = 8

// Bounds of a schedule.
const (
	maxPreemptions = 200
	maxReorderings = 7
	// maxSteps is how many operations a schedule may have before it counts as a livelock. It is
	// more than a worker may wait in vain, 1000.
	maxSteps = 5000
)

// A Program is a set of workers and their shared state. It is built for each schedule, and must
// repeat itself if the words give the same values: no time, no map order. A random number may
// decide the length of a SpinHint, but not the next operation.
type Program struct {
	// Workers are the functions whose operations on words are interleaved.
	// They must not start goroutines, nor block in anything but a Parker.
	Workers []func(*Worker)
	// Shared holds the words, for their names in a trace. It may be nil.
	Shared any
	// Final is called when all workers have returned. It may be nil.
	Final func() error
	// Permits is how many may be inside at once by Enter; 0 is one.
	Permits int
	// FIFO demands that a worker that waits when another one asks goes first.
	FIFO bool
}

// Limits bound the exploration. All schedules within them are covered.
type Limits struct {
	// Preemptions is how often a schedule may stop a worker that could go on; at most 200.
	Preemptions int
	// Reorderings is how often a schedule may run a worker while one of its StoreReleases is still
	// invisible to others; at most 7.
	Reorderings int
}

// A Report is the result of an exploration.
type Report struct {
	Schedules int      // how many were run, whole or until they met a known state
	States    int      // how many different states were met
	Failure   *Failure // the first schedule that failed, one with the fewest preemptions and reorderings; or nil
}

// A Failure is a schedule that failed. Its error text is complete.
type Failure struct {
	Err         error // wraps one of the errors of this package
	Preemptions int
	Reorderings int
	Trace       string // one line per operation
}

// Error returns what went wrong, and each step that led there.
func (f *Failure) Error() string {
	return fmt.Sprintf("%v\nafter %d preemptions and %d reorderings:\n%s", f.Err, f.Preemptions, f.Reorderings, f.Trace)
}

// Unwrap returns f.Err.
func (f *Failure) Unwrap() error { return f.Err }

type explorer struct {
	build      func() Program
	limits     Limits
	todo       [][]item          // by preemptions and reorderings, together
	seen       map[uint64]budget // states; nil forgets them
	idle       map[uint64]bool   // wait loops that never end, see place
	coroutines []*coroutine      // for the workers of all schedules
	report     Report
}

// An item is a schedule to run: the first n decisions of path, then next.
type item struct {
	path  []decision
	n     int
	next  decision
	sites []uint64 // of the waits up to there
}

// Explore runs the program under every schedule within the limits, those with the fewest
// preemptions and reorderings first, until a failure. It calls build for each. Meanwhile it
// controls the words of the process (see [atomics.SetScheduler]): no other code may use any.
func Explore(build func() Program, limits Limits) Report {
	e := newExplorer(build, limits)
	e.seen = make(map[uint64]budget)
	return e.explore()
}

func newExplorer(build func() Program, limits Limits) *explorer {
	limits.Preemptions = min(limits.Preemptions, maxPreemptions)
	limits.Reorderings = min(limits.Reorderings, maxReorderings)
	return &explorer{
		build:  build,
		limits: limits,
		todo:   make([][]item, limits.Preemptions+limits.Reorderings+1),
		idle:   make(map[uint64]bool),
	}
}

func (e *explorer) explore() Report {
	defer e.dismiss()
	e.run(item{})
	for cost := range e.todo {
		for len(e.todo[cost]) > 0 && e.report.Failure == nil {
			last := len(e.todo[cost]) - 1
			next := e.todo[cost][last]
			e.todo[cost] = e.todo[cost][:last]
			e.run(next)
		}
	}
	return e.report
}

// run runs one schedule with the first choice at every further point, and lists the others.
func (e *explorer) run(it item) {
	var prefix []decision
	if it.n > 0 || it.next != 0 {
		prefix = append(append(make([]decision, 0, 2*it.n+64), it.path[:it.n]...), it.next)
	}
	r := newRun(e, prefix)
	r.known = it.sites
	r.execute()
	e.report.Schedules++
	e.report.States = len(e.seen)
	if r.err != nil {
		e.report.Failure = e.explain(r)
	}
}

func (e *explorer) explain(r *run) *Failure {
	again := newRun(e, r.path)
	again.traced = true
	again.execute()
	if again.err == nil || again.err.Error() != r.err.Error() {
		r.err = fmt.Errorf("%w (when run again: %v; the program does not repeat itself, or its workers race on memory outside words)", r.err, again.err)
	}
	return &Failure{Err: r.err, Trace: again.timeline, Preemptions: again.preemptions, Reorderings: again.reorderings}
}

// A budget contains for each number of reorderings, from 0, the fewest preemptions of a schedule
// that reached a state, plus one; 0 is never.
type budget [maxReorderings + 1]uint8

// met reports whether a state was reached before at no greater cost: then it is covered.
func (e *explorer) met(state uint64, preemptions, reorderings int) bool {
	if e.seen == nil {
		return false
	}
	b := e.seen[state]
	for _, p := range b[:reorderings+1] {
		if p > 0 && int(p) <= preemptions+1 {
			return true
		}
	}
	b[reorderings] = uint8(preemptions + 1)
	e.seen[state] = b
	return false
}
