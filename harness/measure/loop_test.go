package measure

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"locklab/harness"
	"locklab/harness/result"
)

func loopJob(err error, acquisitions ...harness.Hold) Job {
	v := new(shelf).variant(harness.Traits{})
	v.Loop = func(_ context.Context, _ harness.Endpoint, _ string, w harness.Workload) (*harness.LoopLog, error) {
		if err != nil {
			return nil, err
		}
		return &harness.LoopLog{Began: time.Now(), Open: 100, Close: 200, Acquisitions: acquisitions, Wire: &harness.Counts{Requests: 9}}, nil
	}
	return Job{Lock: v, Workload: harness.Workload{Workers: 2, Warmup: time.Millisecond, Window: 2 * time.Millisecond},
		At: harness.Endpoint{Kind: harness.KindRedis}}
}

func TestLoop(t *testing.T) {
	in := Calibrate()
	job := loopJob(nil,
		harness.Hold{Worker: 0, Requested: 40, Acquired: 50, Releasing: 90},    // before the window
		harness.Hold{Worker: 1, Requested: 60, Acquired: 110, Releasing: 120},  // from another: 50
		harness.Hold{Worker: 1, Requested: 125, Acquired: 130, Releasing: 140}, // from itself
		harness.Hold{Worker: 0, Requested: 95, Acquired: 150, Releasing: 170},  // from another: 55
		harness.Hold{Worker: 1, Requested: 145, Acquired: 205, Releasing: 210}, // after the window
	)
	r, err := Measure(t.Context(), in, job)
	requireNoError(t, err)
	if r.Ops != 3 || !slices.Equal(r.Workers, []uint64{1, 2}) || r.Handovers != 2 || r.Elapsed != 100 {
		t.Errorf("%d acquisitions, %v, %d handovers in %v", r.Ops, r.Workers, r.Handovers, r.Elapsed)
	}
	if r.Wait.Count() != 3 || r.HandoverWait.Count() != 2 || r.HandoverWait.Quantile(1) != 55 || r.Hold.Sum != 40 {
		t.Errorf("waits %v, before handovers %v, holds %+v", r.Wait, r.HandoverWait, r.Hold)
	}
	if len(r.Violations) > 0 || r.Overlap != 0.7 { // worker 0 ends at 170
		t.Errorf("violations %+v, overlap %v", r.Violations, r.Overlap)
	}
	if _, ok := result.Allocs.Of(r); ok {
		t.Error("the objects of this process count for workers of another")
	}
}

func TestLoopRejects(t *testing.T) {
	in := Calibrate()
	for name, c := range map[string]struct {
		job  Job
		rule string
	}{
		"two inside": {loopJob(nil, harness.Hold{Worker: 0, Requested: 1, Acquired: 110, Releasing: 130}, harness.Hold{Worker: 1, Requested: 2, Acquired: 120, Releasing: 140}), "exclusion"},
		"a failure":  {loopJob(errors.New("its session expired")), "error"},
	} {
		r, err := Measure(t.Context(), in, c.job)
		if err != nil || len(r.Violations) != 1 || r.Violations[0].Rule != c.rule {
			t.Errorf("%s: %v, %+v, want a violation of %s", name, err, r, c.rule)
		}
	}
	if _, err := Measure(t.Context(), in, loopJob(fmt.Errorf("%w: no server", harness.ErrUnavailable))); !errors.Is(err, harness.ErrUnavailable) {
		t.Errorf("without a server: %v, want ErrUnavailable", err)
	}
	noReaders, open := loopJob(fmt.Errorf("%w: no readers", harness.ErrUsage)), loopJob(errors.New("it was asked"))
	noReaders.Workload.Window = 200 * time.Millisecond // long enough for a worker of this process to get a processor
	open.Workload = openWorkload(8, 2_000, 0)
	for _, job := range []Job{noReaders, open} {
		r, err := Measure(t.Context(), in, job)
		if err != nil || r.Ops == 0 || !slices.Contains(kindsOf(r), "messages") {
			t.Errorf("%s, which it cannot drive: %v, %+v, want the workers of this process and a warning", job.Workload.Name(), err, r)
		}
	}
}
