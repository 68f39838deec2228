package lab

import (
	"encoding/csv"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"locklab/harness/result"
)

func TestExport(t *testing.T) {
	t.Parallel()
	dir := absolutePath(t, "../reports/testdata/run")
	run := requireRun(t, dir)
	for _, e := range result.Exports {
		stdout, stderr, status := output(t, locklab(t, "export", dir, "--format", e.Name))
		if status != 0 || stderr != "" || stdout == "" {
			t.Errorf("%s: exit status %d, said %q", e.Name, status, stderr)
		}
		if e.Name != "csv" {
			continue
		}
		cmd := locklab(t, "export", dir, "-o", "file") // CSV is the default
		if printed, stderr, status := output(t, cmd); status != 0 || stderr != "" || printed != "" {
			t.Errorf("exit status %d, printed %q, said %q", status, printed, stderr)
		}
		if text, err := os.ReadFile(filepath.Join(cmd.Dir, "file")); err != nil || string(text) != stdout {
			t.Errorf("the file is not what is printed (%v)", err)
		}
		rows, err := csv.NewReader(strings.NewReader(stdout)).ReadAll()
		if err != nil || len(rows) != 1+len(run.Results) {
			t.Errorf("CSV has %d rows (%v), want a heading and %d", len(rows), err, len(run.Results))
		}
	}
	if stdout, _, status := output(t, locklab(t, "schema")); status != 0 || !json.Valid([]byte(stdout)) {
		t.Errorf("schema: exit status %d, printed %.100s", status, stdout)
	}
}
