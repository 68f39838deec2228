package runner

import (
	"context"
	"sync"

	"locklab/atomics"
	"locklab/harness"
	"locklab/harness/oracle"
	"locklab/harness/recorder"
	"locklab/internal/machine"
)

// localLoop drives a lock inside this process.
type localLoop struct {
	handles []sync.Locker
}

func newLocalLoop(r *Rig) *localLoop {
	w := r.job.Workload
	lock := r.job.Lock.Local(r.setup())
	l := new(localLoop)
	for i := range w.Workers {
		l.handles = append(l.handles, lock.Worker(i))
	}
	return l
}

func (l *localLoop) close() error { return nil }

// A section is what the lock under test guards. Its fields are plain on
// purpose: if the lock lets two workers in, increments of n get lost.
type section struct {
	_     atomics.CacheLinePad
	n     uint64 // acquisitions
	last  int    // worker that held the lock before
	stamp uint64 // clock when the holder of a sampled acquisition released
	_     atomics.CacheLinePad

	// The owner log starts with the first acquisition that is recorded.
	logging bool
	base    uint64 // n of that acquisition
	log     *recorder.OwnerLog
	_       atomics.CacheLinePad // every turn reads the three
}

func (l *localLoop) drive(ctx context.Context, d *drive) *harness.Result {
	s := &section{last: -1, log: recorder.NewOwnerLog(d.tuning.expected)}
	// What a worker needs is allocated before the window, which counts objects.
	workers := make([]*localWorker, len(d.tallies))
	for i, t := range d.tallies {
		workers[i] = newLocalWorker(d, i, t)
	}
	d.run(ctx, func(i int, _ *tally) { workers[i].run(s, l.handles[i]) }, nil)
	r := d.result()
	if len(d.stuck) > 0 {
		return r
	}
	r.Violations = append(r.Violations, oracle.Counter(s.n, acquisitions(d.tallies))...)
	r.Owners, r.Burst = s.log.Owners(r.Ops)
	return r
}

// A localWorker is one worker in its loop.
type localWorker struct {
	id          int
	c           *control
	t           *tally
	clock       machine.Clock
	mask        uint64 // sampleEvery - 1
	hold, think spinner

	asked, got, left uint64               // readings of the clock in a timed turn
	_                atomics.CacheLinePad // the readings change
}

func newLocalWorker(d *drive, i int, t *tally) *localWorker {
	in, w := d.rig.in, d.rig.job.Workload
	rng := machine.NewRandom(d.rig.job.Seed + uint64(i))
	return &localWorker{
		id: i, c: d.control, t: t, clock: in.Clock, mask: uint64(d.tuning.sampleEvery - 1),
		hold: newSpinner(in.Work, w.Hold, rng), think: newSpinner(in.Work, w.Think, rng),
	}
}

// run takes turns until the control says stop.
func (w *localWorker) run(s *section, lock sync.Locker) {
	first := uint64(w.id) // staggers the workers' samples
	for turns, recorded := w.c.next(0); turns != 0; turns, recorded = w.c.next(turns) {
		done, handovers := w.batch(s, lock, first, uint64(turns), recorded)
		first += done
		w.t.publish(done, handovers)
	}
}

// batch takes turns, of which the first has the number first, and returns how
// many it took and how many of them found the lock with another worker before.
// It leaves early if the drive is over and the lock changes hands: a turn for
// which a worker waits may take long, and nobody counts it any more. The counter is read on entry
// and written back on exit, so that any overlap of two holds can lose an
// increment. Inside the section a sampled turn only reads the clock: what it
// read is worked up after the release. The readings are kept in w, because a
// variable that lives across the calls would cost every turn.
func (w *localWorker) batch(s *section, lock sync.Locker, first, turns uint64, recorded bool) (done, handovers uint64) {
	for turn, end := first, first+turns; turn != end; turn++ {
		timed := recorded && turn&w.mask == 0
		if timed {
			w.asked = w.clock.Now()
		}
		lock.Lock()
		n, other := s.n, s.last != w.id
		if timed {
			w.got = w.clock.Now()
		}
		if other {
			if n&w.mask == 0 && recorded && n != 0 {
				w.passed(s)
			}
			handovers++
			s.last = w.id
		}
		if recorded && !s.logging {
			s.logging, s.base = true, n
		}
		if s.logging {
			s.log.Record(n-s.base, w.id)
		}
		w.hold.spend()
		s.n = n + 1
		if (n+1)&w.mask == 0 {
			s.stamp = w.clock.Now()
		}
		if timed {
			w.left = w.clock.Now()
		}
		lock.Unlock()
		if timed {
			w.record()
		} else {
			w.think.spend()
		}
		if other && w.c.over() {
			return turn + 1 - first, handovers
		}
	}
	return turns, handovers
}

// passed notes the time since the other worker's release.
func (w *localWorker) passed(s *section) {
	w.t.handover.Record(w.clock.Nanoseconds(w.clock.Now() - s.stamp))
}

// record notes what a timed turn read, and thinks.
func (w *localWorker) record() {
	w.t.wait.Record(w.clock.Nanoseconds(w.got - w.asked))
	w.t.hold.Add(w.clock.Nanoseconds(w.left - w.got))
	w.timedThink()
}

// timedThink thinks by the clock.
func (w *localWorker) timedThink() {
	if w.think.iterations == 0 {
		return
	}
	start := w.clock.Now()
	w.think.work()
	w.t.think.Add(w.clock.Nanoseconds(w.clock.Now() - start))
}

// A spinner spends a Span as calibrated work.
type spinner struct {
	iterations int
	exp        bool
	rng        *machine.Random
}

func newSpinner(work machine.Work, s harness.Span, rng *machine.Random) spinner {
	return spinner{iterations: work.Iterations(s.Mean), exp: s.Exp, rng: rng}
}

// spend is small enough to inline: a span of 0 must cost nothing.
func (s *spinner) spend() {
	if s.iterations != 0 {
		s.work()
	}
}

func (s *spinner) work() {
	n := s.iterations
	if s.exp {
		n = machine.ExpIterations(s.rng, n)
	}
	machine.Do(n)
}
