package lab

import (
	"encoding/csv"
	"encoding/json"
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
		stdout, stderr := requireSuccess(t, locklab(t, "export", dir, "--format", e.Name))
		if stderr != "" || stdout == "" {
			t.Errorf("%s: wrote %q", e.Name, stderr)
		}
		if e.Name != "csv" {
			continue
		}
		cmd := locklab(t, "export", dir, "-o", "file") // CSV is the default
		if printed, _ := requireSuccess(t, cmd); printed != "" || readFile(t, filepath.Join(cmd.Dir, "file")) != stdout {
			t.Errorf("printed %q, and the file differs from the printed export", printed)
		}
		rows, err := csv.NewReader(strings.NewReader(stdout)).ReadAll()
		if err != nil || len(rows) != 1+len(run.Results) {
			t.Errorf("CSV has %d rows (%v), want a heading and %d", len(rows), err, len(run.Results))
		}
	}
	if stdout, _ := requireSuccess(t, locklab(t, "schema")); !json.Valid([]byte(stdout)) {
		t.Errorf("schema printed %.100s", stdout)
	}
}
