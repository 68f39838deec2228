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
	"locklab/harness/oracle"
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
	err := m.run(t.Context(), &result.Run{Results: []*result.Result{{
		Lock: result.Describe(lock), Workload: w, Violations: []oracle.Violation{{Rule: "exclusion", Detail: "two inside"}},
	}}})
	if err != nil || len(m.violated) != 1 || !strings.Contains(m.violated[0], "two inside") || m.done != 1 {
		t.Errorf("%v, violated %q, %d done; said %q", err, m.violated, m.done, said.String())
	}
}

// TestFewerRounds: the file of a run has the rounds that were measured, if the budget allowed
// fewer after the last of them.
func TestFewerRounds(t *testing.T) {
	plan := &measure.Plan{Seed: 1, Rounds: 3, Budget: time.Nanosecond, Least: 1, Most: 3, Cases: []measure.Case{{Lock: mutexlab.Suite[0],
		Workload: harness.Workload{Workers: 1, Warmup: time.Millisecond, Window: 20 * time.Millisecond}}}}
	out, err := result.Create(filepath.Join(t.TempDir(), "run"), result.Manifest{Rounds: 3})
	requireNoError(t, err)
	m := measuring{program: program(), plan: plan, out: out, stderr: io.Discard, rounds: 3, total: 3}
	if err := errors.Join(m.run(t.Context(), nil), out.Finish(func(f *result.Manifest) {
		if f.Rounds != 1 || m.done != 1 {
			t.Errorf("%d rounds in the file and %d results, want 1 and 1", f.Rounds, m.done)
		}
	})); err != nil {
		t.Fatal(err)
	}
}
