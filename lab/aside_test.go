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
	for _, c := range []struct {
		name     string
		previous string // what is in the place of the earlier run
		writing  bool
		want     string // the error; "" moves the run
	}{
		{"complete", "run", false, ""},
		{"being written", "run", true, "another locklab is writing"},
		{"in the place of something else", "thesis", false, "holds no run"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "run")
			run, err := result.Create(dir, result.Manifest{Commit: "1"})
			requireNoError(t, err)
			finish := func() { requireNoError(t, run.Finish(func(*result.Manifest) {})) }
			if !c.writing {
				finish()
			}
			if c.previous == "run" {
				earlier, err := result.Create(dir+".previous", result.Manifest{Commit: "0"})
				requireNoError(t, err)
				requireNoError(t, earlier.Finish(func(*result.Manifest) {}))
			} else {
				requireNoError(t, os.Mkdir(dir+".previous", 0o755))
				writeFile(t, filepath.Join(dir+".previous", c.previous), "")
			}
			before := contents(t, dir+".previous")
			err = moveAside(dir + "/")
			if c.writing {
				finish()
			}
			if c.want == "" {
				requireNoError(t, err)
				if m, err := result.ReadManifest(dir + ".previous"); err != nil || m.Commit != "1" || result.Exists(dir) {
					t.Errorf("the earlier run is of commit %q (%v)", m.Commit, err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), c.want) || !result.Exists(dir) || !maps.Equal(before, contents(t, dir+".previous")) {
				t.Errorf("got %v, want %q and both directories unchanged", err, c.want)
			}
		})
	}
}
