package machine

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"locklab/internal/require"
)

// A fixture holds the files of /proc and /sys of one machine in one file: a comment, "arch:"
// and "cpus:", then each file after "-- path --", as in golang.org/x/tools/txtar.
type fixture struct {
	name, arch string
	cpus       []int
	fsys       fstest.MapFS
}

func fixtures(t testing.TB) []fixture {
	t.Helper()
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no fixtures: %v", err)
	}
	var fs []fixture
	for _, file := range files {
		fs = append(fs, readFixture(t, file))
	}
	return fs
}

func readFixture(t testing.TB, file string) fixture {
	t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	f := fixture{name: strings.TrimSuffix(filepath.Base(file), ".txtar"), fsys: fstest.MapFS{}}
	var current *fstest.MapFile
	for line := range strings.Lines(string(text)) {
		path, isPath := strings.CutPrefix(line, "-- ")
		switch {
		case isPath:
			current = new(fstest.MapFile)
			f.fsys[strings.TrimSuffix(path, " --\n")] = current
		case current != nil:
			current.Data = append(current.Data, line...)
		case strings.HasPrefix(line, "arch:"):
			f.arch = strings.TrimSpace(line[len("arch:"):])
		case strings.HasPrefix(line, "cpus:"):
			f.cpus = parseCPUList(line[len("cpus:"):])
		}
	}
	if f.arch == "" || len(f.cpus) == 0 {
		t.Fatalf("%s names no arch or no cpus", file)
	}
	return f
}

// read returns the fixture's environment, with fixed values for fields without files.
func (f fixture) read() Environment {
	e := Environment{OS: "linux", Arch: f.arch}
	readEnvironment(&e, f.fsys, f.cpus)
	e.Clock, e.ClockHz, e.ClockFloor, e.ClockStep = "RDTSC", 2e9, 11, 0.5
	if f.arch == "arm64" {
		e.Clock, e.ClockHz, e.ClockFloor, e.ClockStep = "CNTVCT_EL0", 121.875e6, 20, 8.2
	}
	e.GOMAXPROCS, e.Go = len(f.cpus), "go1.26.8"
	return e
}
