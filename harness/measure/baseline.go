package measure

import (
	"context"
	"fmt"
	"slices"

	"locklab/harness"
	"locklab/internal/stat"
)

// A baseline is a time that a lock can hardly beat, measured right before and after a window:
// a transfer of a cache line, or a round trip to the server. The least ratios of the times
// before and after that mean two regimes:
const (
	transferChange  = 1.5
	roundTripChange = 2
)

// bracket sets the baseline of r from both probes, and warns if they disagree.
func bracket(r *harness.Result, before, after []float64) {
	if len(before) == 0 || len(after) == 0 {
		return // a single probe cannot show whether the regime held
	}
	a, b, middle := stat.Median(before), stat.Median(after), stat.Median(slices.Concat(before, after))
	w, change := harness.Warning{}, transferChange
	if server := r.Lock.Traits.Needs; server == "" {
		r.Transfer = middle
		w = harness.Warning{
			Kind:   "transfer",
			Text:   fmt.Sprintf("a word took %.0f ns from one processor to the other before the window and %.0f ns after it", a, b),
			Remedy: "compare handovers in transfers only between rounds without this warning; on a virtual machine, have its processors bound to the host's",
		}
	} else {
		r.RoundTrip, change = middle, roundTripChange
		w = harness.Warning{
			Kind:   "round-trip",
			Text:   fmt.Sprintf("a bare request to %s took %.0f µs before the window and %.0f µs after it", server, a/1e3, b/1e3),
			Remedy: "compare figures in round trips only between rounds without this warning; where client and server share few processors, the same request has two times, such as 30 and 160 µs to Redis, by which of them each gets: put the server on a machine or on processors of its own",
		}
	}
	if max(a, b) > change*min(a, b) {
		r.Warnings = append(r.Warnings, w)
	}
}

// probe returns the times of a baseline: transfers between two processors, or round trips to
// the server. It returns nil if workers are stuck, which may occupy the processors.
func (r *Rig) probe(ctx context.Context) []float64 {
	switch {
	case r.dead:
		return nil
	case r.job.Lock.Local != nil:
		return transfers(r.in.Clock, r.in.Topology.CPUs())
	}
	return roundTrips(ctx, r.in.Clock, r.job.At)
}

// DriveProbed is Drive between two probes of a transfer or a round trip, each of some
// milliseconds. It calls start and stop right before and after Drive.
func (r *Rig) DriveProbed(ctx context.Context, limit Limit, start, stop func()) (*harness.Result, error) {
	return r.probed(ctx, func() (*harness.Result, error) {
		start()
		defer stop()
		return r.Drive(ctx, limit)
	})
}

// probed calls drive between two probes. The second is left out if the first has no result.
func (r *Rig) probed(ctx context.Context, drive func() (*harness.Result, error)) (*harness.Result, error) {
	before := r.probe(ctx)
	res, err := drive()
	if err == nil && len(before) > 0 {
		bracket(res, before, r.probe(ctx))
	}
	return res, err
}
