package measure

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"locklab/harness"
	"locklab/harness/oracle"
	"locklab/harness/result"
	"locklab/internal/machine"
)

// queueTime forms a queue before the window of a Loop; the warm-up is for compilers.
const queueTime = 500 * time.Millisecond

// measureLoop is Measure for a lock whose workers run in another process. The error wraps
// harness.ErrUsage if they cannot run this workload.
func measureLoop(ctx context.Context, in *Instruments, job Job) (*result.Result, error) {
	if err := errors.Join(job.Workload.Validate(), fits(job.Lock, job.Workload)); err != nil {
		return nil, err
	}
	switch {
	case job.Workload.Rate > 0:
		return nil, fmt.Errorf("measure: %w: workers there have no open loop", harness.ErrUsage)
	case job.together != nil:
		return nil, fmt.Errorf("measure: %w: workers there do not begin together with those of other ranks", harness.ErrUsage)
	}
	warm := job.Workload
	warm.Warmup, warm.Window = 0, max(warm.Warmup, leastWarmup)
	if res, err := loopOnce(ctx, in, job, warm); err != nil || len(res.Violations) > 0 {
		return res, err
	}
	w := job.Workload
	w.Warmup = min(queueTime, job.Workload.Warmup)
	// Others' use of processors gives no warning: the workers are one of them.
	return (&Rig{in: in, job: job}).watched(ctx, func() (*result.Result, error) { return loopOnce(ctx, in, job, w) })
}

// loopOnce drives the workers of job's Loop with w and judges the result. A failed worker
// is a violation; unavailable servers are an error.
func loopOnce(ctx context.Context, in *Instruments, job Job, w harness.Workload) (*result.Result, error) {
	r := &result.Result{
		Lock: result.Describe(job.Lock), Workload: job.Workload, Started: time.Now(), Workers: make([]uint64, w.Workers),
		SampleEvery: 1, Clock: in.Clock.Name(), ClockFloor: in.Clock.Floor, ClockStep: in.Clock.Step,
	}
	log, err := job.Lock.Loop(ctx, job.At, job.Key, w)
	switch {
	case err == nil:
		judgeLoop(r, log)
		return r, nil
	case ctx.Err() != nil, errors.Is(err, harness.ErrUsage), errors.Is(err, harness.ErrUnavailable):
		return nil, fmt.Errorf("measure: %s: %w", job.Lock.Name, err)
	}
	r.Violations = []oracle.Violation{{Rule: oracle.Errors, Count: 1, Detail: fmt.Sprintf("a worker stopped: %v", err)}}
	return r, nil
}

func judgeLoop(r *result.Result, log *harness.LoopLog) {
	holds := log.Acquisitions
	oracle.Sort(holds)
	r.Started, r.Elapsed, r.Wire = log.Began.Add(time.Duration(log.Open)), time.Duration(log.Close-log.Open), log.Wire
	var wait result.Recorder
	workers := make([]*tally, len(r.Workers))
	for i := range workers {
		workers[i] = &tally{activity: activity{begin: math.MaxInt64}}
	}
	for i, h := range holds {
		t := workers[h.Worker]
		t.begin, t.end = min(t.begin, h.Requested), max(t.end, h.Releasing)
		if h.Acquired < log.Open || h.Acquired >= log.Close {
			continue
		}
		r.Ops++
		r.Workers[h.Worker]++
		if i > 0 && holds[i-1].Worker != h.Worker {
			r.Handovers++
		}
		wait.Record(h.Acquired - h.Requested)
		r.Hold.Add(h.Releasing - h.Acquired)
	}
	r.Wait, r.Overlap = wait.Snapshot(), overlap(workers, log.Open, log.Close)
	owners(r, holds, log.Open, log.Close)
	loopBuckets(r, holds, log.Open)
	r.Violations = oracle.Overlaps(holds, r.Lock.Traits.Permits)
}

func byMessages(err error) machine.Warning {
	return machine.Warning{
		Kind:   "messages",
		Text:   fmt.Sprintf("the workers do not run in the process of the lock, so messages to it are in every time: %v", err),
		Remedy: "compare it with locks of the same process only, or leave out the axis that its process does not support",
	}
}
