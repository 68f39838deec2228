package measure

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"golang.org/x/sync/errgroup"

	"locklab/harness"
	"locklab/harness/oracle"
	"locklab/harness/result"
)

// remoteLoop drives a distributed lock: every acquisition is timed and kept for the oracle.
type remoteLoop struct {
	remotes  []harness.Remote
	sessions []harness.Session // one per worker
}

func newRemoteLoop(ctx context.Context, r *Rig) (*remoteLoop, error) {
	w := r.job.Workload
	clients := cmp.Or(w.Clients, w.Workers)
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
		l.sessions[i], err = l.remotes[i%clients].Join(ctx, r.job.first+i)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("measure: %s: %w", r.job.Lock.Name, err), l.close())
	}
	return l, nil
}

func (l *remoteLoop) close() error {
	return errors.Join(closeAll(l.sessions), closeAll(l.remotes))
}

// closeAll closes the non-nil ones of cs concurrently: each may wait for a server.
func closeAll[C io.Closer](cs []C) error {
	errs := make([]error, len(cs))
	var g sync.WaitGroup
	for i, c := range cs {
		if any(c) != nil {
			g.Go(func() { errs[i] = c.Close() })
		}
	}
	g.Wait()
	return errors.Join(errs...)
}

// A Counter counts what a [harness.Remote] sent and received on behalf of its lock.
type Counter interface{ Counts() harness.Counts }

// counts returns the messages of all clients, and whether they are counted.
func (l *remoteLoop) counts() (total harness.Counts, ok bool) {
	for _, r := range l.remotes {
		c, ok := r.(Counter)
		if !ok {
			return harness.Counts{}, false
		}
		total = total.Add(c.Counts())
	}
	return total, true
}

func (l *remoteLoop) drive(ctx context.Context, d *drive) *result.Result {
	s := &remoteCriticalSection{alone: d.rig.job.Lock.Traits.Permits <= 1}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	workers, runs := make([]*remoteWorker, len(l.sessions)), make([]func() error, len(l.sessions))
	for i, t := range d.tallies {
		w := newRemoteWorker(d, i, l.sessions[i])
		defer w.alarm.Close()
		workers[i], runs[i] = w, func() error { return w.run(ctx, t, s) }
		if d.load != nil {
			p := newRateLimiter(d, i, func() int64 { return d.now() - d.load.began }, sleepOrYield(w.alarm))
			runs[i] = func() error {
				return p.run(func(at int64, _ bool) (got, left int64, err error) { return w.serve(ctx, s, at) })
			}
		}
	}
	run := func(i int) {
		if err := runs[i](); err != nil && ctx.Err() == nil {
			workers[i].err = err
		}
	}
	d.run(ctx, run, func() harness.Counts { c, _ := l.counts(); return c })
	r := d.outcome()
	if _, ok := l.counts(); ok {
		r.Wire = &d.wire
	}
	if len(d.stuck) > 0 {
		cancel()
		return r
	}
	l.addViolations(r, d, s, workers)
	return r
}

func (l *remoteLoop) addViolations(r *result.Result, d *drive, s *remoteCriticalSection, workers []*remoteWorker) {
	var holds []oracle.Hold
	var failed int
	var first error
	for _, w := range workers {
		holds = append(holds, w.holds...)
		if w.err != nil {
			failed++
			first = cmp.Or(first, w.err)
		}
	}
	oracle.Sort(holds)
	if d.limit.together != nil {
		ranked(r, d, holds)
	}
	permits := r.Lock.Traits.Permits
	r.Violations = append(r.Violations, oracle.Overlaps(holds, permits)...)
	r.Violations = append(r.Violations, s.findLostUpdates(workers)...)
	if r.Lock.Traits.Fenced {
		r.Violations = append(r.Violations, oracle.Tokens(holds, permits)...)
	}
	if failed > 0 {
		r.Violations = append(r.Violations, oracle.Violation{Rule: oracle.Errors, Count: uint64(failed),
			Detail: fmt.Sprintf("a worker stopped: %v", first)})
	}
	if r.Workload.Reads == 0 && d.load == nil {
		owners(r, holds, d.t0.at, d.t1.at)
	}
}

// owners adds the holds' owners and the idle times between to r, unless several may hold.
func owners(r *result.Result, holds []oracle.Hold, from, to int64) {
	var handover, wait result.Recorder
	for i, h := range holds {
		if h.Acquired < from || h.Acquired >= to {
			continue
		}
		if len(r.Owners) < maxRemoteOwners {
			r.Owners = append(r.Owners, uint16(h.Worker))
		}
		if i > 0 && holds[i-1].Worker != h.Worker && r.Lock.Traits.Permits <= 1 {
			handover.Record(h.Acquired - holds[i-1].Releasing)
			wait.Record(h.Acquired - h.Requested)
		}
	}
	r.Burst = len(r.Owners)
	r.Handover, r.HandoverWait = handover.Snapshot(), wait.Snapshot()
}

const maxRemoteOwners = 1 << 14
