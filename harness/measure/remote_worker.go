package measure

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"time"

	"locklab/harness"
	"locklab/harness/oracle"
	"locklab/internal/machine"
)

// A remoteCriticalSection is the guarded data. With several permits only the order is recorded.
type remoteCriticalSection struct {
	sharedData
	alone bool // writers are exclusive
}

func (s *remoteCriticalSection) write(worker int, stay func()) (passed, whole bool) {
	n, passed, whole := s.begin(worker)
	stay()
	s.end(n)
	return passed, whole || !s.alone
}

func (s *remoteCriticalSection) read(stay func()) (whole bool) {
	n := s.left.Load()
	stay()
	return s.right.Load() == n || !s.alone
}

func (s *remoteCriticalSection) findLostUpdates(workers []*remoteWorker) []oracle.Violation {
	if !s.alone {
		return nil
	}
	var writes, torn uint64
	for _, w := range workers {
		writes += w.writes
		torn += w.torn
	}
	return append(oracle.Counter(s.right.Load(), writes), oracle.Torn(torn)...)
}

type remoteWorker struct {
	id          int
	d           *drive
	session     harness.Session
	readers     harness.RWSession // nil if readers do not share, or none reads
	dice        *machine.Random
	alarm       *machine.Alarm // of the hold, the think time and the arrivals; nil if there are none
	hold, think sleeper

	holds        []oracle.Hold
	writes, torn uint64
	err          error // why it stopped early
}

func newRemoteWorker(d *drive, i int, session harness.Session) *remoteWorker {
	job := d.rig.job
	w, rng := job.Workload, machine.NewRandom(job.Seed+uint64(i))
	r := &remoteWorker{id: i, d: d, session: session, dice: machine.NewRandom(job.Seed + uint64(i) + 1<<32)}
	if w.Hold.Mean > 0 || w.Think.Mean > 0 || d.load != nil {
		r.alarm = machine.NewAlarm()
	}
	r.hold, r.think = newSleeper(w.Hold, rng, r.alarm), newSleeper(w.Think, rng, r.alarm)
	if w.Reads > 0 {
		r.readers, _ = session.(harness.RWSession)
	}
	return r
}

// run acquires the lock until the drive or ctx ends, or the lock fails.
func (w *remoteWorker) run(ctx context.Context, t *tally, s *remoteCriticalSection) error {
	for n, recorded := w.d.next(0); n != 0; n, recorded = w.d.next(n) {
		handover, err := w.acquire(ctx, t, s, recorded)
		if err != nil {
			return err
		}
		t.done(1, handover, recorded)
	}
	return nil
}

// acquire takes and releases the lock once; it returns 1 if another worker wrote before
// this one.
func (w *remoteWorker) acquire(ctx context.Context, t *tally, s *remoteCriticalSection, recorded bool) (handover uint64, err error) {
	h, passed, err := w.takeAndRelease(ctx, ctx, s, oracle.Hold{Requested: w.d.now()}, math.MaxInt64)
	if err != nil {
		return 0, err
	}
	if passed {
		handover = 1
	}
	if recorded {
		t.wait.Record(h.Acquired - h.Requested)
		t.hold.Add(h.Releasing - h.Acquired)
	}
	if w.think.mean > 0 {
		start := w.d.now()
		w.think.spend()
		if recorded {
			t.think.Add(w.d.now() - start)
		}
	}
	return handover, nil
}

// takeAndRelease takes the lock while asking lasts, uses s unless it is later than last, and
// releases the lock. It completes h, whose Acquired is 0 if the lock was not granted, and reports
// whether another worker wrote before. For a lock without readers, a read takes it as a write does.
func (w *remoteWorker) takeAndRelease(ctx, asking context.Context, s *remoteCriticalSection, h oracle.Hold, last int64) (_ oracle.Hold, passed bool, err error) {
	percent := uint64(w.d.rig.job.Workload.Reads)
	reads := percent > 0 && w.dice.Uint64()&0xffffffff*100>>32 < percent
	h.Worker, h.Shared = w.id, reads && w.readers != nil
	lock := w.session.Lock
	if h.Shared {
		lock = w.readers.RLock
	}
	lease, err := lock(asking)
	if err != nil {
		return h, false, fmt.Errorf("worker %d: lock: %w", w.id, err)
	}
	h.Acquired, h.Token = w.d.now(), lease.Token()
	if h.Acquired <= last {
		passed = w.use(s, reads)
	}
	h.Releasing = w.d.now()
	w.holds = append(w.holds, h)
	if err := release(ctx, lease, w.d.rig.job.patience()); err != nil {
		return h, false, fmt.Errorf("worker %d: unlock: %w", w.id, err)
	}
	return h, passed, nil
}

// use reads or writes s for the hold time, and reports whether another wrote before.
func (w *remoteWorker) use(s *remoteCriticalSection, reads bool) (passed bool) {
	whole := true
	if reads {
		whole = s.read(w.hold.spend)
	} else {
		passed, whole = s.write(w.id, w.hold.spend)
		w.writes++
	}
	if !whole {
		w.torn++
	}
	return passed
}

// awake is how long before an arrival a worker wakes, in ns: an alarm's greatest usual delay.
const awake = int64(60 * time.Microsecond)

// sleepOrYield returns the action of a waiting worker of an open loop, which leaves the processor
// to the servers.
func sleepOrYield(alarm *machine.Alarm) func(ahead int64) {
	return func(ahead int64) {
		if ahead <= awake || !alarm.Sleep(time.Duration(ahead-awake)) {
			runtime.Gosched()
		}
	}
}

// serve takes and releases the lock for the arrival at at, and returns when it got and left the
// lock. It abandons the request at the deadline, if there is one.
func (w *remoteWorker) serve(ctx context.Context, s *remoteCriticalSection, at int64) (got, left int64, err error) {
	load, last, asking := w.d.load, int64(math.MaxInt64), ctx
	if load.deadline > 0 {
		last = load.began + at + load.deadline
		var cancel context.CancelFunc
		asking, cancel = context.WithDeadline(ctx, w.d.epoch.Add(time.Duration(last)))
		defer cancel()
	}
	h, _, err := w.takeAndRelease(ctx, asking, s, oracle.Hold{Requested: w.d.now()}, last)
	if h.Acquired == 0 && ctx.Err() == nil && errors.Is(asking.Err(), context.DeadlineExceeded) {
		return math.MaxInt64, 0, nil
	}
	return h.Acquired - load.began, h.Releasing - load.began, err
}

// release gives lease back. If Unlock fails before its busy servers have answered, it waits
// for the end of the lease, half as long as the patience: an error, not stuck workers.
func release(ctx context.Context, lease harness.Lease, patience time.Duration) error {
	err := lease.Unlock(ctx)
	if err == nil || errors.Is(err, harness.ErrNotHeld) || lease.Err() != nil || lease.Done() == nil {
		return err
	}
	select {
	case <-lease.Done():
	case <-time.After(patience / 2):
	}
	if errors.Is(lease.Err(), harness.ErrReleased) {
		return nil
	}
	return err
}
