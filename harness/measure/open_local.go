package measure

import (
	"context"
	"runtime"
	"sync"

	"locklab/atomics"
	"locklab/harness"
	"locklab/harness/oracle"
)

// openLocalLoop drives a lock inside this process as an open loop. Its workers take the
// arrivals of one schedule, wait for each and request the lock. They wait on the clock that
// times the waits, without a system call if the arrival is near. It has no owners or
// handovers, because a worker is only a place to run an acquisition.
type openLocalLoop struct{ *localLoop }

func (l openLocalLoop) drive(ctx context.Context, d *drive) *harness.Result {
	s := newSection(d)
	workers, pacers := make([]*openLocalWorker, len(d.tallies)), make([]*pacer, len(d.tallies))
	for i, t := range d.tallies {
		workers[i] = newOpenLocalWorker(d, i, t)
		workers[i].hold.guard(s.data, i)
		pacers[i] = &workers[i].pacer
	}
	d.run(ctx, func(i int, _ *tally) { workers[i].run(s, l.handles[i]) }, nil)
	if len(d.stuck) > 0 {
		return d.result()
	}
	open := d.settle(pacers)
	r := d.result()
	r.Open = open
	var entered uint64
	for _, w := range workers {
		entered += w.done
	}
	r.Violations = append(r.Violations, oracle.Counter(s.n, entered)...)
	if s.data != nil {
		writes, flaw := s.data.audit()
		r.Violations = append(r.Violations, oracle.Data(d.rig.job.Workload.Section, writes, acquisitions(d.tallies), flaw)...)
	}
	r.Warnings = append(r.Warnings, loadDoubts(r)...)
	return r
}

// An openLocalWorker is one worker in its loop. The embedded done counts its entries into
// the section.
type openLocalWorker struct {
	_ atomics.CacheLinePad
	localWorker
	pacer  pacer
	perNs  float64 // ticks of the clock
	yields bool
	_      atomics.CacheLinePad
}

func newOpenLocalWorker(d *drive, i int, t *tally) *openLocalWorker {
	return &openLocalWorker{localWorker: *newLocalWorker(d, i, t), pacer: *newPacer(d),
		perNs: d.rig.in.Clock.Hz() / 1e9, yields: yields(d.rig.job.Workload)}
}

// run serves arrivals until the drive is over.
func (w *openLocalWorker) run(s *section, lock sync.Locker) {
	for k := uint64(0); ; k++ {
		i, at, ok := w.pacer.take()
		if !ok {
			break
		}
		due := w.pacer.tick + uint64(float64(at)*w.perNs)
		now, waited, ok := w.await(due)
		if !ok {
			w.pacer.leave(at, k == w.next)
			break
		}
		w.pacer.begun(i, at, w.clock.Nanoseconds(now-due), waited)
		timed := k == w.next
		if timed {
			w.next += w.sampler.gap()
		}
		w.serve(s, lock, at, due, now, timed)
	}
	if w.c.limit.Ops == 0 {
		<-w.pacer.load.over // it stays for the whole window, even without a further arrival
	}
}

// await waits for an arrival. It returns the time and whether it had to wait; ok is false
// if the drive ended meanwhile.
func (w *openLocalWorker) await(due uint64) (now uint64, waited, ok bool) {
	const hints = 4 // spin hints between two readings of the clock
	far := uint64(float64(farAhead) * w.perNs)
	for {
		now = w.clock.Now()
		ahead := int64(due - now)
		switch {
		case ahead <= 0:
			return now, waited, true
		case w.c.over():
			return now, waited, false
		case ahead > int64(far):
			w.pacer.sleep(w.clock.Nanoseconds(uint64(ahead)))
		case w.yields:
			runtime.Gosched()
		default:
			atomics.SpinHint(hints)
		}
		waited = true
	}
}

// serve acquires and releases the lock for the arrival that was due at due; now is the time
// of the request. If the deadline has passed, it does not request the lock, or does nothing
// in the section: a handle cannot withdraw a request.
func (w *openLocalWorker) serve(s *section, lock sync.Locker, at int64, due, now uint64, timed bool) {
	deadline := w.pacer.deadline
	if deadline > 0 && w.clock.Nanoseconds(now-due) > deadline {
		w.pacer.drop(w.t, at, timed)
		return
	}
	lock.Lock()
	n := s.n
	if timed || deadline > 0 {
		w.got = w.clock.Now()
	}
	wait := w.clock.Nanoseconds(w.got - due)
	late := deadline > 0 && wait > deadline
	if !late {
		w.hold.spend()
	}
	s.n = n + 1
	if timed {
		w.left = w.clock.Now()
	}
	lock.Unlock()
	w.done++
	switch {
	case late:
		w.pacer.drop(w.t, at, timed)
		return
	case timed && w.pacer.counts(at):
		w.t.wait.Record(wait)
		w.t.hold.Add(w.clock.Nanoseconds(w.left - w.got))
	}
	w.t.publish(1, 0)
}
