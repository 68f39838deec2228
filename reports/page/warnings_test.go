package page

import (
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
		Findings: []*result.Finding{{Name: "experiment", Warnings: []harness.Warning{{Text: "hot", Kind: "heat"}}}},
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
	forms := formsOf(t, run)
	for name, trace := range map[string]string{
		"page":     "panic: no node\n```\n&lt;b&gt;queue.go:7</pre>",
		"Markdown": "````\npanic: no node\n```\n<b>queue.go:7\n````",
		"terminal": "flaky: it crashed in 2 of 3 results: exit status 2: panic: no node",
	} {
		got := forms[name]
		said := strings.Join(strings.Fields(got), " ")
		if !strings.Contains(got, trace) || strings.Contains(got, "no tail\n") || !strings.Contains(said, "killed from outside: signal: killed") {
			t.Errorf("%s lacks %q once, or the other try:\n%s", name, trace, got)
		}
	}
}
