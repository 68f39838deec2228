package verdict

import (
	"testing"

	"locklab/harness"
	"locklab/harness/resultfile"
	"locklab/internal/synthetic"
)

// TestCaveat: what had nothing to be compared with, or no lock of the kind to use, is chosen
// and not recommended; an only recommended lock that was compared with others is.
func TestCaveat(t *testing.T) {
	reference := status(harness.Reference)
	mutex, spin := synthetic.With(synthetic.Fast("mutex", 1e6), general), synthetic.Fast("spin", 2e6)
	slow := synthetic.Fast("slow", 1e6)
	other := synthetic.With(synthetic.Fast("other", 5e5), general, reference)
	control := synthetic.With(synthetic.Fast("empty", 9e6), status(harness.Control))
	served := func(name string, rate float64) synthetic.Model {
		return synthetic.Model{Lock: synthetic.Served(name, harness.Redis, "redis"), Rate: synthetic.Constant(rate), Handed: 1, Noise: 0.01}
	}
	for _, c := range []struct {
		name   string
		models []synthetic.Model
		all    bool // --candidates all
		use    string
		caveat string
		among  string
	}{
		{"a spin lock alone", []synthetic.Model{spin}, false, "spin", "spin, a spin lock, was compared with no other lock", ""},
		{"a spin lock and a control", []synthetic.Model{spin, control}, false, "spin", "spin, a spin lock, was compared with no other lock", ""},
		{"a mutex alone", []synthetic.Model{mutex}, false, "mutex", "mutex was compared with no other lock", ""},
		{"a mutex alone, all candidates", []synthetic.Model{mutex}, true, "mutex", "mutex was compared with no other lock", ""},
		{"one kept for reference alone", []synthetic.Model{other}, false, "other", "other, which is kept for reference, was compared with no other lock", ""},
		{"a spin lock kept for reference alone", []synthetic.Model{synthetic.With(spin, reference)}, false, "spin", "spin, a spin lock that is kept for reference, was compared with no other lock", ""},
		{"only spin locks", []synthetic.Model{spin, slow}, false, "spin", "no recommended general-purpose lock was measured", "the spin locks"},
		{"only spin locks, all candidates", []synthetic.Model{spin, slow}, true, "spin", "no recommended general-purpose lock was measured", "the spin locks"},
		{"spin locks and a mutex kept for reference", []synthetic.Model{spin, slow, other}, false, "spin", "no recommended general-purpose lock was measured", "the spin locks"},
		{"only locks kept for reference", []synthetic.Model{other, synthetic.With(slow, reference)}, false, "other", "only locks kept for reference were measured", "those kept for reference"},
		{"the same, all candidates", []synthetic.Model{other, synthetic.With(slow, reference)}, true, "other", "", ""},
		{"a mutex beside spin locks", []synthetic.Model{mutex, spin}, false, "mutex", "", ""},
		{"a mutex beside one kept for reference", []synthetic.Model{mutex, other}, false, "mutex", "", ""},
		{"two mutexes", []synthetic.Model{mutex, synthetic.With(synthetic.Fast("chan", 5e5), general)}, false, "mutex", "", ""},
		{"a distributed lock alone", []synthetic.Model{served("q", 900)}, false, "q", "q was compared with no other lock", ""},
		{"two distributed locks", []synthetic.Model{served("q", 900), served("p", 500)}, false, "q", "", ""},
		{"one beside one kept for reference", []synthetic.Model{served("q", 900), synthetic.With(served("p", 500), reference)}, false, "q", "", ""},
		{"nothing to use", []synthetic.Model{control}, false, "", "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			run := synthetic.Run(5, 12, 2, []int{1, 2, 8}, c.models...)
			if c.all {
				run.Manifest.Candidates = resultfile.CandidatesAll
			}
			first, _ := Standing(Groups(run))
			weighed, _ := Weigh(first, func(vs []Verdict) string { return "" })
			for i, v := range All(run) {
				if v.Use != c.use || v.Caveat != c.caveat || v.Among != c.among || v.Recommends() != (c.caveat == "" && c.use != "") {
					t.Errorf("%s: %q of %q because of %q, want %q of %q because of %q", v.Situation, v.Use, v.Among, v.Caveat, c.use, c.among, c.caveat)
				}
				s := first[i]
				if s.terse = true; Judge(s).Caveat != c.caveat || weighed[i].Caveat != c.caveat {
					t.Errorf("%s: resampled %q, weighed %q", v.Situation, Judge(s).Caveat, weighed[i].Caveat)
				}
			}
		})
	}
}
