package lab

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"locklab/harness/result"
	"locklab/internal/synthetic"
)

func saveRun(t *testing.T, dir string, run *result.Run) {
	t.Helper()
	requireNoError(t, new(saver).saveRun(dir, run))
}

func writeRuns(t *testing.T, root string, runs []*result.Run) (dirs []string) {
	t.Helper()
	for _, run := range runs {
		dir := filepath.Join(root, filepath.Base(run.Dir))
		saveRun(t, dir, run)
		dirs = append(dirs, dir)
	}
	return dirs
}

func TestHistoryStatus(t *testing.T) {
	drawApart(t)
	root := t.TempDir()
	models := []synthetic.Model{synthetic.Fast("mcs", 2e6)}
	series := func(host string, days int, factor func(day int) float64) []string {
		return writeRuns(t, root, synthetic.Days(host, 2, days, 8, []int{1}, models, func(day int, _ string) float64 { return factor(day) }))
	}
	level := func(day int) float64 { return 1 + 0.02*float64(day*5%8)/8 }
	steady := series("steady", 10, level)
	step := func(by float64) func(int) float64 {
		return func(day int) float64 {
			if day >= 5 {
				return by * level(day)
			}
			return level(day)
		}
	}
	slower, faster := series("slower", 10, step(0.9)), series("faster", 10, step(1.1))
	few := series("few", 3, func(day int) float64 { return 1 - 0.2*float64(day/2) })
	other := series("other", 1, level)
	for _, c := range []struct {
		args []string
		want int
		said string
	}{
		{steady, 0, "No case's last change is for the worse. In all: 1 no change found."},
		{slower, 1, "REGRESSED: the last change of lock=mcs/workers=1/hold=100ns, throughput is for the worse."},
		{append(slices.Clone(slower), "--tolerance", "20%"), 0, "1 no change found"},
		{faster, 0, "1 better"},
		{few, 3, "cannot separate a step from an off day"},
		{append(slices.Clone(steady), other...), 0, "other has one run: there is nothing to compare it with"},
	} {
		if _, stderr := requireStatus(t, c.want, append([]string{"history"}, c.args...), c.said); stderr != "" {
			t.Errorf("%v: wrote %q", c.args, stderr)
		}
	}
	copied := filepath.Join(root, "copy")
	requireNoError(t, os.CopyFS(copied, os.DirFS(few[0])))
	requireRefusals(t, "history", []refusal{
		{"", "two runs at least, got 0"},
		{few[0], "two runs at least, got 1"},
		{few[0] + " nowhere", "holds no run"},
		{few[0] + " " + few[0], "is given twice"},
		{few[0] + " " + copied, "is given twice"},
		{few[0] + " " + filepath.Join(few[0], result.ManifestName), "it is a file"},
		{few[0] + " " + other[0], "no case has a figure of throughput in two runs of one machine"},
		{few[0] + " " + few[1] + " --locks nosuch", `"nosuch"`},
		{few[0] + " " + few[1] + " --alpha 0", `"--alpha" flag: want`},
	})
}

func TestHistoryFiles(t *testing.T) {
	skipIfShort(t)
	t.Parallel()
	root := t.TempDir()
	dirs := writeRuns(t, root, synthetic.TwoMachines())
	slices.Reverse(dirs) // the dates order them
	call := func(args ...string) string {
		stdout, _ := requireStatus(t, exitFailed, slices.Concat([]string{"history"}, dirs, args))
		return stdout
	}
	page := filepath.Join(root, "page")
	call("--out", page)
	for _, name := range []string{"index.html", "report.md", "charts/changes.png", "charts/unchanged-unchanged.png"} {
		if readFile(t, filepath.Join(page, name)) == "" {
			t.Errorf("%s is empty", name)
		}
	}
	for name, begins := range map[string]string{"a.html": "<!DOCTYPE", "a.md": "# "} {
		file := filepath.Join(root, name)
		stdout := call("--out", file)
		if text := readFile(t, file); !strings.HasPrefix(text, begins) || !strings.Contains(stdout, name) {
			t.Errorf("%s begins with %.20q", name, text)
		}
	}
	var j struct {
		Outcome string
		Tables  []struct{ Rows []struct{ Lock string } }
	}
	if err := json.Unmarshal([]byte(call("--format", "json")), &j); err != nil || j.Outcome != "regressed" || len(j.Tables) != 2 || len(j.Tables[0].Rows)+len(j.Tables[1].Rows) != 9 {
		t.Errorf("%v: outcome %q, tables %+v, want 9 cases of 2 machines", err, j.Outcome, j.Tables)
	}
	if text := call("--all"); strings.Count(text, "\nclh ") < 4 {
		t.Errorf("--all does not print every case:\n%s", text)
	}
}
