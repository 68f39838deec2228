package lab

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"locklab/harness/resultfile"
	"locklab/internal/synthetic"
)

// TestReportAmongContenders: a run with enough numbers of workers says what its locks would
// do among more, near and far, in every form of the report.
func TestReportAmongContenders(t *testing.T) {
	t.Parallel()
	cmd := locklab(t, "report", "run", "--contenders", "10k,100k", "--rtt", "50ms", "--out", "again", "--png", "pictures")
	run := synthetic.Crowds(2, []int{1, 5, 10, 20, 50, 500}, synthetic.Queue("queue"))
	out, err := resultfile.Create(filepath.Join(cmd.Dir, "run"), run.Manifest)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range run.Results {
		if err := out.Append(r); err != nil {
			t.Fatal(err)
		}
	}
	if err := out.Finish(func(m *resultfile.Manifest) { m.Finished = m.Started }); err != nil {
		t.Fatal(err)
	}
	stdout, stderr, status := output(t, cmd)
	if status != 0 {
		t.Fatalf("exit status %d, said %s", status, stderr)
	}
	texts := map[string]string{"the terminal": stdout}
	for _, name := range []string{reportName, markdownName} {
		text, err := os.ReadFile(filepath.Join(cmd.Dir, "again", name))
		if err != nil {
			t.Fatal(err)
		}
		texts[name] = string(text)
	}
	for name, text := range texts {
		for _, want := range []string{"What breaks first", "measured and left out", "computed, at 50ms", "maxclients"} {
			if !strings.Contains(text, want) {
				t.Errorf("%s lacks %q", name, want)
			}
		}
	}
	for _, picture := range []string{"pictures/contenders-rate.png", "pictures/contenders-wait.png", "again/charts/contenders-rate.png"} {
		if info, err := os.Stat(filepath.Join(cmd.Dir, picture)); err != nil || info.Size() == 0 {
			t.Errorf("%s: %v", picture, err)
		}
	}
}
