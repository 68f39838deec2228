package lab

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"locklab/harness/result"
)

// TestResumeDamaged: an unreadable line is reported, and its case is measured again.
func TestResumeDamaged(t *testing.T) {
	t.Parallel()
	cmd := locklab(t, least()...)
	if _, stderr, status := output(t, cmd); status != 0 {
		t.Fatalf("exit status %d, said %s", status, stderr)
	}
	name := filepath.Join(cmd.Dir, "run", result.ResultsName)
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, bytes.Replace(text, []byte(`"schema":1`), []byte(`"schema":99`), 1), 0o644); err != nil {
		t.Fatal(err)
	}
	again := locklab(t, "run", "--resume", "--out", "run")
	again.Dir = cmd.Dir
	_, stderr, status := output(t, again)
	if status != 0 || !strings.Contains(stderr, "1 of 2 were measured before\n1 line of results.jsonl cannot be read, so what is missing is measured again; the first: line 1 was skipped: ") {
		t.Errorf("exit status %d, said %s", status, stderr)
	}
	if run, err := result.Load(filepath.Join(cmd.Dir, "run")); err != nil || len(run.Results) != 2 {
		t.Errorf("%d results, want 2 (%v)", len(run.Results), err)
	}
}

// TestDoubt: too few rounds are reported before the measurement.
func TestDoubt(t *testing.T) {
	for _, c := range []struct{ locks, want string }{
		{"tas", "no interval of 95 % can come of this: it takes 6 rounds, and this has 1; leave out --rounds"},
		{"tas,mcs", "no verdict can come of this: it takes 6 rounds to compare 2 locks, and this has 1; "},
	} {
		o := optionsOf(t, "--workers=1 --rounds=1 "+"--locks="+c.locks)
		p, err := o.plan()
		if err != nil {
			t.Fatal(err)
		}
		if got := doubt(p); !strings.HasPrefix(got, c.want) {
			t.Errorf("%s: said %q, want %q", c.locks, got, c.want)
		}
	}
}
