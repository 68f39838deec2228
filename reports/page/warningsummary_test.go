package page

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"locklab/harness"
	"locklab/harness/judge"
	"locklab/internal/numfmt"
	"locklab/internal/synthetic"
)

func TestWarningsInOrder(t *testing.T) {
	run := synthetic.Run(1, 20, 4, []int{1, 2}, synthetic.With(synthetic.Fast("a", 1e6), noiseless), synthetic.With(synthetic.Fast("b", 5e5), noiseless))
	warn := func(r *harness.Result, kind, text string) {
		r.Warnings = append(r.Warnings, harness.Warning{Kind: kind, Text: text, Remedy: "mend " + kind})
	}
	aside := synthetic.Run(2, 10, 4, []int{1, 2}, synthetic.With(synthetic.Fast("kept", 1e6), func(m *synthetic.Model) { m.Lock.Status = harness.Historical }))
	for i, r := range run.Results {
		if i%10 == 3 {
			warn(r, "harmless", "a note on some results") // that are hardly off
		}
		switch turn := (i/4 + 2*(i%4)) % 10; { // in other rounds of each of the four cases
		case turn == 0: // a tenth, half its rate
			warn(r, "strong", fmt.Sprintf("the host took %d %%", 10+i))
			r.Ops /= 2
		case turn == 1 || turn == 2: // twice as many, off by a quarter
			warn(r, "weak", fmt.Sprintf("%d throttled", i))
			r.Ops = r.Ops * 3 / 4
		}
	}
	warn(run.Results[12], "strong", "the host took it in other words")
	run.Results[12].Ops /= 2
	for _, r := range aside.Results {
		warn(r, "apart", "not behind the verdict")
	}
	run.Results = append(run.Results, aside.Results...)
	run.Manifest.Warnings = []harness.Warning{{Kind: "guest", Text: "a guest"}}
	q := assess(run, judge.Decisions(run))
	var kinds []string
	for _, w := range q.Warnings {
		kinds = append(kinds, w.Kind)
	}
	if want := []string{"weak", "strong", "harmless", "guest", "apart"}; !slices.Equal(kinds, want) {
		t.Fatalf("got the kinds %v, want %v", kinds, want)
	}
	first := q.Top()[0]
	if got, want := numfmt.Plain(first.Where), "16 of the 80 results behind the decisions"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if !strings.HasSuffix(first.Text, " throttled.") {
		t.Errorf("got %q", first.Text)
	}
	if len(q.Top()) != 3 || len(q.Rest()) != 2 || q.RestHead() != "2 more kinds of warning" {
		t.Errorf("got %d first and %q", len(q.Top()), q.RestHead())
	}
	page := pageOf(t, run)
	open := unfolded(page)
	for text, shown := range map[string]bool{"throttled": true, "note on some": true, "A guest": false} {
		if strings.Contains(open, text) != shown || !strings.Contains(page, text) {
			t.Errorf("%q: shown is not %v, or it is not on the page", text, shown)
		}
	}
}
