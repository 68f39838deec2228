package lab

import (
	"bytes"
	"errors"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"locklab/harness"
	"locklab/harness/measure"
	"locklab/harness/result"
	mutexlab "locklab/mutex/lab"
)

func TestEarlierViolation(t *testing.T) {
	w := harness.Workload{Workers: 1, Window: 1}
	lock := mutexlab.Suite[0]
	plan := &measure.Plan{Cases: []measure.Case{{Lock: lock, Workload: w}}, Rounds: 1,
		Done: func(measure.Case, int) bool { return true }}
	var said bytes.Buffer
	m := measuring{program: program(), plan: plan, stderr: &said, rounds: 1, total: 1}
	err := m.run(t.Context(), &result.Run{Results: []*harness.Result{{
		Lock: lock.Describe(), Workload: w, Violations: []harness.Violation{{Rule: "exclusion", Detail: "two inside"}},
	}}})
	if err != nil || len(m.violated) != 1 || !strings.Contains(m.violated[0], "two inside") || m.done != 1 {
		t.Errorf("%v, violated %q, %d done; said %q", err, m.violated, m.done, said.String())
	}
}

// TestOverrun: a budget overrun is reported in advance, unless rounds may be reduced.
func TestOverrun(t *testing.T) {
	const budget = 30 * time.Second
	fixed, free := new(measure.Plan), &measure.Plan{Budget: budget, Least: 6, Most: 50}
	for _, c := range []struct {
		name         string
		plan         *measure.Plan
		budget       time.Duration
		rounds       int
		passed, left time.Duration
		want         string // "" is no message
	}{
		{"on its way", fixed, budget, 10, 5 * time.Second, 23 * time.Second, ""},
		{"a little late", fixed, budget, 10, 10 * time.Second, 20 * time.Second, ""},
		{"rising load", fixed, budget, 10, 12 * time.Second, 27 * time.Second, "10 rounds take about 41s, not 30s; for fewer, leave out --rounds"},
		{"late at the very end", fixed, budget, 10, 40 * time.Second, 0, "42s"},
		{"no budget", fixed, 0, 10, time.Hour, time.Hour, ""},
		{"fewer rounds are left", free, budget, 7, 12 * time.Second, 27 * time.Second, ""},
		{"no fewer rounds are left", free, budget, 6, 12 * time.Second, 27 * time.Second, "6 rounds take about 41s, not 30s; it takes so many"},
	} {
		m := measuring{program: program(), plan: c.plan, budget: c.budget}
		got := m.overrun(measure.Progress{Rounds: c.rounds, Left: c.left}, c.passed)
		if (got == "") != (c.want == "") || !strings.Contains(got, c.want) || strings.Contains(got, "\n") {
			t.Errorf("%s: said %q, want %q", c.name, got, c.want)
		}
	}
}

// TestFewerRounds: the file of a run has the rounds that were measured, if the budget allowed
// fewer after the last of them.
func TestFewerRounds(t *testing.T) {
	plan := &measure.Plan{Seed: 1, Rounds: 3, Budget: time.Nanosecond, Least: 1, Most: 3, Cases: []measure.Case{{Lock: mutexlab.Suite[0],
		Workload: harness.Workload{Workers: 1, Warmup: time.Millisecond, Window: 20 * time.Millisecond}}}}
	out, err := result.Create(filepath.Join(t.TempDir(), "run"), result.Manifest{Rounds: 3})
	if err != nil {
		t.Fatal(err)
	}
	m := measuring{program: program(), plan: plan, out: out, stderr: io.Discard, begin: time.Now(), rounds: 3, total: 3}
	if err := errors.Join(m.run(t.Context(), nil), out.Finish(func(f *result.Manifest) {
		if f.Rounds != 1 || m.done != 1 {
			t.Errorf("%d rounds in the file and %d results, want 1 and 1", f.Rounds, m.done)
		}
	})); err != nil {
		t.Fatal(err)
	}
}

// TestOverBudget: an overrun is reported once, before the end, and keeps the rounds.
func TestOverBudget(t *testing.T) {
	plan := &measure.Plan{Seed: 1, Rounds: 3, Cases: []measure.Case{{Lock: mutexlab.Suite[0],
		Workload: harness.Workload{Workers: 1, Warmup: time.Millisecond, Window: 150 * time.Millisecond}}}}
	out, err := result.Create(filepath.Join(t.TempDir(), "run"), result.Manifest{})
	if err != nil {
		t.Fatal(err)
	}
	var said bytes.Buffer
	m := measuring{program: program(), plan: plan, out: out, stderr: &said, budget: time.Second, begin: time.Now(), rounds: 3, total: 3}
	if err := errors.Join(m.run(t.Context(), nil), out.Finish(func(*result.Manifest) {})); err != nil {
		t.Fatal(err)
	}
	text := said.String()
	at := strings.Index(text, "over the budget: ")
	if strings.Count(text, "over the budget: ") != 1 || at > strings.Index(text, "[3/3]") || m.done != 3 {
		t.Errorf("%d results; said\n%s", m.done, text)
	}
}
