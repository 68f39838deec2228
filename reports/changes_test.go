package reports

import (
	"bytes"
	"io"
	"os"
	"strings"
	"testing"

	"locklab/harness/compare"
	"locklab/harness/resultfile"
	"locklab/internal/synthetic"
)

func historyOf(t *testing.T, runs []*resultfile.Run) *compare.History {
	t.Helper()
	h, err := compare.Over(runs, compare.HistoryOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func TestGoldenHistory(t *testing.T) {
	h := historyOf(t, synthetic.TwoMachines())
	checkGolden(t, map[string]func(io.Writer) error{
		"history.svg":  func(w io.Writer) error { return WriteHistorySVG(w, h) },
		"history.html": func(w io.Writer) error { return WriteHistoryHTML(w, h) },
		"history.md": func(w io.Writer) error {
			return WriteHistoryMarkdown(w, h, "charts", func(string, []byte) error { return nil })
		},
	})
	if dir := os.Getenv("LOCKLAB_PICTURES"); dir != "" {
		var png bytes.Buffer
		if err := WriteHistoryPNG(&png, h); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(dir+"/history.png", png.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	_ = strings.ToUpper
}
