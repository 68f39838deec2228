package page

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"locklab/harness"
	"locklab/harness/result"
)

func TestWarnings(t *testing.T) {
	noise := func(text string) harness.Warning { return harness.Warning{Text: text, Kind: "steal"} }
	run := &result.Run{
		Manifest: result.Manifest{Warnings: []harness.Warning{{Text: "a guest", Kind: "guest"}, {Text: "of an older lab"}}},
		Results: []*harness.Result{
			{Warnings: []harness.Warning{noise("the host took 3 %")}, Retries: []string{"signal: killed"}},
			{Warnings: []harness.Warning{noise("the host took 5 %"), {Text: "new", Kind: "of-a-newer-lab"}}},
		},
		Findings: []*harness.Finding{{Name: "experiment", Warnings: []harness.Warning{{Text: "hot", Kind: "heat"}}}},
	}
	var kinds []string
	for _, w := range Warnings(run) {
		kinds = append(kinds, w.Kind)
		if !slices.Contains(WarningKinds(), w.Kind) {
			t.Errorf("%q is of the kind %q, which there is not", w.Text, w.Kind)
		}
	}
	slices.Sort(kinds)
	if want := []string{"guest", "heat", "other", "other", "retried", "steal"}; !slices.Equal(kinds, want) {
		t.Errorf("got the kinds %v, want %v", kinds, want)
	}
	if ws := Warnings(new(result.Run)); ws != nil {
		t.Errorf("nothing warns of %v", ws)
	}
}

// TestTraces: each crashing lock has one trace, and retried results are marked.
func TestTraces(t *testing.T) {
	lock := harness.Lock{Name: "flaky"}
	w := harness.Workload{Workers: 2, Window: 1}
	crashed := func(round int, said string) *harness.Result {
		return &harness.Result{Lock: lock, Workload: w, Round: round, Violations: []harness.Violation{{
			Rule: "crash", Count: 1, Detail: "exit status 2: panic: " + said, Trace: []string{"panic: " + said, "```", "<b>queue.go:7"}}}}
	}
	run := &result.Run{Manifest: result.Manifest{Rounds: 3, Cases: 1}, Results: []*harness.Result{
		crashed(0, "no node"), crashed(1, "no tail"), {Lock: lock, Workload: w, Round: 2, Retries: []string{"signal: killed"}},
	}}
	var page, text, terminal strings.Builder
	if err := errors.Join(
		WriteHTML(&page, run), WriteVerdict(&terminal, run, 100),
		WriteMarkdown(&text, run, "charts", func(string, []byte) error { return nil }),
	); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ got, trace string }{
		"HTML":     {page.String(), "panic: no node\n```\n&lt;b&gt;queue.go:7</pre>"},
		"Markdown": {text.String(), "````\npanic: no node\n```\n<b>queue.go:7\n````"},
		"terminal": {terminal.String(), "flaky: it crashed in 2 of 3 results: exit status 2: panic: no node"},
	} {
		said := strings.Join(strings.Fields(c.got), " ")
		if !strings.Contains(c.got, c.trace) || strings.Contains(c.got, "no tail\n") || !strings.Contains(said, "killed from outside: signal: killed") {
			t.Errorf("%s lacks %q once, or the other try:\n%s", name, c.trace, c.got)
		}
	}
}
