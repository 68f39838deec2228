package lab

import (
	"errors"
	"path/filepath"
	"testing"

	"locklab/harness"
	"locklab/internal/synthetic"
)

func TestReportContenders(t *testing.T) {
	skipIfShort(t)
	t.Parallel()
	cmd := locklab(t, "report", "run", "--contenders", "10k,100k", "--rtt", "50ms", "--out", "again")
	run := synthetic.Contenders(2, []int{1, 5, 10, 20, 50, 500}, synthetic.Queue("queue"))
	run.Manifest.Finished = run.Manifest.Started
	saveRun(t, filepath.Join(cmd.Dir, "run"), run)
	stdout, _ := requireSuccess(t, cmd)
	again := filepath.Join(cmd.Dir, "again")
	for _, text := range []string{stdout, readFile(t, filepath.Join(again, detailsName)), readFile(t, filepath.Join(again, markdownName))} {
		requireContains(t, text, "measured and left out", "computed, at 50ms", "Fitted time per handover")
	}
}

func TestParseContenders(t *testing.T) {
	for text, want := range map[string]int{
		"2": 2, "5000": 5000, "10k": 10_000, "100k": 100_000, "10M": 10_000_000, "10000000": 10_000_000,
		"1": 0, "0": 0, "-3k": 0, "11M": 0, "10001k": 0, "k": 0, "": 0, "1.5k": 0, "10K": 0, "10kk": 0, "9223372036854775807M": 0,
	} {
		got, err := parseContenders(text)
		if got != want || (err != nil) != (want == 0) || err != nil && !errors.Is(err, harness.ErrUsage) {
			t.Errorf("%q is %d, %v, want %d", text, got, err, want)
		}
	}
}
