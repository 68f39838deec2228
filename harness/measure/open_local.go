package measure

import (
	"runtime"
	"sync"

	"locklab/atomics"
)

// An openLocalWorker drives a local lock as an open loop. It takes the arrivals of one schedule,
// waits by the clock that times waits, without a system call if one is near, and requests the
// lock. An open loop has no owners: a worker is only a place to run.
type openLocalWorker struct {
	_ atomics.CacheLinePad
	localWorker
	limiter rateLimiter
	perNs   float64 // ticks of the clock
	yields  bool
	_       atomics.CacheLinePad
}

func newOpenLocalWorker(d *drive, i int, t *tally) *openLocalWorker {
	return &openLocalWorker{localWorker: *newLocalWorker(d, i, t), limiter: *newRateLimiter(d),
		perNs: d.rig.in.Clock.Hz() / 1e9, yields: yields(d.rig.job.Workload)}
}

func (w *openLocalWorker) run(s *section, lock sync.Locker) {
	for k := uint64(0); ; k++ {
		i, at, ok := w.limiter.take()
		if !ok {
			break
		}
		due := w.limiter.tick + uint64(float64(at)*w.perNs)
		now, waited, ok := w.await(due)
		if !ok {
			w.limiter.leave(at, k == w.next)
			break
		}
		w.limiter.begun(i, at, w.clock.Nanoseconds(now-due), waited)
		timed := k == w.next
		if timed {
			w.next += w.sampler.gap()
		}
		w.serve(s, lock, at, due, now, timed)
	}
	if w.c.limit.Ops == 0 {
		<-w.limiter.load.over // it stays for the whole window, even without a further arrival
	}
}

// await returns the time of an arrival and whether it had to wait; ok is false at the end.
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
			w.limiter.sleep(w.clock.Nanoseconds(uint64(ahead)))
		case w.yields:
			runtime.Gosched()
		default:
			atomics.SpinHint(hints)
		}
		waited = true
	}
}

// serve takes the lock for the arrival due at due; now is the time of the request. After the
// deadline it does not request it, or does nothing inside: a handle cannot withdraw.
func (w *openLocalWorker) serve(s *section, lock sync.Locker, at int64, due, now uint64, timed bool) {
	deadline := w.limiter.deadline
	if deadline > 0 && w.clock.Nanoseconds(now-due) > deadline {
		w.limiter.drop(w.t, at, timed)
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
		w.limiter.drop(w.t, at, timed)
		return
	case timed && w.limiter.counts(at):
		w.t.wait.Record(wait)
		w.t.hold.Add(w.clock.Nanoseconds(w.left - w.got))
	}
	w.t.publish(1, 0)
}
