package lab

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

func machineRuns(t *testing.T) (one, two string) {
	t.Helper()
	dir := absolutePath(t, "../reports/testdata/machines")
	return filepath.Join(dir, "one-processor"), filepath.Join(dir, "two-processors")
}

func files(t *testing.T, dir string) map[string]bool {
	t.Helper()
	out := make(map[string]bool)
	for name := range contents(t, dir) {
		out[name] = true
	}
	return out
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
	for file := range files(t, dir) {
		if strings.HasSuffix(file, ".png") && !named[file] {
			t.Errorf("%s lies in the directory, and %s does not name it", file, name)
		}
	}
}

func TestReportTargets(t *testing.T) {
	skipIfShort(t)
	if raceEnabled {
		t.Skip("nothing runs beside anything else while a report is drawn, RACELESS in the Makefile; it runs without -race")
	}
	t.Parallel()
	one, two := machineRuns(t)
	for _, c := range []struct {
		args     []string
		want     []string // files, with their directory
		not      string
		markdown string
	}{
		{[]string{one, "-o", "page.html"}, []string{"page.html"}, "page.md", ""},
		{[]string{one, "-o", "text.md"}, []string{"text.md", "text-charts/throughput.png"}, "text.html", "text.md"},
		{[]string{one, "-o", "both"}, []string{"both/index.html", "both/details.html", "both/report.md", "both/charts/wait-distributed.png"}, "", "both/report.md"},
		{[]string{one, two}, []string{"machines/index.html", "machines/report.md", "machines/charts/machines-throughput.png",
			"machines/charts/machines-throughput-distributed.png"}, "", "machines/report.md"},
		{[]string{one, two, "--out", "m.html"}, []string{"m.html"}, "m.md", ""},
	} {
		cmd := locklab(t, append([]string{"report"}, c.args...)...)
		stdout, _ := requireSuccess(t, cmd)
		got := files(t, cmd.Dir)
		for _, name := range c.want {
			if !got[name] {
				t.Errorf("%v: no %s; there are %v", c.args, name, got)
			}
		}
		if got[c.not] {
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

// TestReportAgain: a report removes its earlier pictures, and no other files.
func TestReportAgain(t *testing.T) {
	if raceEnabled {
		t.Skip("the pictures are drawn under the race detector by the tests of reports")
	}
	t.Parallel()
	one, _ := machineRuns(t)
	dir := t.TempDir()
	draw := func(run string) {
		t.Helper()
		requireSuccess(t, locklab(t, "report", run, "-o", dir))
	}
	draw(one)
	before := files(t, dir)
	mine := []string{"charts/mine.png", "charts/throughput.txt", "mine.png"}
	for _, name := range mine {
		writeFile(t, filepath.Join(dir, name), "mine")
	}
	// The earlier report also shows a missing picture, and files that it does not own.
	report := filepath.Join(dir, markdownName)
	writeFile(t, report, readFile(t, report)+"\n![gone](<charts/gone.png>)\n![above](<mine.png>)\n![above](<charts/../mine.png>)\nsee ![](<charts/mine.png>)\n![text](<charts/throughput.txt>)\n")
	empty := t.TempDir()
	for name, text := range map[string]string{"results.jsonl": "", "manifest.json": `{"schema":1,"started":"2026-01-02T03:04:05Z","machine":{}}`} {
		writeFile(t, filepath.Join(empty, name), text)
	}
	draw(empty)
	after := files(t, dir)
	for _, name := range mine {
		if !after[name] {
			t.Errorf("%s was not the report's, and is gone", name)
		}
		delete(after, name)
	}
	if !before["charts/throughput.png"] || len(after) != 3 {
		t.Errorf("of %d files the report left %v, want its three pages", len(before), after)
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
		{"-o " + file + "/x.html", "cannot write"},
	})
}
