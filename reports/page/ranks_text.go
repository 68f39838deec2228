package page

import (
	"io"
	"locklab/harness"
	"locklab/harness/result"
	"locklab/internal/numfmt"
	"locklab/internal/table"
	"slices"
)

// A rankSum is the work of a rank in all results of a run.
type rankSum struct {
	host                     string
	workers                  int // the most of any case
	ops                      uint64
	late, vague              int64
	blind, merged, sameClock bool
}

func rankSums(run *result.Run) []rankSum {
	out := make([]rankSum, len(run.Manifest.Parts))
	for _, r := range run.Results {
		if len(r.Ranks) != len(out) {
			continue // the lock violated a promise in some rank
		}
		one := !slices.ContainsFunc(r.Ranks, func(k harness.Rank) bool { return k.Clock != r.Ranks[0].Clock })
		for i, k := range r.Ranks {
			s := &out[i]
			s.sameClock = one && (s.sameClock || !s.merged)
			s.merged, s.host, s.workers, s.ops = true, k.Host, max(s.workers, k.Workers), s.ops+k.Ops
			s.late, s.vague, s.blind = max(s.late, k.Late), max(s.vague, k.Error), s.blind || k.Error < 0
		}
	}
	return out
}

func (s rankSum) clock() string {
	switch {
	case s.sameClock:
		return "the same"
	case s.blind:
		return "not known"
	}
	return "±" + numfmt.Nanos(float64(s.vague))
}

// WriteRanks writes a table with the work of each rank of run.
func WriteRanks(out io.Writer, run *result.Run) error {
	all := rankSums(run)
	var total uint64
	for _, s := range all {
		total += s.ops
	}
	t := table.New(out, "rank", "host", "workers", "acquisitions", "share", "opened late", "clock")
	for i, s := range all {
		if !s.merged {
			t.Row(i, run.Manifest.Parts[i].Host, "-", "-", "-", "-", "-")
			continue
		}
		share := "-"
		if total > 0 {
			share = numfmt.Percent(100 * float64(s.ops) / float64(total))
		}
		t.Row(i, s.host, s.workers, s.ops, share, numfmt.Nanos(float64(max(0, s.late))), s.clock())
	}
	return t.Flush()
}
