package lab

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"locklab/harness/result"
)

// TestMoveAside: --replace moves a run that nobody writes, and overwrites only a run.
func TestMoveAside(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	previous := dir + ".previous"
	writeRun(t, dir, 1, 2, nil)
	writeRun(t, previous, 1, 1, nil)
	moved := contents(t, dir)
	requireNoError(t, moveAside(dir+"/"))
	if !maps.Equal(moved, contents(t, previous)) || result.Exists(dir) {
		t.Error("the run is not in the place of the previous one")
	}
	requireRefused := func(want string) {
		t.Helper()
		before := contents(t, previous)
		if err := moveAside(dir); err == nil || !strings.Contains(err.Error(), want) || !result.Exists(dir) || !maps.Equal(before, contents(t, previous)) {
			t.Errorf("got %v, want %q and both directories unchanged", err, want)
		}
	}
	run, err := result.Create(dir, result.Manifest{})
	requireNoError(t, err)
	requireRefused("another locklab is writing")
	requireNoError(t, run.Finish(func(*result.Manifest) {}))
	requireNoError(t, os.RemoveAll(previous))
	requireNoError(t, os.Mkdir(previous, 0o755))
	writeFile(t, filepath.Join(previous, "thesis"), "")
	requireRefused("holds no run")
	writeFile(t, filepath.Join(previous, result.ResultsName), "a plan\n")
	requireRefused("holds no run")
	writeFile(t, filepath.Join(dir, result.ManifestName), "{}")
	requireRefused("another program wrote")
}
