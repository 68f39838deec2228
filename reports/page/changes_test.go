package page

import (
	"bytes"
	"io"
	"os"
	"strings"
	"testing"

	"locklab/harness/judge"
	"locklab/harness/result"
	"locklab/internal/synthetic"
	"locklab/reports/chart"
)

func historyOf(t *testing.T, runs []*result.Run) *judge.History {
	t.Helper()
	h, err := judge.NewHistory(runs, judge.HistoryOptions{})
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
}

// TestHistoryPage: the page is accessible, names every case and folds the unchanged ones. A
// history without a change draws all cases.
func TestHistoryPage(t *testing.T) {
	h := historyOf(t, synthetic.TwoMachines())
	var page bytes.Buffer
	if err := WriteHistoryHTML(&page, h); err != nil {
		t.Fatal(err)
	}
	for _, mistake := range inaccessible(page.String()) {
		t.Error(mistake)
	}
	for _, want := range []string{"regressed from run 7 on", "counter is 7", "<details class=\"group\">", "not measured on loud", "no processor for it"} {
		if !strings.Contains(page.String(), want) {
			t.Errorf("the page does not say %q", want)
		}
	}
	quiet := historyOf(t, synthetic.Days("a", 2, 3, 8, []int{1}, []synthetic.Model{synthetic.Fast("mcs", 1e6)}, func(int, string) float64 { return 1 }))
	var svg bytes.Buffer
	if err := WriteHistorySVG(&svg, quiet); err != nil || !strings.Contains(svg.String(), "How steady are the") {
		t.Errorf("%v; nothing changed, and the picture is not of the others", err)
	}
	if dir := os.Getenv("LOCKLAB_PICTURES"); dir != "" { // to look at
		var png bytes.Buffer
		err := WriteHistoryPNG(&png, h)
		if err == nil {
			err = os.WriteFile(dir+"/history.png", png.Bytes(), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestFramesApart: a frame holds points of one machine, and the frames of a case span the
// same ratio.
func TestFramesApart(t *testing.T) {
	h := historyOf(t, synthetic.TwoMachines())
	first, _ := notable(h)
	for _, row := range chart.ChangesRows(chart.ChangesFrames(h, first), 2) {
		span := 0.0
		for at, f := range row {
			if f == nil {
				continue
			}
			if f.Site != at || len(f.Points) != len(h.Sites[at].Runs) {
				t.Errorf("%s: machine %d with %d runs in column %d", f.Case(), f.Site, len(f.Points), at)
			}
			if r := f.Hi / f.Lo; span != 0 && (r < span*0.999 || r > span*1.001) {
				t.Errorf("%s: axes of %.3f and %.3f", f.Case(), r, span)
			}
			span = f.Hi / f.Lo
		}
	}
}
