package measure

import (
	"cmp"
	"context"
	"sync"

	"locklab/atomics"
	"locklab/harness"
	"locklab/harness/oracle"
	"locklab/harness/result"
	"locklab/internal/machine"
)

// mixedLoop drives local locks with mixed acquisitions: some only read, or several locks. It
// has no owner log, and counts handovers among the writers of one lock.
type mixedLoop struct {
	locks []mixedLock
	reads int // acquisitions in a hundred
}

// A mixedLock is one lock with the data that it guards.
type mixedLock struct {
	handles []sync.Locker // by worker
	data    *sharedData
	more    structure // of the workload's section; nil if it has none
}

// sharedData is guarded by the lock of a mixed or distributed loop. A writer makes the halves
// unequal and then equal, from the number on entry: two writers lose an increment, and unequal
// halves show another inside. The words are atomic for a sequence lock's readers, and because the
// race detector cannot see a server's order.
type sharedData struct {
	_           atomics.CacheLinePad
	left, right atomics.Uint64 // number of writes
	last        atomics.Uint32 // worker that wrote last, plus one
	_           atomics.CacheLinePad
}

// begin starts a write. It returns the number of writes before, and reports whether another
// worker made the last one and whether the data was whole.
func (s *sharedData) begin(worker int) (n uint64, passed, whole bool) {
	n, me := s.right.Load(), uint32(worker)+1
	passed, whole = s.last.Load() != me, s.left.Load() == n
	s.left.StoreRelease(n + 1)
	s.last.StoreRelease(me)
	return n, passed, whole
}

func (s *sharedData) end(n uint64) { s.right.StoreRelease(n + 1) }

func newMixedLoop(r *Rig) *mixedLoop {
	w := r.job.Workload
	l := &mixedLoop{reads: w.Reads}
	for range max(1, w.Locks) {
		l.locks = append(l.locks, mixedLock{r.newHandles(), new(sharedData), newStructure(w.Section)})
	}
	return l
}

func (l *mixedLoop) close() error { return nil }

func (l *mixedLoop) drive(ctx context.Context, d *drive) *result.Result {
	before, audited, _ := l.audit()
	workers := make([]*mixedWorker, len(d.tallies))
	for i, t := range d.tallies {
		workers[i] = l.newWorker(d, i, t)
	}
	d.run(ctx, func(i int) { workers[i].run() }, unwired)
	r := d.result()
	if len(d.stuck) > 0 {
		return r
	}
	var writes, torn uint64
	for _, w := range workers {
		writes += w.writes
		torn += w.torn
	}
	counter, found, flaw := l.audit()
	r.Violations = append(r.Violations, oracle.Counter(counter-before, writes)...)
	r.Violations = append(r.Violations, oracle.Torn(torn)...)
	if section := d.rig.job.Workload.Section; section != harness.SectionWork {
		r.Violations = append(r.Violations, oracle.Data(section, found-audited, writes, flaw)...)
	}
	return r
}

// audit returns the counter of all locks, the writes in their sections' data, and the first flaw.
func (l *mixedLoop) audit() (counter, writes uint64, flaw string) {
	for _, lock := range l.locks {
		counter += lock.data.right.Load()
		if lock.more != nil {
			n, wrong := lock.more.audit()
			writes += n
			flaw = cmp.Or(flaw, wrong)
		}
	}
	return counter, writes, flaw
}

type mixedWorker struct {
	_ atomics.CacheLinePad
	localWorker
	rng    *machine.Random
	access []lockAccess // by lock
	reads  uint64       // acquisitions in a hundred

	writes, torn uint64
	_            atomics.CacheLinePad // the counts change at every acquisition
}

type lockAccess struct {
	lock       sync.Locker
	shared     harness.RWLocker         // nil if readers do not share
	optimistic harness.OptimisticReader // nil if they keep writers out
	data       *sharedData
	hold       spinner // changes the data of the section; a reader spends the worker's own
}

func (l *mixedLoop) newWorker(d *drive, i int, t *tally) *mixedWorker {
	w := &mixedWorker{
		localWorker: *newLocalWorker(d, i, t),
		rng:         machine.NewRandom(d.rig.job.Seed + uint64(i) + 1<<32),
		reads:       uint64(l.reads),
	}
	for _, lock := range l.locks {
		t := lockAccess{lock: lock.handles[i], data: lock.data, hold: w.hold}
		t.hold.guard(lock.more, i)
		t.shared, _ = t.lock.(harness.RWLocker)
		t.optimistic, _ = t.lock.(harness.OptimisticReader)
		w.access = append(w.access, t)
	}
	return w
}

func (w *mixedWorker) run() {
	for n, recorded := w.c.next(0); n != 0; n, recorded = w.c.next(n) {
		var done, handovers uint64
		for done < uint64(n) && !(done > 0 && w.c.over()) {
			done++
			timed := w.due(recorded)
			dice := w.rng.Uint64()
			// The high and the low half of the number are independent.
			t := &w.access[(dice>>32)*uint64(len(w.access))>>32]
			asked := w.now(timed)
			if dice&0xffffffff*100>>32 < w.reads {
				w.read(t, asked, timed)
			} else if w.write(t, asked, timed) {
				handovers++
			}
			if timed {
				w.timedThink()
			} else {
				w.think.spend()
			}
		}
		w.t.done(done, handovers, recorded)
	}
}

func (w *mixedWorker) due(recorded bool) bool {
	k := w.done
	if w.done++; k != w.next {
		return false
	}
	w.next += w.sampler.gap()
	return recorded
}

func (w *mixedWorker) now(timed bool) uint64 {
	if !timed {
		return 0
	}
	return w.clock.Now()
}

// record must be called after the release, so that it does not lengthen the hold.
func (w *mixedWorker) record(asked, got, left uint64, timed bool) {
	if timed {
		w.t.wait.Record(w.clock.Nanoseconds(got - asked))
		w.t.hold.Add(w.clock.Nanoseconds(left - got))
	}
}

// write takes t's lock and changes its data. It reports whether another worker wrote before.
func (w *mixedWorker) write(t *lockAccess, asked uint64, timed bool) (passed bool) {
	t.lock.Lock()
	got := w.now(timed)
	n, passed, whole := t.data.begin(w.id)
	if !whole {
		w.torn++
	}
	t.hold.spend()
	t.data.end(n)
	released := w.now(timed)
	t.lock.Unlock()
	w.record(asked, got, released, timed)
	w.writes++
	return passed
}

func (w *mixedWorker) load(t *lockAccess) bool {
	n := t.data.left.Load()
	w.hold.spend()
	whole := t.hold.data == nil || t.hold.data.read(w.rng)
	return t.data.right.Load() == n && whole
}

// read reads t's data. An optimistic reader reads until no writer interfered, and its wait lasts
// until the start of the successful reading.
func (w *mixedWorker) read(t *lockAccess, asked uint64, timed bool) {
	for {
		var version uint64
		switch {
		case t.optimistic != nil:
			version = t.optimistic.ReadBegin()
		case t.shared != nil:
			t.shared.RLock()
		default:
			t.lock.Lock()
		}
		got := w.now(timed)
		whole := w.load(t)
		left := w.now(timed)
		switch {
		case t.optimistic != nil && t.optimistic.ReadRetry(version):
			continue
		case t.optimistic != nil:
		case t.shared != nil:
			t.shared.RUnlock()
		default:
			t.lock.Unlock()
		}
		w.record(asked, got, left, timed)
		if !whole {
			w.torn++
		}
		return
	}
}
