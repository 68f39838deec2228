package measure

import (
	"context"
	"runtime"
	"sync"

	"locklab/atomics"
	"locklab/harness/oracle"
	"locklab/harness/result"
	"locklab/internal/machine"
)

// localLoop drives a lock inside this process.
type localLoop struct {
	handles []sync.Locker
}

func (r *Rig) newHandles() (handles []sync.Locker) {
	lock := r.job.Lock.Local(r.setup())
	for i := range r.job.Workload.Workers {
		handles = append(handles, lock.Worker(i))
	}
	return handles
}

func (l *localLoop) close() error { return nil }

// A criticalSection is the data that the lock under test guards. Its fields are deliberately not
// atomic: if the lock admits two workers, increments of n get lost.
type criticalSection struct {
	_     atomics.CacheLinePad
	n     uint64 // acquisitions
	last  int    // previous holder
	next  uint64 // acquisition before which the handover is timed
	stamp uint64 // clock at the release before that one
	_     atomics.CacheLinePad

	// The owner log starts with the first recorded acquisition.
	logging bool
	base    uint64 // n of that acquisition
	log     *result.OwnerLog
	_       atomics.CacheLinePad // every acquisition reads the three

	data structure // of the workload's section, shared with the workers; nil without one
}

func newCriticalSection(d *drive) *criticalSection {
	handovers := newSampler(d, -1)
	return &criticalSection{last: -1, next: handovers.gap(), log: result.NewOwnerLog(d.tuning.expected, d.rig.job.Seed),
		data: newStructure(d.rig.job.Workload.Section)}
}

func (l *localLoop) drive(ctx context.Context, d *drive) *result.Result {
	s := newCriticalSection(d)
	// All memory of a worker is allocated before the window, which counts objects.
	workers, runs := make([]*localWorker, len(d.tallies)), make([]func(*criticalSection, sync.Locker), len(d.tallies))
	for i, t := range d.tallies {
		w := newLocalWorker(d, i, t)
		w.hold.guard(s.data, i)
		workers[i], runs[i] = w, w.run
		if d.load != nil {
			p := newRateLimiter(d, i, func() int64 { return w.clock.Nanoseconds(w.clock.Now()-d.load.tick) - headstart }, spinOrYield(len(d.tallies)))
			runs[i] = func(s *criticalSection, lock sync.Locker) {
				_ = p.run(func(at int64, timed bool) (got, left int64, err error) {
					got, left = w.serve(p, s, lock, at, timed)
					return got, left, nil
				})
			}
		}
	}
	d.run(ctx, func(i int) { runs[i](s, l.handles[i]) }, unwired)
	r := d.outcome()
	if len(d.stuck) > 0 {
		return r
	}
	var entered uint64
	for _, w := range workers {
		entered += w.done
	}
	r.Violations = append(r.Violations, oracle.Counter(s.n, entered)...)
	if s.data != nil {
		writes, flaw := s.data.audit()
		r.Violations = append(r.Violations, oracle.Data(d.rig.job.Workload.Section, writes, acquisitions(d.tallies), flaw)...)
	}
	if d.load == nil {
		r.Owners, r.Burst = s.log.Owners(r.Ops)
	}
	return r
}

type localWorker struct {
	id          int
	c           *control
	t           *tally
	clock       machine.Clock
	sampler     sampler
	hold, think spinner

	done, next       uint64               // acquisitions so far, and the next timed one
	asked, got, left uint64               // readings of the clock in a timed acquisition
	_                atomics.CacheLinePad // the readings change
}

func newLocalWorker(d *drive, i int, t *tally) *localWorker {
	in, w := d.rig.in, d.rig.job.Workload
	rng := machine.NewRandom(d.rig.job.Seed + uint64(i))
	worker := &localWorker{
		id: i, c: d.control, t: t, clock: in.Clock, sampler: newSampler(d, i),
		hold: newSpinner(in.Work, w.Hold, rng), think: newSpinner(in.Work, w.Think, rng),
	}
	worker.next = worker.sampler.gap() - 1
	return worker
}

func (w *localWorker) run(s *criticalSection, lock sync.Locker) {
	last := int64(0)
	for n, recorded := w.c.next(last); n != 0; n, recorded = w.c.next(last) {
		last = n
		ops, handovers := w.batch(s, lock, uint64(n), recorded)
		w.t.done(ops, handovers, recorded)
	}
}

// batch acquires the lock most times, and returns how often and how many acquisitions followed
// another worker's. It leaves early if the drive is over and the lock changes hands.
//
// It reads the counter on entry and writes it back on exit, so that an overlap loses an
// increment. A sampled acquisition only reads the clock inside; w keeps the readings, because
// a variable across the calls would cost every acquisition.
func (w *localWorker) batch(s *criticalSection, lock sync.Locker, most uint64, recorded bool) (done, handovers uint64) {
	first := w.done
	for k, end := first, first+most; k != end; k++ {
		timed := k == w.next
		if timed {
			w.asked = w.clock.Now()
		}
		lock.Lock()
		n, other := s.n, s.last != w.id
		if timed {
			w.got = w.clock.Now()
		}
		if n == s.next {
			w.passed(s, other && recorded)
		}
		if other {
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
		if n+1 == s.next {
			s.stamp = w.clock.Now()
		}
		if timed {
			w.left = w.clock.Now()
		}
		lock.Unlock()
		if timed {
			w.record(recorded)
		} else {
			w.think.spend()
		}
		if other && w.c.over() {
			most = k + 1 - first
			break
		}
	}
	w.done = first + most
	return most, handovers
}

// passed chooses the next handover to time, and records the time since a release by another
// worker, if record is set.
func (w *localWorker) passed(s *criticalSection, record bool) {
	if record {
		w.t.handover.Record(w.clock.Nanoseconds(w.clock.Now() - s.stamp))
	}
	s.next += w.sampler.gap()
}

// record chooses the next timed acquisition, stores the readings if recorded, and thinks.
func (w *localWorker) record(recorded bool) {
	w.next += w.sampler.gap()
	if !recorded {
		w.think.spend()
		return
	}
	w.t.wait.Record(w.clock.Nanoseconds(w.got - w.asked))
	w.t.hold.Add(w.clock.Nanoseconds(w.left - w.got))
	w.timedThink()
}

func (w *localWorker) timedThink() {
	if !w.think.some {
		return
	}
	start := w.clock.Now()
	w.think.work()
	w.t.think.Add(w.clock.Nanoseconds(w.clock.Now() - start))
}

// spinOrYield returns the action of a waiting worker of an open loop. With too many workers for
// the processors each yields.
func spinOrYield(workers int) func(int64) {
	const hints = 4 // spin hints between two readings of the clock
	if workers > runtime.GOMAXPROCS(0) {
		return func(int64) { runtime.Gosched() }
	}
	return func(int64) { atomics.SpinHint(hints) }
}

// serve takes the lock for the arrival at at and returns when it got and left the lock, if that
// is measured. After the deadline it does nothing inside: a handle cannot withdraw.
func (w *localWorker) serve(p *rateLimiter, s *criticalSection, lock sync.Locker, at int64, timed bool) (got, left int64) {
	lock.Lock()
	n := s.n
	if timed || p.deadline > 0 {
		got = p.now()
	}
	if !p.missed(at, got) {
		w.hold.spend()
	}
	s.n = n + 1
	if timed {
		left = p.now()
	}
	lock.Unlock()
	w.done++
	return got, left
}
