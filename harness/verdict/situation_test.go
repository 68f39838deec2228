package verdict

import (
	"strings"
	"testing"
	"time"

	"locklab/harness"
	"locklab/harness/resultfile"
)

// TestWordsFollowWindows: what a verdict says of processors is true of every window.
func TestWordsFollowWindows(t *testing.T) {
	const alone, taken, wait = "every CPU has a worker, no worker waits for a CPU", "as many workers as CPUs, of which others or a CPU limit took time in some windows", "workers wait for CPUs as well as for the lock"
	for name, c := range map[string]struct {
		edit    func(run *resultfile.Run, last *harness.Result)
		meaning string
		setting string
	}{
		"quiet":             {func(*resultfile.Run, *harness.Result) {}, alone, "2 workers on 2 CPUs"},
		"a CPU goes":        {func(_ *resultfile.Run, r *harness.Result) { r.Noise.CPUs = 1 }, wait, "2 workers on 1 CPU"},
		"a limit comes":     {func(_ *resultfile.Run, r *harness.Result) { r.Noise.Limit = 0.5 }, wait, "2 workers on 0.5 CPUs"},
		"a limit is there":  {func(run *resultfile.Run, _ *harness.Result) { run.Manifest.Machine.CPULimit = 1.5 }, wait, "2 workers on 1.5 CPUs"},
		"a limit of enough": {func(run *resultfile.Run, _ *harness.Result) { run.Manifest.Machine.CPULimit = 8 }, alone, "2 workers on 2 CPUs"},
		"other programs": {func(_ *resultfile.Run, r *harness.Result) {
			r.Warnings = append(r.Warnings, harness.Warning{Kind: "others"})
		}, taken, "2 workers on 2 CPUs"},
	} {
		run := new(resultfile.Run)
		run.Manifest.Machine.CPUs, run.Manifest.Machine.GOMAXPROCS = 2, 2
		for round := range 3 {
			run.Results = append(run.Results, &harness.Result{Lock: harness.Lock{Name: "x", Family: harness.Spin}, Round: round,
				Workload: harness.Workload{Workers: 2, Window: time.Second}, Noise: &harness.Noise{CPUs: 2}})
		}
		c.edit(run, run.Results[2])
		all := situations(Groups(run)[0])
		if s := all[len(all)-1]; s.meaning() != c.meaning || !strings.HasPrefix(s.setting(), c.setting+",") {
			t.Errorf("%s: %q, %q, want %q, %q", name, s.meaning(), s.setting(), c.meaning, c.setting)
		}
	}
}
