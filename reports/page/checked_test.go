package page

import (
	"slices"
	"strings"
	"testing"

	"locklab/harness"
	"locklab/harness/result"
	"locklab/internal/synthetic"
)

func TestAudit(t *testing.T) {
	measured := func(name string, status harness.Status, workers int, vs ...harness.Violation) *harness.Result {
		return &harness.Result{Lock: synthetic.Local(name, harness.Spin, status), Workload: harness.Workload{Workers: workers}, Ops: 1000, Violations: vs}
	}
	run := &result.Run{Results: []*harness.Result{
		measured("plain", harness.Correct, 1), measured("plain", harness.Correct, 4), measured("alone", harness.Correct, 1),
		measured("empty", harness.Control, 1), measured("bad", harness.Correct, 2, harness.Violation{Rule: "fencing", Count: 1}),
	}}
	var got []string
	for _, c := range audit(run) {
		got = append(got, strings.Join(c.Row(), " | "))
	}
	if want := []string{"alone | 1 | 0 | 1 k | kept", "bad | 1 | 1 | 1 k | broken in 1", "plain | 2 | 1 | 2 k | kept"}; !slices.Equal(plainAll(got), want) {
		t.Errorf("got %q, want %q", got, want)
	}
	text, _ := markdownOf(t, run)
	for name, out := range map[string]string{"page": pageOf(t, run), "Markdown": text} {
		if !strings.Contains(out, "4 windows of 3 locks") || !strings.Contains(out, "tokens that rise from holder to holder") {
			t.Errorf("the %s does not contain what was checked", name)
		}
	}
}
