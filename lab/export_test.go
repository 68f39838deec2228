package lab

import (
	"encoding/csv"
	"path/filepath"
	"strings"
	"testing"

	"locklab/harness/result"
)

func TestExport(t *testing.T) {
	drawApart(t)
	dir, file := "../reports/testdata/run", filepath.Join(t.TempDir(), "file")
	for _, e := range result.Exports {
		if stdout, stderr := requireStatus(t, 0, []string{"export", dir, "--format", e.Name}); stderr != "" || stdout == "" {
			t.Errorf("%s: wrote %q", e.Name, stderr)
		}
	}
	requireStatus(t, 0, []string{"export", dir, "-o", file}) // CSV is the default
	rows, err := csv.NewReader(strings.NewReader(readFile(t, file))).ReadAll()
	if want := 1 + len(requireRun(t, dir).Results); err != nil || len(rows) != want {
		t.Errorf("CSV has %d rows (%v), want a heading and the results, %d", len(rows), err, want)
	}
}
