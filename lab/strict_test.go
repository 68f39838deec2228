package lab

import (
	"bytes"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"locklab/internal/machine"
	"locklab/reports/page"
)

func TestJudge(t *testing.T) {
	ws := []machine.Warning{{Text: "turbo is on", Remedy: "switch it off", Kind: "turbo"}, {Text: "a guest", Remedy: "use bare metal", Kind: "guest"}, {Text: "another", Remedy: "that too", Kind: "guest"}}
	for _, c := range []struct {
		name  string
		s     strictness
		ws    []machine.Warning
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
			if err := c.s.refuseWarnings("locklab", c.ws, c.shown, &out); errors.Is(err, errUnfit) != c.unfit {
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
	requireStatus(t, 0, []string{"env", "--strict", "--accept=" + strings.Join(machine.WarningKinds(), ",")})
	stdout, stderr, status := executeArgs(t, "env", "--json", "--strict")
	if fit := len(machine.Capture().Warnings()) == 0; status != exitUnfit && (!fit || status != 0) || !strings.HasPrefix(stdout, "{") || !fit && !strings.Contains(stderr, "not fit") {
		t.Errorf("env: exit status %d, printed %.40q, wrote %q", status, stdout, stderr)
	}
}

func TestReportStrict(t *testing.T) {
	drawApart(t)
	one, two := machineRuns(t)
	requireStatus(t, exitUnfit, strings.Fields("report --strict --format json "+one), `"headline"`)
	for _, c := range []struct {
		args   string
		status int
		say    []string
	}{
		{one, 0, nil},
		{one + " --strict --accept=" + strings.Join(page.WarningKinds(), ","), 0, nil},
		{one + " --strict", exitUnfit, []string{"\n  remedy: ", "the report has warnings", "--accept "}},
		{one + " --strict --accept=guest", exitUnfit, []string{"the report has warnings", "--accept guest,"}},
		{one + " " + two + " --strict", exitUnfit, []string{"the report has warnings"}},
	} {
		page := filepath.Join(t.TempDir(), "page.html")
		stdout, stderr := requireStatus(t, c.status, strings.Fields("report --out "+page+" "+c.args))
		requireContains(t, stderr, c.say...)
		requireContains(t, stdout, "report: "+page)
		if readFile(t, page) == "" || c.say == nil && stderr != "" {
			t.Errorf("%s: no page, or wrote %q", c.args, stderr)
		}
	}
}
