package lab

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"locklab/harness"
	"locklab/harness/result"
	"locklab/internal/synthetic"
)

func TestReportContenders(t *testing.T) {
	if testing.Short() {
		t.Skip("make test-all runs it")
	}
	t.Parallel()
	cmd := locklab(t, "report", "run", "--contenders", "10k,100k", "--rtt", "50ms", "--out", "again")
	run := synthetic.Contenders(2, []int{1, 5, 10, 20, 50, 500}, synthetic.Queue("queue"))
	out, err := result.Create(filepath.Join(cmd.Dir, "run"), run.Manifest)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range run.Results {
		if err := out.Append(r); err != nil {
			t.Fatal(err)
		}
	}
	if err := out.Finish(func(m *result.Manifest) { m.Finished = m.Started }); err != nil {
		t.Fatal(err)
	}
	stdout, stderr, status := output(t, cmd)
	if status != 0 {
		t.Fatalf("exit status %d, said %s", status, stderr)
	}
	texts := map[string]string{"the terminal": stdout}
	for _, name := range []string{detailsName, markdownName} {
		text, err := os.ReadFile(filepath.Join(cmd.Dir, "again", name))
		if err != nil {
			t.Fatal(err)
		}
		texts[name] = string(text)
	}
	for name, text := range texts {
		for _, want := range []string{"measured and left out", "computed, at 50ms", "Fitted time per handover"} {
			if !strings.Contains(text, want) {
				t.Errorf("%s lacks %q", name, want)
			}
		}
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
