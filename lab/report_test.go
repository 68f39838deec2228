package lab

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"locklab/harness"
	"locklab/internal/synthetic"
)

func machineRuns(t *testing.T) (one, two string) {
	t.Helper()
	dir := absolutePath(t, "../reports/testdata/machines")
	return filepath.Join(dir, "one-processor"), filepath.Join(dir, "two-processors")
}

func checkImages(t *testing.T, dir, name string) {
	t.Helper()
	text := readFile(t, filepath.Join(dir, name))
	named := make(map[string]bool)
	for _, m := range regexp.MustCompile(`\]\(<([^>]*)>\)`).FindAllStringSubmatch(text, -1) {
		named[m[1]] = true
	}
	if len(named) == 0 {
		t.Errorf("%s has no picture", name)
	}
	for picture := range named {
		requireContains(t, readFile(t, filepath.Join(dir, picture))[:4], "\x89PNG")
	}
	for file := range contents(t, dir) {
		if strings.HasSuffix(file, ".png") && !named[file] {
			t.Errorf("%s lies in the directory, and %s does not name it", file, name)
		}
	}
}

// drawApart is checkApart for a test whose commands only read runs and draw them.
func drawApart(t *testing.T) {
	t.Helper()
	if raceEnabled {
		t.Skip("nothing runs beside anything else while a report is drawn, RACELESS in the Makefile; it runs without -race")
	}
	t.Parallel()
}

func TestReportTargets(t *testing.T) {
	skipIfShort(t)
	drawApart(t)
	one, two := machineRuns(t)
	for _, c := range []struct {
		args     []string
		want     []string // files, with their directory
		not      string
		markdown string
	}{
		{[]string{one, "-o", "page.html"}, []string{"page.html"}, "page.md", ""},
		{[]string{one, "-o", "text.md"}, []string{"text.md", "text-charts/throughput.png"}, "text.html", "text.md"},
		{[]string{one, "-o", "both"}, []string{"both/index.html", "both/details.html", "both/report.md", "both/charts/requests-distributed.png"}, "", "both/report.md"},
		{[]string{one, two}, []string{"machines/index.html", "machines/report.md", "machines/charts/machines-throughput.png",
			"machines/charts/machines-throughput-distributed.png"}, "", "machines/report.md"},
		{[]string{one, two, "--out", "m.html"}, []string{"m.html"}, "m.md", ""},
	} {
		cmd := locklab(t, append([]string{"report"}, c.args...)...)
		stdout, _ := requireSuccess(t, cmd)
		got := contents(t, cmd.Dir)
		for _, name := range c.want {
			if got[name] == "" {
				t.Errorf("%v: no %s; there are %v", c.args, name, slices.Sorted(maps.Keys(got)))
			}
		}
		if got[c.not] != "" {
			t.Errorf("%v: wrote %s", c.args, c.not)
		}
		requireContains(t, stdout, filepath.Join(cmd.Dir, c.want[0]))
		if c.args[1] == two {
			requireContains(t, stdout, "GOMAXPROCS: 1 on one-processor; 2 on two-processors.")
		}
		if c.markdown != "" {
			checkImages(t, filepath.Join(cmd.Dir, filepath.Dir(c.markdown)), filepath.Base(c.markdown))
		}
	}
}

func TestReportRefuses(t *testing.T) {
	t.Parallel()
	one, two := machineRuns(t)
	dir := t.TempDir()
	link := filepath.Join(dir, "link")
	requireNoError(t, os.Symlink(one, link))
	file := filepath.Join(dir, "file")
	writeFile(t, file, "")
	requireRefusals(t, "report "+one, []refusal{
		{one, "given twice"},
		{two + " " + one + "/../one-processor", "given twice"},
		{link, "given twice"},
		{dir, "holds no run"},
		{file, "holds no run"},
		{two + " --png " + dir, "--png is for one run"},
		{two + " -o " + file, "cannot write"},
		{"-o " + file + "/x.html", "locklab: cannot write"},
		{"-o " + file + "/x.md", "locklab: cannot write"},
		{"--format json -o x.html", "--format json prints, and writes no file: leave out --out and --png"},
	})
}

func TestReportContenders(t *testing.T) {
	skipIfShort(t)
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "run")
	run := synthetic.Contenders(2, []int{1, 5, 10, 20, 50, 500}, synthetic.Queue("queue"))
	run.Manifest.Finished = run.Manifest.Started
	saveRun(t, dir, run)
	requireStatus(t, 0, []string{"report", dir, "--contenders", "10k,100k"}, "measured and left out", "computed", "Fitted time per handover")
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
