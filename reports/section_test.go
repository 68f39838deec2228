package reports

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"locklab/harness"
	"locklab/internal/synthetic"
)

// TestOtherData: each form of a report notes whether a row's choice is the same with other
// data behind the lock, and the cost of a critical section.
func TestOtherData(t *testing.T) {
	if testing.Short() {
		t.Skip("make test-all runs it")
	}
	base := synthetic.Run(1, 12, 2, []int{1, 8}, synthetic.Fast("quick", 5e6), synthetic.Fast("steady", 1e6))
	run := vary(base, func(w *harness.Workload) { w.Section = harness.SectionMap }, func(lock string) float64 {
		if lock == "quick" {
			return 0.05
		}
		return 1
	})
	run.Results = append(run.Results, vary(base, func(w *harness.Workload) { w.Section = harness.CacheLines(4) }, func(string) float64 { return 1 }).Results[len(base.Results):]...)
	run.Manifest.Sections = map[harness.Section]float64{harness.SectionMap: 21.5}
	var page, text, markdown bytes.Buffer
	err := errors.Join(WriteHTML(&page, run), WriteVerdict(&text, run, 400),
		WriteMarkdown(&markdown, run, "charts", func(string, []byte) error { return nil }))
	if err != nil {
		t.Fatal(err)
	}
	const sentence = "The choice changes with the data behind the lock (here section work): with map steady; the same with lines:4."
	const changes = "other data behind the lock: with map steady"
	for name, got := range map[string]string{"page": page.String(), "text": text.String(), "Markdown": markdown.String()} {
		for _, want := range []string{sentence, changes} {
			if n := strings.Count(got, want); n < 2 { // two rows
				t.Errorf("the %s has %d times %q", name, n, want)
			}
		}
		if cost := fmt.Sprintf("21.5%sns for a change of its data", nb); name == "page" && !strings.Contains(got, cost) {
			t.Errorf("the %s has no cost of the section", name)
		}
	}
	var plain bytes.Buffer
	if err := WriteVerdict(&plain, base, 400); err != nil || strings.Contains(plain.String(), "data behind") {
		t.Errorf("one section, %v, and the report says\n%s", err, plain.String())
	}
}
