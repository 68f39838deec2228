package measure

import (
	"context"
	"fmt"
	"slices"

	"locklab/harness"
	"locklab/internal/stat"
)

// A baseline is a time that a lock can hardly beat, measured right before and after a window.
type baseline struct {
	of     func(r *harness.Result) *float64
	change float64 // least ratio of the times after and before that means two regimes
	kind   string  // of the warning
	text   func(server string, before, after float64) string
	remedy string
}

var (
	transferBaseline = baseline{
		of:     func(r *harness.Result) *float64 { return &r.Transfer },
		change: 1.5,
		kind:   "transfer",
		text: func(_ string, before, after float64) string {
			return fmt.Sprintf("a word took %.0f ns from one processor to the other before the window and %.0f ns after it", before, after)
		},
		remedy: "compare hand-overs in transfers only between rounds without this warning; on a virtual machine, have its processors bound to the host's",
	}
	roundTripBaseline = baseline{
		of:     func(r *harness.Result) *float64 { return &r.RoundTrip },
		change: 2,
		kind:   "round-trip",
		text: func(server string, before, after float64) string {
			return fmt.Sprintf("a bare request to %s took %.0f µs before the window and %.0f µs after it", server, before/1e3, after/1e3)
		},
		remedy: "compare figures in round trips only between rounds without this warning; where client and server share few processors, the same request has two times, such as 30 and 160 µs to Redis, by which of them each gets: put the server on a machine or on processors of its own",
	}
)

// bracket sets the baseline of r from both probes, and warns if they disagree.
func bracket(r *harness.Result, before, after []float64) {
	if len(before) == 0 || len(after) == 0 {
		return // a single probe cannot show whether the regime held
	}
	y := transferBaseline
	if r.Lock.Traits.Needs != "" {
		y = roundTripBaseline
	}
	a, b := stat.Median(before), stat.Median(after)
	*y.of(r) = stat.Median(slices.Concat(before, after))
	if max(a, b) > y.change*min(a, b) {
		r.Warnings = append(r.Warnings, harness.Warning{Kind: y.kind, Text: y.text(r.Lock.Traits.Needs, a, b), Remedy: y.remedy})
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
