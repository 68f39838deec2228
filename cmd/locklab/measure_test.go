package main

import (
	"bytes"
	"strings"
	"testing"

	"locklab/harness"
	"locklab/harness/resultfile"
	"locklab/harness/runner"
	"locklab/mutex"
)

// TestEarlierViolation: a run that goes on still tells what was found before.
func TestEarlierViolation(t *testing.T) {
	w := harness.Workload{Workers: 1, Window: 1}
	lock := mutex.Suite[0]
	plan := &runner.Plan{Cases: []runner.Case{{Lock: lock, Workload: w}}, Rounds: 1,
		Done: func(runner.Case, int) bool { return true }}
	var said bytes.Buffer
	m := measuring{plan: plan, stderr: &said, rounds: 1, total: 1}
	err := m.run(t.Context(), &resultfile.Run{Results: []*harness.Result{{
		Lock: lock.Describe(), Workload: w, Violations: []harness.Violation{{Rule: "exclusion", Detail: "two inside"}},
	}}})
	if err != nil || len(m.violated) != 1 || !strings.Contains(m.violated[0], "two inside") || m.done != 1 {
		t.Errorf("%v, violated %q, %d done; said %q", err, m.violated, m.done, said.String())
	}
}
