package lab

import (
	"encoding/csv"
	"path/filepath"
	"strings"
	"testing"

	"locklab/harness"
	"locklab/harness/result"
	"locklab/internal/synthetic"
)

var simulations = synthetic.Simulations("oak-2x4", 2, 4, []int{1, 2, 4, 8}, synthetic.Local("queue", harness.Spin, harness.Correct))

func TestSimulationsOnDisk(t *testing.T) {
	alone := filepath.Join(t.TempDir(), "alone")
	saveRun(t, alone, &result.Run{Simulations: simulations})
	pictures := filepath.Join(t.TempDir(), "pictures")
	stdout, _ := requireSuccess(t, locklab(t, "report", alone, "--png", pictures), "Nothing was measured in this run")
	if strings.Contains(stdout, "Which lock") {
		t.Errorf("report:\n%s", stdout)
	}
	drawn, err := filepath.Glob(filepath.Join(pictures, "*.png"))
	if err != nil || len(drawn) != 2 {
		t.Errorf("%d pictures (%v), want 2: %q", len(drawn), err, drawn)
	}
	for _, name := range drawn {
		if !strings.HasPrefix(filepath.Base(name), "simulated-") {
			t.Errorf("a picture is called %s", filepath.Base(name))
		}
	}
	stdout, _ = requireSuccess(t, locklab(t, "export", alone, "--format", "csv-simulations"))
	rows, err := csv.NewReader(strings.NewReader(stdout)).ReadAll()
	if err != nil || len(rows) != 1+len(simulations) || rows[0][0] != "simulated" || rows[1][0] != "oak-2x4" {
		t.Errorf("export: %d rows (%v)", len(rows), err)
	}
	if stdout, _ = requireSuccess(t, locklab(t, "export", alone, "--format", "csv")); strings.Count(stdout, "\n") != 1 {
		t.Errorf("export of results: %q", stdout)
	}
}

func TestCompareLeavesSimulationsOut(t *testing.T) {
	measured := absolutePath(t, "../reports/testdata/run")
	both := filepath.Join(t.TempDir(), "both")
	run := requireRun(t, measured)
	run.Simulations = simulations[:1]
	saveRun(t, both, run)
	stdout, _, _ := output(t, locklab(t, "compare", measured, both))
	requireContains(t, stdout, "1 simulation of NEW was left out: only what was measured is compared")
}
