package verdict

import (
	"strings"
	"testing"

	"locklab/harness"
	"locklab/harness/resultfile"
	"locklab/internal/synthetic"
)

// behind returns the results of models with section behind the lock.
func behind(s harness.Section, models ...synthetic.Model) []*harness.Result {
	run := synthetic.Run(1, 12, 2, []int{1, 8}, models...)
	for _, r := range run.Results {
		r.Workload.Section = s
	}
	return run.Results
}

// TestSections: a row says with which data behind the lock the choice is another.
func TestSections(t *testing.T) {
	a, b := synthetic.Fast("a", 5e6), synthetic.Fast("b", 1e6)
	slow := func(m synthetic.Model) synthetic.Model { m.Rate = synthetic.Constant(1e5); return m }
	run := synthetic.Run(1, 12, 2, []int{1, 8}, a, b)
	run.Results = append(run.Results, behind(harness.CacheLines(16), a, b)...)
	run.Results = append(run.Results, behind(harness.CacheLines(2), a, b)...)
	run.Results = append(run.Results, behind(harness.SectionMap, slow(a), b)...)
	for _, r := range behind(harness.SectionLog, a, b) {
		if r.Round < 2 && r.Workload.Workers == 8 { // too few for a verdict
			run.Results = append(run.Results, r)
		}
	}
	other := behind(harness.SectionLRU, slow(a), b) // differs in more than the data
	for _, r := range other {
		r.Workload.Reads = 50
	}
	run.Results = append(run.Results, other...)
	v := judgedWithSections(t, run, "more workers than CPUs")
	if want := "The choice changes with the data behind the lock (here section work): with log no verdict; with map b; the same with lines:2 and lines:16."; v.Data() != want {
		t.Errorf("said\n%s, want\n%s", v.Data(), want)
	}
	if got := strings.Join(v.OtherSections(), "; "); got != "with log no verdict; with map b" {
		t.Errorf("others: %s", got)
	}
	v = judgedWithSections(t, run, "uncontended")
	if got := strings.Join(v.OtherSections(), "; "); got != "with map b" {
		t.Errorf("uncontended, others: %s", got)
	}

	run = synthetic.Run(1, 12, 2, []int{1, 8}, a, b)
	if v := judgedWithSections(t, run, "more workers than CPUs"); v.Data() != "" {
		t.Errorf("one section, and it said %s", v.Data())
	}
	run.Results = append(run.Results, behind(harness.CacheLines(2), a, b)...)
	if v, want := judgedWithSections(t, run, "more workers than CPUs"), "it is the same with lines:2."; !strings.HasSuffix(v.Data(), want) || v.OtherSections() != nil {
		t.Errorf("said %s, want %s", v.Data(), want)
	}
}

// judgedWithSections returns the verdict of run on a situation.
func judgedWithSections(t *testing.T, run *resultfile.Run, situation string) Verdict {
	t.Helper()
	first, others := Standing(Groups(run))
	vs := JudgeAll(first)
	WithSections(vs, others)
	return findVerdict(t, vs, situation)
}
