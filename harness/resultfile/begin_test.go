//go:build unix

package resultfile

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"locklab/harness"
)

// TestBegin: what a process leaves that is killed as it begins a run is no run, and one
// begins there; what has a result, a manifest, another file or another writer is not touched.
func TestBegin(t *testing.T) {
	for _, c := range []struct {
		name    string
		files   map[string]string
		exists  bool
		unbegun bool
	}{
		{"nothing", nil, false, true},
		{"results", map[string]string{ResultsName: ""}, false, true},
		{"half a manifest", map[string]string{ResultsName: "", ManifestName + ".new": "{"}, false, true},
		{"a manifest", map[string]string{ResultsName: "", ManifestName: "{}"}, true, false},
		{"a result", map[string]string{ResultsName: "{}\n"}, true, false},
		{"another file", map[string]string{ResultsName: "", "notes": ""}, false, false},
	} {
		dir := t.TempDir()
		for name, text := range c.files {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if exists, unbegun := Exists(dir), Unbegun(dir); exists != c.exists || unbegun != c.unbegun {
			t.Errorf("%s: Exists is %v, Unbegun %v", c.name, exists, unbegun)
		}
		w, err := Create(dir, Manifest{Seed: 7})
		if c.exists {
			if !errors.Is(err, harness.ErrUsage) || !strings.Contains(err.Error(), "already holds a run") {
				t.Errorf("%s: Create: %v", c.name, err)
			}
			continue
		}
		if err == nil {
			err = errors.Join(w.Append(sample()), w.Finish(func(*Manifest) {}))
		}
		run, lerr := Load(dir)
		if err != nil || lerr != nil || run.Manifest.Seed != 7 || len(run.Results) != 1 || !Exists(dir) || Unbegun(dir) {
			t.Errorf("%s: a run that begins there: %v, %v", c.name, err, lerr)
		}
	}
	if missing := filepath.Join(t.TempDir(), "none"); !Unbegun(missing) || Exists(missing) {
		t.Error("a directory that is not there has something")
	}
}

// TestBegins: a run that another process begins at the moment is that one's.
func TestBegins(t *testing.T) {
	dir := t.TempDir()
	other, err := os.Create(filepath.Join(dir, ResultsName))
	if err == nil {
		err = errors.Join(Free(dir), lockFile(other))
	}
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	const want = "another locklab is writing it"
	if err := Free(dir); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("Free: %v", err)
	}
	if _, err := Create(dir, Manifest{}); !errors.Is(err, harness.ErrUsage) || !strings.Contains(err.Error(), want) {
		t.Errorf("Create: %v", err)
	}
	if _, err := os.Stat(filepath.Join(dir, ManifestName)); err == nil {
		t.Error("it has written a manifest")
	}
}
