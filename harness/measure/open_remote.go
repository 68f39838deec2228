package measure

import (
	"context"
	"errors"
	"math"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"locklab/harness/oracle"
	"locklab/internal/machine"
)

// How often a worker waits before the first drive, and the time limit to begin.
const (
	meetingsEach = 2
	meetings     = 2 * time.Second
)

// meet lets every worker wait behind the others, twice, before the first drive: a client opens
// connections at its first wait, which would dominate a short window. An error here recurs in
// the drive.
//
// No wait is abandoned while the lock is being granted, since some locks stay locked if a
// waiter leaves. meet returns if nothing was granted for the patience.
func (l *remoteLoop) meet(ctx context.Context, begin, patience time.Duration, watch watchdog) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var granted atomic.Int64
	var all sync.WaitGroup
	start := time.Now()
	for _, session := range l.sessions {
		all.Go(func() {
			for n := 0; n < meetingsEach && time.Since(start) < begin; n++ {
				lease, err := session.Lock(ctx)
				if err != nil {
					return
				}
				granted.Add(1)
				if lease.Unlock(ctx) != nil {
					return
				}
			}
		})
	}
	met := make(chan struct{})
	go func() { all.Wait(); close(met) }()
	before, since := int64(0), watch.served(watch.step)
	for {
		select {
		case <-met:
			return
		case <-time.After(watch.step):
		}
		served := watch.served(watch.step)
		if now := granted.Load(); now != before {
			before, since = now, served
		} else if served-since >= patience {
			cancel()
			<-met
			return
		}
	}
}

// An openRemoteWorker drives a distributed lock as an open loop: see openLocalWorker. While it
// waits for its arrival it sleeps, because the servers may need the processor.
type openRemoteWorker struct {
	*remoteWorker
	limiter *rateLimiter
	alarm   *machine.Alarm
}

func (w *openRemoteWorker) run(ctx context.Context, t *tally, s *remoteSection) {
	for {
		i, at, ok := w.limiter.take()
		if !ok {
			break
		}
		due := w.d.load.began + at
		waited, ok := w.await(ctx, due)
		if !ok {
			w.limiter.leave(at, true)
			break
		}
		now := w.d.now()
		w.limiter.begun(i, at, now-due, waited)
		if err := w.serve(ctx, t, s, at, now); err != nil {
			if ctx.Err() == nil {
				w.err = err
			}
			return
		}
	}
	if w.d.limit.Ops == 0 {
		<-w.limiter.load.over
	}
}

// awake is how long before an arrival a worker wakes, in ns: an alarm's greatest usual delay.
const awake = int64(60 * time.Microsecond)

// await waits for an arrival due at due, in ns after the epoch, and reports whether it had
// to wait. ok is false if the drive ended meanwhile.
func (w *openRemoteWorker) await(ctx context.Context, due int64) (waited, ok bool) {
	for {
		ahead := due - w.d.now()
		switch {
		case ahead <= 0:
			return waited, true
		case w.d.over() || ctx.Err() != nil:
			return waited, false
		case ahead > farAhead:
			w.limiter.sleep(ahead)
		case ahead > awake && w.alarm.Sleep(time.Duration(ahead-awake)):
		default:
			runtime.Gosched()
		}
		waited = true
	}
}

// serve acquires and releases the lock for the arrival intended at at; now is the time of
// the request. It abandons the request at the deadline, if there is one.
func (w *openRemoteWorker) serve(ctx context.Context, t *tally, s *remoteSection, at, now int64) error {
	due, last, asking := w.d.load.began+at, int64(math.MaxInt64), ctx
	if deadline := w.limiter.deadline; deadline > 0 {
		if last = due + deadline; now > last {
			w.limiter.drop(t, at, true)
			return nil
		}
		var cancel context.CancelFunc
		asking, cancel = context.WithDeadline(ctx, w.d.epoch.Add(time.Duration(last)))
		defer cancel()
	}
	h, _, err := w.takeAndRelease(ctx, asking, s, oracle.Hold{Requested: now}, last)
	missed := h.Acquired == 0 && ctx.Err() == nil && errors.Is(asking.Err(), context.DeadlineExceeded)
	switch {
	case missed, err == nil && h.Acquired > last:
		w.limiter.drop(t, at, true)
		return nil
	case err != nil:
		return err
	case w.limiter.counts(at):
		t.wait.Record(h.Acquired - due)
		t.hold.Add(h.Releasing - h.Acquired)
	}
	t.publish(1, 0)
	return nil
}
