package runner

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"locklab/harness"
	"locklab/harness/oracle"
	"locklab/harness/recorder"
	"locklab/internal/machine"
)

// remoteLoop drives a lock kept by servers. A turn takes many microseconds,
// so every turn is timed and every hold is kept for the oracle.
type remoteLoop struct {
	remotes  []harness.Remote
	sessions []harness.Session // one a worker
}

func newRemoteLoop(ctx context.Context, r *Rig) (*remoteLoop, error) {
	w := r.job.Workload
	clients := w.Clients
	if clients == 0 {
		clients = w.Workers
	}
	l := &remoteLoop{remotes: make([]harness.Remote, clients), sessions: make([]harness.Session, w.Workers)}
	var g errgroup.Group
	for i := range clients {
		g.Go(func() (err error) {
			l.remotes[i], err = r.job.Lock.Remote(ctx, r.job.At, r.job.Key)
			return err
		})
	}
	err := g.Wait()
	for i := 0; err == nil && i < w.Workers; i++ {
		l.sessions[i], err = l.remotes[i%clients].Join(ctx, i)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("runner: %s: %w", r.job.Lock.Name, err), l.close())
	}
	return l, nil
}

func (l *remoteLoop) close() error {
	var errs []error
	for _, s := range l.sessions {
		if s != nil {
			errs = append(errs, s.Close())
		}
	}
	for _, r := range l.remotes {
		if r != nil {
			errs = append(errs, r.Close())
		}
	}
	return errors.Join(errs...)
}

// counts returns what all clients together sent and received, and whether
// they count at all.
func (l *remoteLoop) counts() (total harness.Counts, ok bool) {
	for _, r := range l.remotes {
		c, ok := r.(harness.Counter)
		if !ok {
			return harness.Counts{}, false
		}
		total = total.Add(c.Counts())
	}
	return total, true
}

// A remoteSection is what the remote lock guards.
type remoteSection struct {
	// n is loaded on entry and stored on exit: an overlap loses increments as
	// with a plain word, but the race detector, which cannot see that a
	// server orders the holders, stays quiet.
	n    atomic.Uint64
	last atomic.Int64
}

func (l *remoteLoop) drive(ctx context.Context, d *drive) *harness.Result {
	s := new(remoteSection)
	s.last.Store(-1)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	workers := make([]*remoteWorker, len(l.sessions))
	for i := range workers {
		workers[i] = newRemoteWorker(d, i)
	}
	wire := func() harness.Counts { c, _ := l.counts(); return c }
	d.run(ctx, func(i int, t *tally) { workers[i].run(ctx, t, s, l.sessions[i]) }, wire)
	r := d.result()
	if _, ok := l.counts(); ok {
		r.Wire = &d.wire
	}
	if len(d.stuck) > 0 {
		cancel()
		return r
	}
	l.judge(r, d, s, workers)
	return r
}

// judge adds to r what the event logs of all workers together show.
func (l *remoteLoop) judge(r *harness.Result, d *drive, s *remoteSection, workers []*remoteWorker) {
	var holds []oracle.Hold
	var failed int
	var first error
	for _, w := range workers {
		holds = append(holds, w.holds...)
		if w.err != nil {
			if failed++; first == nil {
				first = w.err
			}
		}
	}
	oracle.Sort(holds)
	r.Violations = append(r.Violations, oracle.Counter(s.n.Load(), uint64(len(holds)))...)
	r.Violations = append(r.Violations, oracle.Overlaps(holds)...)
	if r.Lock.Traits.Fenced {
		r.Violations = append(r.Violations, oracle.Tokens(holds)...)
	}
	if failed > 0 {
		r.Violations = append(r.Violations, harness.Violation{Rule: oracle.Errors, Count: uint64(failed),
			Detail: fmt.Sprintf("a worker stopped: %v", first)})
	}
	var handover recorder.Histogram
	for i, h := range holds {
		if h.Acquired < d.t0.at || h.Acquired >= d.t1.at {
			continue
		}
		if len(r.Owners) < maxRemoteOwners {
			r.Owners = append(r.Owners, uint16(h.Worker))
		}
		if i > 0 && holds[i-1].Worker != h.Worker {
			handover.Record(h.Acquired - holds[i-1].Releasing)
		}
	}
	r.Burst = len(r.Owners)
	r.Handover = handover.Snapshot()
}

// maxRemoteOwners bounds the owner log of a remote run.
const maxRemoteOwners = 1 << 14

// A remoteWorker is one worker in its loop.
type remoteWorker struct {
	id          int
	d           *drive
	hold, think sleeper
	holds       []oracle.Hold
	err         error // why it stopped early
}

func newRemoteWorker(d *drive, i int) *remoteWorker {
	w, rng := d.rig.job.Workload, machine.NewRandom(d.rig.job.Seed+uint64(i))
	return &remoteWorker{id: i, d: d, hold: sleeper{w.Hold, rng}, think: sleeper{w.Think, rng}}
}

// run takes turns until the control says stop, ctx ends or the lock fails.
func (w *remoteWorker) run(ctx context.Context, t *tally, s *remoteSection, session harness.Session) {
	for {
		turns, recorded := w.d.next()
		if turns == 0 {
			return
		}
		handover, err := w.turn(ctx, t, s, session, recorded)
		if err != nil {
			if ctx.Err() == nil {
				w.err = err
			}
			return
		}
		t.publish(1, handover)
	}
}

// turn takes and releases the lock once; it returns 1 if the holder before
// was another worker.
func (w *remoteWorker) turn(ctx context.Context, t *tally, s *remoteSection, session harness.Session, recorded bool) (handover uint64, err error) {
	h := oracle.Hold{Worker: w.id, Requested: w.d.now()}
	lease, err := session.Lock(ctx)
	if err != nil {
		return 0, fmt.Errorf("worker %d: lock: %w", w.id, err)
	}
	h.Acquired = w.d.now()
	h.Token = lease.Token()
	n := s.n.Load()
	if s.last.Swap(int64(w.id)) != int64(w.id) {
		handover = 1
	}
	w.hold.spend()
	s.n.Store(n + 1)
	h.Releasing = w.d.now()
	w.holds = append(w.holds, h)
	if recorded {
		t.wait.Record(h.Acquired - h.Requested)
		t.hold.Add(h.Releasing - h.Acquired)
	}
	if err := lease.Unlock(ctx); err != nil {
		return 0, fmt.Errorf("worker %d: unlock: %w", w.id, err)
	}
	if w.think.span.Mean > 0 {
		start := w.d.now()
		w.think.spend()
		if recorded {
			t.think.Add(w.d.now() - start)
		}
	}
	return handover, nil
}

// A sleeper spends a Span without using the CPU, which the servers may need.
type sleeper struct {
	span harness.Span
	rng  *machine.Random
}

func (s *sleeper) spend() {
	if s.span.Mean == 0 {
		return
	}
	d := s.span.Mean
	if s.span.Exp {
		d = time.Duration(s.rng.Exp(float64(d)))
	}
	time.Sleep(d)
}
