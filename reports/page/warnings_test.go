package page

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"locklab/harness"
	"locklab/harness/judge"
	"locklab/harness/oracle"
	"locklab/harness/result"
	"locklab/internal/machine"
	"locklab/internal/numfmt"
	"locklab/internal/require"
	"locklab/internal/synthetic"
)

func TestWarnings(t *testing.T) {
	noise := func(text string) machine.Warning { return machine.Warning{Text: text, Kind: "steal"} }
	run := &result.Run{
		Manifest: result.Manifest{Warnings: []machine.Warning{{Text: "a guest", Kind: "guest"}, {Text: "of an older lab"}}},
		Results: []*result.Result{
			{Warnings: []machine.Warning{noise("the host took 3 %")}, Retries: []string{"signal: killed"}},
			{Warnings: []machine.Warning{noise("the host took 5 %"), {Text: "new", Kind: "of-a-newer-lab"}}},
		},
		Findings: []*result.Finding{{Name: "experiment", Warnings: []machine.Warning{{Text: "hot", Kind: "heat"}}}},
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
	lock := result.Lock{Name: "flaky"}
	w := harness.Workload{Workers: 2, Window: 1}
	crashed := func(round int, said string) *result.Result {
		return &result.Result{Lock: lock, Workload: w, Round: round, Violations: []oracle.Violation{{
			Rule: "crash", Count: 1, Detail: "exit status 2: panic: " + said, Trace: []string{"panic: " + said, "```", "<b>queue.go:7"}}}}
	}
	run := &result.Run{Manifest: result.Manifest{Rounds: 3, Cases: 1}, Results: []*result.Result{
		crashed(0, "no node"), crashed(1, "no tail"), {Lock: lock, Workload: w, Round: 2, Retries: []string{"signal: killed"}},
	}}
	forms := formsOf(t, Report(run))
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

func TestWarningsInOrder(t *testing.T) {
	run := synthetic.Run(1, 20, 4, []int{1, 2}, synthetic.With(synthetic.Fast("a", 1e6), removeNoise), synthetic.With(synthetic.Fast("b", 5e5), removeNoise))
	warn := func(r *result.Result, kind, text string) {
		r.Warnings = append(r.Warnings, machine.Warning{Kind: kind, Text: text, Remedy: "mend " + kind})
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
	warn(aside.Results[0], "weak", "a first example, not behind the verdict")
	run.Results = append(aside.Results, run.Results...)
	run.Manifest.Warnings = []machine.Warning{{Kind: "guest", Text: "a guest"}}
	q := assess(run, judge.Decisions(run))
	kinds := result.Each(q.Warnings, func(w *warning) string { return w.Kind + ": " + w.Where })
	if want := []string{"weak: 16 of the 80 results behind the decisions", "strong: 9 of the 80 results behind the decisions", "harmless: 8 of the 80 results behind the decisions",
		"guest: the whole run", "apart: 20 of 100 results"}; !slices.Equal(kinds, want) {
		t.Fatalf("got the kinds %q, want %q", kinds, want)
	}
	if first := q.Top()[0]; !strings.HasSuffix(first.Text, " throttled.") {
		t.Errorf("got %q", first.Text)
	}
	if len(q.Top()) != 3 || len(q.Rest()) != 2 || q.RestHead() != "2 more kinds of warning" {
		t.Errorf("got %d first and %q", len(q.Top()), q.RestHead())
	}
	page := htmlOf(t, Report(run))
	open := unfoldPage(page)
	for text, shown := range map[string]bool{"throttled": true, "note on some": true, "A guest": false} {
		if strings.Contains(open, text) != shown || !strings.Contains(page, text) {
			t.Errorf("%q: shown is not %v, or it is not on the page", text, shown)
		}
	}
}

// TestDrift: a trend in the speed of the machine is reported, a steady machine is not. The
// verdict is the same, because it compares within rounds.
func TestDrift(t *testing.T) {
	var models []synthetic.Model
	for i := range 6 {
		models = append(models, synthetic.Fast(string(rune('a'+i)), 1e6*float64(1+i)))
	}
	for _, c := range []struct {
		name  string
		speed func(round int) float64
		want  string // of the only warning, "" for none
	}{
		{"steady", func(int) float64 { return 1 }, ""},
		{"a little slower", func(r int) float64 { return 1 - 0.002*float64(r) }, ""},
		{"slower", func(r int) float64 { return 1 - 0.015*float64(r) }, "Over the 10 rounds the machine got 15 % slower for local locks (Mann-Kendall test"},
		{"faster", func(r int) float64 { return 1 + 0.015*float64(r) }, "Over the 10 rounds the machine got 12 % faster"},
		{"to and fro", func(r int) float64 { return 1 + 0.1*math.Pow(-1, float64(r)) }, ""},
		{"one slow round", func(r int) float64 { return map[bool]float64{true: 0.6, false: 1}[r == 3] }, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			run := synthetic.Run(4, 10, 2, []int{1, 2}, models...)
			for _, r := range run.Results {
				r.Elapsed = time.Duration(float64(r.Elapsed) / c.speed(r.Round))
			}
			q := assess(run, nil)
			var got []string
			for _, w := range q.Warnings {
				got = append(got, numfmt.Plain(w.Text))
				if w.Remedy == "" || w.Kind != "drift" || w.Where != "the whole run" {
					t.Errorf("%+v", w)
				}
			}
			if text := strings.Join(got, "; "); (c.want == "") != (text == "") || !strings.Contains(text, c.want) || len(got) > 1 {
				t.Errorf("got %q, want %q", text, c.want)
			}
			for _, check := range q.Checks {
				if check.Kind == "drift" && (check.Bad != (c.want != "") || check.Found == "") {
					t.Errorf("check %+v", check)
				}
			}
			require.Equal(t, "the fastest", judge.Decisions(run)[0].Fastest, "f")
		})
	}
}

// TestChecks: the report lists all checks, good or bad, and marks missing noise figures.
func TestChecks(t *testing.T) {
	run := synthetic.Run(1, 6, 2, []int{1, 2}, synthetic.Fast("a", 1e6))
	requireChecks := func(want map[string]string) {
		t.Helper()
		for _, c := range assess(run, nil).Checks {
			mark := "fine"
			switch {
			case c.Bad:
				mark = "bad"
			case c.Found == "":
				mark = "unknown"
			}
			if w := want[c.Kind]; w != "" && w != mark {
				t.Errorf("%s is %s, want %s", c.Kind, mark, w)
			}
			delete(want, c.Kind)
		}
		if len(want) > 0 {
			t.Errorf("these checks are missing: %v", want)
		}
	}
	requireChecks(map[string]string{"steal": "unknown", "guest": "fine", "overlap": "fine", "drift": "fine"})
	run.Manifest.Machine.Virtual = "KVM"
	for i, r := range run.Results {
		r.Noise = &machine.Noise{Window: time.Second, CPUs: 2, Pressure: 0.02, Speed: 1}
		if i == 3 {
			r.Noise.Steal, r.Overlap = 0.3, 0.5
		}
	}
	requireChecks(map[string]string{"steal": "bad", "pressure": "fine", "guest": "bad", "overlap": "bad", "governor": "unknown", "drift": "fine"})
}

// TestDisturbs: use of processors by others disturbs local locks only.
func TestDisturbs(t *testing.T) {
	run := synthetic.Run(1, 10, 2, []int{1, 8}, synthetic.Fast("a", 1e6), remoteModel("q", 900))
	for _, d := range judge.Decisions(run) {
		s := d.Situation
		for kind, want := range map[string]bool{"others": !s.Distributed(), "pressure": !s.Distributed() && s.Workers < 2, "steal": true} {
			require.Equal(t, fmt.Sprintf("%s, %s", s.Name(), kind), s.Disturbs(machine.Warning{Kind: kind}), want)
		}
	}
}
