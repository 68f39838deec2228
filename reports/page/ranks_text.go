package page

import (
	"io"
	"slices"

	"locklab/harness"
	"locklab/harness/result"
	"locklab/internal/numfmt"
	"locklab/internal/table"
)

// WriteRanks writes a table with the work of each rank of run.
func WriteRanks(out io.Writer, run *result.Run) error {
	parts := run.Manifest.Parts
	// A result of fewer ranks is of a lock that violated a promise in some rank.
	merged := slices.DeleteFunc(slices.Clone(run.Results), func(r *harness.Result) bool { return len(r.Ranks) != len(parts) })
	total := uint64(0)
	for _, r := range merged {
		for _, k := range r.Ranks {
			total += k.Ops
		}
	}
	t := table.New(out, "rank", "host", "workers", "acquisitions", "share", "opened late", "clock")
	for i, part := range parts {
		if len(merged) == 0 {
			t.Row(i, part.Host, "-", "-", "-", "-", "-")
			continue
		}
		var s harness.Rank
		for _, r := range merged {
			k := r.Ranks[i]
			s.Host, s.Workers, s.Ops, s.Late, s.Error = k.Host, max(s.Workers, k.Workers), s.Ops+k.Ops, max(s.Late, k.Late), max(s.Error, k.Error)
		}
		share := "-"
		if total > 0 {
			share = numfmt.Percent(100 * float64(s.Ops) / float64(total))
		}
		t.Row(i, s.Host, s.Workers, s.Ops, share, numfmt.Nanos(float64(s.Late)), clockText(merged, i, s.Error))
	}
	return t.Flush()
}

// clockText describes the clock of rank i, whose offset has at most that error in ns.
func clockText(rs []*harness.Result, i int, errorNs int64) string {
	other := func(r *harness.Result) bool {
		return slices.ContainsFunc(r.Ranks, func(k harness.Rank) bool { return k.Clock != r.Ranks[0].Clock })
	}
	switch {
	case !slices.ContainsFunc(rs, other):
		return "the same"
	case slices.ContainsFunc(rs, func(r *harness.Result) bool { return r.Ranks[i].Error < 0 }):
		return "not known"
	}
	return "±" + numfmt.Nanos(float64(errorNs))
}
