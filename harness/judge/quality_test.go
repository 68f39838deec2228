package judge

import (
	"slices"
	"testing"

	"locklab/harness/result"
	"locklab/internal/machine"
	"locklab/internal/synthetic"
)

func TestQualityOf(t *testing.T) {
	for _, c := range []struct {
		name            string
		rounds, planned int
		disturbed       int     // results of 20
		taken           float64 // share
		kind            string
		want            Grade
	}{
		{"quiet", 10, 10, 0, 0, "steal", Good},
		{"a tenth disturbed", 10, 10, 2, 0, "steal", Good},
		{"more disturbed", 10, 10, 3, 0, "steal", Fair},
		{"most disturbed", 10, 10, 11, 0, "steal", Poor},
		{"usual warnings", 10, 10, 20, 0, "pressure", Good},
		{"a little taken", 10, 10, 0, 0.06, "steal", Fair},
		{"much taken", 10, 10, 0, 0.3, "steal", Poor},
		{"fewer rounds than planned", 10, 14, 0, 0, "steal", Fair},
		{"too few rounds", 3, 3, 0, 0, "steal", Poor},
	} {
		run := synthetic.Run(1, c.rounds, 2, []int{8}, synthetic.With(synthetic.Fast(DefaultBaseline, 1e6), setBlocking), synthetic.Fast("a", 1e6))
		run.Manifest.Rounds = c.planned
		for i, r := range run.Results {
			r.Noise = &machine.Noise{CPUs: 2, Steal: c.taken / 2, Others: c.taken / 2}
			if i < c.disturbed {
				r.Warnings = []machine.Warning{{Kind: c.kind}}
			}
		}
		q := QualityOf(run, Decisions(run))
		if q.Grade != c.want || q.Results != len(run.Results) || q.Rounds != c.rounds || q.Planned != c.planned {
			t.Errorf("%s: %+v, want %s", c.name, q, c.want)
		}
	}
	run := servedRun() // the servers of a distributed lock are other programs
	for _, r := range run.Results {
		r.Noise = &machine.Noise{Others: 0.9}
	}
	if q := QualityOf(run, []Decision{decideOn(t, run, "distributed, contended")}); q.Taken != 0 {
		t.Errorf("a share of %v is taken where only servers took time", q.Taken)
	}
	run.Require = []result.Guarantee{result.Failover} // no lock was tested for it
	run.Results = slices.DeleteFunc(run.Results, func(r *result.Result) bool { return r.Lock.Traits.Needs == "" })
	for name, run := range map[string]*result.Run{"one lock": synthetic.Run(1, 12, 2, []int{8}, synthetic.Fast("a", 1e6)), "no lock with the guarantees": run} {
		if q := QualityOf(run, Decisions(run)); q.Grade != Good || q.Rounds != 12 {
			t.Errorf("%s: %+v, want good, with 12 rounds", name, q)
		}
	}
}
