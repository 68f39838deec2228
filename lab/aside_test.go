package lab

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"locklab/harness/result"
)

// TestMoveAside: --replace moves a run that nobody writes, and overwrites only a run.
func TestMoveAside(t *testing.T) {
	make := func(t *testing.T, dir, commit string) *result.Writer {
		t.Helper()
		w, err := result.Create(dir, result.Manifest{Commit: commit})
		if err != nil {
			t.Fatal(err)
		}
		return w
	}
	whole := func(t *testing.T, dir, commit string) {
		t.Helper()
		if err := make(t, dir, commit).Finish(func(*result.Manifest) {}); err != nil {
			t.Fatal(err)
		}
	}
	is := func(t *testing.T, dir, commit string) {
		t.Helper()
		if m, err := result.ReadManifest(dir); err != nil || m.Commit != commit {
			t.Errorf("%s is of commit %q (%v), want %q", dir, m.Commit, err, commit)
		}
	}
	t.Run("whole", func(t *testing.T) {
		dir := filepath.Join(t.TempDir(), "run")
		whole(t, dir, "1")
		whole(t, dir+".previous", "0")
		if err := moveAside(dir + "/"); err != nil {
			t.Fatal(err)
		}
		is(t, dir+".previous", "1")
		if result.Exists(dir) {
			t.Error("the run is still there")
		}
	})
	t.Run("being written", func(t *testing.T) {
		dir := filepath.Join(t.TempDir(), "run")
		w := make(t, dir, "1")
		if err := moveAside(dir); err == nil || !strings.Contains(err.Error(), "another locklab is writing") {
			t.Errorf("a run that is being written was moved: %v", err)
		}
		if err := w.Finish(func(*result.Manifest) {}); err != nil {
			t.Fatal(err)
		}
		is(t, dir, "1")
	})
	t.Run("in the place of something else", func(t *testing.T) {
		dir := filepath.Join(t.TempDir(), "run")
		whole(t, dir, "1")
		own := filepath.Join(dir+".previous", "thesis")
		if err := os.MkdirAll(own, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := moveAside(dir); err == nil || !strings.Contains(err.Error(), "holds no run") {
			t.Errorf("it said %v", err)
		}
		if _, err := os.Stat(own); err != nil {
			t.Errorf("what was there is gone: %v", err)
		}
		is(t, dir, "1")
	})
}
