//go:build unix

package result

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"locklab/harness"
)

// TestBegin: files left by a process killed in Create are no run; anything else is not
// touched.
func TestBegin(t *testing.T) {
	for _, c := range []struct {
		name   string
		files  map[string]string
		exists bool
	}{
		{"nothing", nil, false},
		{"results", map[string]string{ResultsName: ""}, false},
		{"half a manifest", map[string]string{ResultsName: "", ManifestName + ".new": "{"}, false},
		{"a manifest", map[string]string{ResultsName: "", ManifestName: `{"schema":1,"machine":{},"started":"2026-01-02T03:04:05Z"}`}, true},
		{"a result", map[string]string{ResultsName: `{"schema":1,"kind":"case"}` + "\n"}, true},
		{"another file", map[string]string{ResultsName: "", "notes": ""}, false},
	} {
		dir := t.TempDir()
		writeFiles(t, dir, c.files)
		if exists := Exists(dir); exists != c.exists {
			t.Errorf("%s: Exists is %v", c.name, exists)
		}
		w, err := Create(dir, Manifest{Seed: 7})
		if c.exists {
			if !errors.Is(err, harness.ErrUsage) || !strings.Contains(err.Error(), "already holds a run") {
				t.Errorf("%s: Create: %v", c.name, err)
			}
			continue
		}
		if err == nil {
			err = errors.Join(w.Append(Record{Result: sample()}), w.Finish(func(*Manifest) {}))
		}
		run, lerr := Load(dir)
		if err != nil || lerr != nil || run.Manifest.Seed != 7 || len(run.Results) != 1 || !Exists(dir) {
			t.Errorf("%s: a run that begins there: %v, %v", c.name, err, lerr)
		}
	}
	if missing := filepath.Join(t.TempDir(), "none"); Exists(missing) {
		t.Error("a directory that is not there has a run")
	}
}

func TestForeign(t *testing.T) {
	const own = `{"schema":1,"machine":{},"started":"2026-01-02T03:04:05Z"}`
	for name, files := range map[string]map[string]string{
		"manifest":            {ManifestName: `{"results":[{"command":"./bench"}]}`, ResultsName: ""},
		"list":                {ManifestName: `[1]`, ResultsName: ""},
		"number of a schema":  {ManifestName: `{"schema":1,"name":"image"}`, ResultsName: ""},
		"schema of its own":   {ManifestName: `{"schema":"https://example.org","machine":{}}`, ResultsName: ""},
		"results":             {ManifestName: own, ResultsName: `{"mean":1.02}` + "\n"},
		"results alone":       {ResultsName: "BenchmarkMutex-8 100 11.2 ns/op\n"},
		"results of a line":   {ManifestName: own, ResultsName: `{"mean":{"point_estimate":10.4}}`},
		"both":                {ManifestName: `{"mean":1}`, ResultsName: `{"mean":1}` + "\n"},
		"manifest of a newer": {ManifestName: `{"schema":1,"machine":"x","started":""}`, ResultsName: ""},
	} {
		dir := t.TempDir()
		writeFiles(t, dir, files)
		_, lerr := Load(dir)
		_, _, rerr := Resume(dir, Manifest{})
		_, cerr := Create(dir, Manifest{})
		for verb, err := range map[string]error{"load": lerr, "resume": rerr, "create": cerr} {
			if !errors.Is(err, harness.ErrUsage) || strings.Contains(err.Error(), "\n") {
				t.Errorf("%s: %s: %v", name, verb, err)
			}
		}
		if err := Foreign(dir); !errors.Is(err, ErrForeign) {
			t.Errorf("%s: %v", name, err)
		}
		if left := readFiles(t, dir); !maps.Equal(left, files) {
			t.Errorf("%s: the files are now %q", name, left)
		}
	}
	if err := Foreign(t.TempDir()); err != nil {
		t.Error(err)
	}
}

func writeFiles(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		requireNoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
}
