package lab

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"locklab/harness"
	"locklab/internal/machine"
	"locklab/reports/page"
)

func TestJudge(t *testing.T) {
	ws := []harness.Warning{{Text: "turbo is on", Remedy: "switch it off", Kind: "turbo"}, {Text: "a guest", Remedy: "use bare metal", Kind: "guest"}, {Text: "another", Remedy: "that too", Kind: "guest"}}
	for _, c := range []struct {
		name  string
		s     strictness
		ws    []harness.Warning
		shown bool
		unfit bool
		say   []string
		quiet string
	}{
		{name: "not strict", ws: ws},
		{name: "clean", s: strictness{strict: true}},
		{name: "strict", s: strictness{strict: true}, ws: ws, unfit: true, say: []string{"turbo: turbo is on\n  remedy: switch it off", "guest: a guest", "--accept turbo,guest\n"}},
		{name: "one accepted", s: strictness{strict: true, accept: []string{"guest"}}, ws: ws, unfit: true, say: []string{"remedy: switch it off", "--accept guest,turbo\n"}, quiet: "a guest"},
		{name: "all accepted", s: strictness{strict: true, accept: []string{"guest", "turbo"}}, ws: ws},
		{name: "shown before", s: strictness{strict: true}, ws: ws, shown: true, unfit: true, say: []string{"not fit to measure"}, quiet: "remedy"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var out bytes.Buffer
			if err := c.s.judge("locklab", c.ws, c.shown, &out); errors.Is(err, errUnfit) != c.unfit {
				t.Errorf("got %v", err)
			}
			requireContains(t, out.String(), c.say...)
			if c.quiet != "" && strings.Contains(out.String(), c.quiet) || !c.unfit && out.Len() > 0 {
				t.Errorf("wrote %q", out.String())
			}
		})
	}
}

// TestStrict accepts all kinds of warnings, or none if this machine has one.
func TestStrict(t *testing.T) {
	t.Parallel()
	all := "--accept=" + strings.Join(machine.WarningKinds(), ",")
	requireSuccess(t, locklab(t, "env", "--strict", all))
	want, reason := 0, ""
	if len(machine.Capture().Warnings()) > 0 {
		want, reason = exitUnfit, "not fit"
	}
	stdout, stderr, status := output(t, locklab(t, "env", "--json", "--strict"))
	if calm := want == 0 && status == exitUnfit; !calm && status != want || !strings.HasPrefix(stdout, "{") || !strings.Contains(stderr, reason) {
		t.Errorf("env: exit status %d, printed %.40q, wrote %q", status, stdout, stderr)
	}
}

func TestReportStrict(t *testing.T) {
	t.Parallel()
	one, two := machineRuns(t)
	clean := t.TempDir()
	for name, text := range map[string]string{"results.jsonl": "", "manifest.json": `{"schema":1,"started":"2026-01-02T03:04:00Z","finished":"2026-01-02T03:04:05Z","machine":{}}`} {
		writeFile(t, filepath.Join(clean, name), text)
	}
	all := "--accept=" + strings.Join(page.WarningKinds(), ",")
	for _, c := range []struct {
		name string
		args []string
		say  []string // "" if it is accepted
	}{
		{"not strict", []string{one}, nil},
		{"clean", []string{clean, "--strict"}, nil},
		{"all accepted", []string{one, "--strict", all}, nil},
		{"one run", []string{one, "--strict"}, []string{"\n  remedy: ", "the report has warnings", "--accept "}},
		{"one kind accepted", []string{one, "--strict", "--accept=guest"}, []string{"the report has warnings", "--accept guest,"}},
		{"two runs", []string{one, two, "--strict"}, []string{"the report has warnings"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			cmd := locklab(t, append([]string{"report", "--out", "page.html"}, c.args...)...)
			stdout, stderr := requireOutcome(t, cmd, map[bool]int{true: 0, false: exitUnfit}[c.say == nil])
			if c.say == nil && stderr != "" {
				t.Errorf("wrote %q", stderr)
			}
			requireContains(t, stderr, c.say...)
			if _, err := os.Stat(filepath.Join(cmd.Dir, "page.html")); err != nil || !strings.Contains(stdout, "report: ") {
				t.Errorf("the report is not there (%v); printed %q", err, stdout)
			}
		})
	}
	_, stderr, _ := output(t, locklab(t, "report", one, "--strict", "--out", "page.html"))
	_, accept, _ := strings.Cut(stderr, "--accept ")
	requireSuccess(t, locklab(t, "report", one, "--strict", "--accept", strings.TrimSpace(accept), "--out", "page.html"))
}
