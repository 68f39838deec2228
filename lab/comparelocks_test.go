package lab

import (
	"path/filepath"
	"strings"
	"testing"

	"locklab/harness"
)

func TestCompareTo(t *testing.T) {
	t.Parallel()
	base := writeRun(t, filepath.Join(t.TempDir(), "base"), 1e6, 10, nil)
	broken := writeRun(t, filepath.Join(t.TempDir(), "broken"), 1e6, 10, func(r *harness.Result) {
		if r.Lock.Name == "mcs" && r.Round == 4 {
			r.Violations = []harness.Violation{{Rule: "liveness", Detail: "a worker waited for ever", Count: 1}}
		}
	})
	for _, c := range []struct{ args, said string }{
		{base + " --to tas", "mcs is 2.0"},
		{base + " --to mcs", "tas is 0.50x"},
		{broken + " --to tas", "! mcs violated liveness in 1 of 10 results"},
		{base + " --to mcs --format csv", ",0.5"},
		{base + " --to mcs --metric jain,throughput", "throughput as a ratio to mcs"},
	} {
		requireSuccess(t, locklab(t, append([]string{"compare"}, strings.Fields(c.args)...)...), c.said)
	}
	requireRefusals(t, "compare", []refusal{
		{base + " --to clh", "no result of clh"},
		{base + " --to mcs --locks tas --metric requests", "a figure of requests"},
		{base + " --to mcs --locks mcs", "nothing but mcs"},
		{base + " " + base + " --to mcs", "one run"},
		{"--interleave --to mcs a b", "not both"},
		{base + " --interleave --to mcs", "two binaries"},
	})
}
