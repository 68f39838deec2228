package hardware

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"locklab/atomics"
	"locklab/internal/machine"
	"locklab/internal/stat"
)

// A pinnedThreads is a few operating system threads, each bound to a CPU, that execute
// steps together. The caller must close it, which ends the threads.
//
// A step may be assembly, which the Go scheduler cannot interrupt, so a step must take
// milliseconds: a garbage collection waits for it. For the same reason assembly must never
// wait without bound for another thread, which the collector may have stopped already.
type pinnedThreads struct {
	jobs    []chan func()
	threads sync.WaitGroup
	arrived atomic.Int32
	restore func() // GOMAXPROCS
}

// newPinnedThreads starts a thread for each of cpus, which may repeat; unbound leaves it free.
func newPinnedThreads(cpus ...int) (*pinnedThreads, error) {
	// Threads that wait for each other must all run at once, in addition to the caller.
	before := runtime.GOMAXPROCS(0)
	runtime.GOMAXPROCS(max(before, len(cpus)+1))
	c := &pinnedThreads{restore: func() { runtime.GOMAXPROCS(before) }}
	for _, cpu := range cpus {
		if err := c.start(cpu); err != nil {
			c.close()
			return nil, err
		}
	}
	return c, nil
}

func (c *pinnedThreads) start(cpu int) error {
	jobs := make(chan func())
	ready := make(chan error)
	c.jobs = append(c.jobs, jobs)
	c.threads.Go(func() {
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		var err error
		if cpu >= 0 {
			err = machine.PinThread(cpu)
		}
		ready <- err
		for job := range jobs {
			job()
		}
	})
	return <-ready
}

// only returns some of the threads, which the caller must not close.
func (c *pinnedThreads) only(threads ...int) *pinnedThreads {
	some := new(pinnedThreads)
	for _, i := range threads {
		some.jobs = append(some.jobs, c.jobs[i])
	}
	return some
}

func (c *pinnedThreads) step(f func(thread int)) {
	c.arrived.Store(0)
	var all sync.WaitGroup
	all.Add(len(c.jobs))
	for i, jobs := range c.jobs {
		jobs <- func() {
			defer all.Done()
			c.meet()
			f(i)
		}
	}
	all.Wait()
}

// meet waits until all threads have arrived, but not for long: two threads on one CPU
// never run at once.
func (c *pinnedThreads) meet() {
	const patience = 1 << 12
	c.arrived.Add(1)
	for range patience {
		if int(c.arrived.Load()) == len(c.jobs) {
			return
		}
		atomics.SpinHint(1)
	}
}

func (c *pinnedThreads) close() {
	for _, jobs := range c.jobs {
		close(jobs)
	}
	c.threads.Wait()
	c.restore()
}

const unbound = -1

type placement struct {
	name   string
	cpus   []int
	shared bool
	plain  bool // goroutines, and GOMAXPROCS is 1, in place of bound threads
}

func placements() []placement {
	cpus := machine.CPUOrder()
	if c, err := newPinnedThreads(cpus[0]); err != nil {
		return []placement{{name: "not bound", cpus: []int{unbound, unbound}}}
	} else {
		c.close()
	}
	ps := []placement{{name: "one CPU", cpus: []int{cpus[0], cpus[0]}, shared: true}}
	if len(cpus) > 1 {
		ps = append(ps, placement{name: "two CPUs", cpus: []int{cpus[0], cpus[1]}})
	}
	return ps
}

func apart() placement {
	places := placements()
	return places[len(places)-1]
}

func ranOn(ps ...placement) []string {
	notes := []string{"ran on " + machine.Capture().String()}
	for _, p := range ps {
		switch {
		case p.cpus[0] == unbound:
			notes = append(notes, "threads are not bound: this system does not offer it")
		case len(p.cpus) == 2:
			notes = append(notes, fmt.Sprintf("%s: CPU %d and CPU %d", p.name, p.cpus[0], p.cpus[1]))
		default:
			notes = append(notes, fmt.Sprintf("%s: %d threads, each on a CPU of its own", p.name, len(p.cpus)))
		}
	}
	return notes
}

// timed runs op on a thread on each of cpus for about span and returns the time of one operation
// in ns; op does n of them, enough to make the reading of the clock negligible. The result is the
// median over windows of the threads' mean, which ignores a few preemptions.
func timed(ctx context.Context, cpus []int, span time.Duration, op func(thread, n int)) (float64, error) {
	c, err := newPinnedThreads(cpus...)
	if err != nil {
		return 0, err
	}
	defer c.close()
	const window = 5 * time.Millisecond
	var windows []float64
	err = during(ctx, span, func() {
		each := make([]float64, len(c.jobs))
		c.step(func(i int) { each[i] = perOperation(min(span, window), batch, func(n int) { op(i, n) }) })
		windows = append(windows, sum(each)/float64(len(each)))
	})
	return stat.Median(windows), err
}

// batch is the number of operations between two readings of the clock.
const batch = 4096

func perOperation(span time.Duration, batch int, op func(n int)) float64 {
	ops, took := 0, time.Duration(0)
	for start := time.Now(); ops == 0 || took < span; took = time.Since(start) {
		op(batch)
		ops += batch
	}
	return float64(took) / float64(ops)
}

// ratios divides within each repeat: a slow repeat cancels out.
func ratios(a, b []float64) []float64 {
	r := make([]float64, min(len(a), len(b)))
	for i := range r {
		r[i] = a[i] / b[i]
	}
	return r
}
