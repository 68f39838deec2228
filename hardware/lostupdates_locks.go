package hardware

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"locklab/atomics"
	"locklab/harness"
	"locklab/internal/machine"
)

func lockPlacements(places []placement) []placement {
	var ps []placement
	if places[0].shared {
		ps = append(ps, places[0])
	}
	ps = append(ps, placement{name: "GOMAXPROCS=1", cpus: []int{unbound, unbound}, shared: true, plain: true})
	if last := places[len(places)-1]; !last.shared {
		ps = append(ps, last)
	}
	return ps
}

func (p placement) pin() harness.Pin {
	switch {
	case p.plain:
		return harness.PinNone
	case p.cpus[0] == unbound:
		return harness.PinThread
	}
	return harness.PinCPU
}

func (p placement) run(work func(i int)) error {
	if p.plain {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
		var all sync.WaitGroup
		for i := range p.cpus {
			all.Go(func() { work(i) })
		}
		all.Wait()
		return nil
	}
	pinned, err := newPinnedThreads(p.cpus...)
	if err != nil {
		return err
	}
	defer pinned.close()
	pinned.step(work)
	return nil
}

type lockCell struct {
	lock    *harness.Variant
	place   placement
	tallies []tally   // one for each repeat
	ns      []float64 // wall clock time for one entry
}

// newLockCells returns a cell for each of locks at each of places, and notes on omitted locks:
// locks that do not exclude, or cannot run here.
func newLockCells(locks []*harness.Variant, places []placement) (cells []*lockCell, notes []string) {
	for _, l := range locks {
		if why := notALock(l); why != "" {
			notes = append(notes, fmt.Sprintf("%s is left out: %s", l.Name, why))
			continue
		}
		for _, p := range places {
			if most := l.Traits.MaxWorkers; most > 0 && most < len(p.cpus) {
				notes = append(notes, fmt.Sprintf("%s is left out on %s: it serves %d workers, not %d", l.Name, p.name, most, len(p.cpus)))
				continue
			}
			cells = append(cells, &lockCell{lock: l, place: p})
		}
	}
	return cells, notes
}

func notALock(v *harness.Variant) string {
	switch {
	case v.Unavailable != "":
		return v.Unavailable
	case v.Local == nil:
		return "it is distributed"
	case v.Status == harness.Broken || v.Status == harness.Control || v.Status == harness.Historical:
		return "it is " + string(v.Status)
	}
	return ""
}

const (
	// leastLockSpan lets the scheduler change the thread on one CPU a few times.
	leastLockSpan = 10 * time.Millisecond

	// lockPatience is the workers' time to leave. With the worst wait on one CPU each
	// acquisition lasts a slice of the scheduler.
	lockPatience = 20 * time.Second
)

func (c *lockCell) measure(ctx context.Context, span time.Duration) error {
	s := newCriticalSection(c.lock, harness.Setup{Workers: len(c.place.cpus), Pin: c.place.pin()})
	if err := s.play(ctx, c.place, max(span, leastLockSpan), lockPatience); err != nil {
		return fmt.Errorf("hardware: %s on %s: %w", c.lock.Name, c.place.name, err)
	}
	t := s.tally()
	c.tallies = append(c.tallies, t)
	c.ns = append(c.ns, float64(s.elapsed())/float64(t.entered))
	return nil
}

type criticalSection struct {
	lock    harness.Local
	data    guarded // its own lock is unused
	workers []sectionWorker
	begun   chan struct{} // a worker sends when it begins

	_    atomics.CacheLinePad
	stop atomic.Bool
	_    atomics.CacheLinePad
}

type sectionWorker struct {
	entered, violated uint64
	began, ended      time.Time
	_                 atomics.CacheLinePad
}

func newCriticalSection(v *harness.Variant, s harness.Setup) *criticalSection {
	return &criticalSection{
		lock:    v.Local(s),
		workers: make([]sectionWorker, s.Workers),
		begun:   make(chan struct{}, s.Workers),
	}
}

// work takes and frees the lock, once and then until the stop flag is set. The counter is
// read on entry and written on exit: an interrupt could not split a single instruction.
func (s *criticalSection) work(i int) {
	handle, w, id := s.lock.Worker(i), &s.workers[i], uint64(i+1)
	w.began = time.Now()
	s.begun <- struct{}{}
	for first := true; first || !s.stop.Load(); first = false {
		handle.Lock()
		s.data.owner = id
		n := s.data.counter
		machine.Do(holdIterations)
		if s.data.owner != id {
			w.violated++
		}
		s.data.counter = n + 1
		handle.Unlock()
		w.entered++
	}
	w.ended = time.Now()
}

var errStuck = errors.New("a worker did not come back")

// play lets the workers run at p for span. It bounds the time, since a first-come first-served
// lock on one CPU takes a slice for each acquisition. A worker loads the stop flag before
// each, so all leave.
//
// If one has not left after patience, the error is errStuck. Its thread stays.
func (s *criticalSection) play(ctx context.Context, p placement, span, patience time.Duration) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	ran := make(chan error, 1)
	go func() { ran <- p.run(s.work) }()
	for range s.workers { // on a busy machine it takes a while until all run
		select {
		case <-s.begun:
		case err := <-ran: // a thread could not be bound
			return err
		}
	}
	select {
	case <-time.After(span):
	case <-ctx.Done():
	}
	s.stop.Store(true)
	select {
	case err := <-ran:
		return errors.Join(err, ctx.Err())
	case <-time.After(patience):
		return fmt.Errorf("%w within %v", errStuck, patience)
	}
}

func (s *criticalSection) elapsed() time.Duration {
	first := slices.MinFunc(s.workers, func(a, b sectionWorker) int { return a.began.Compare(b.began) })
	last := slices.MaxFunc(s.workers, func(a, b sectionWorker) int { return a.ended.Compare(b.ended) })
	return last.ended.Sub(first.began)
}

func (s *criticalSection) tally() (t tally) {
	for i := range s.workers {
		t.entered += s.workers[i].entered
		t.violated += s.workers[i].violated
	}
	t.forgot = t.entered - s.data.counter
	return t
}
