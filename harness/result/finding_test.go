//go:build unix

package result

import (
	"errors"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"locklab/harness"
	"locklab/internal/machine"
)

func finding() *Finding {
	return &Finding{
		Name: "core-to-core", Question: "How far?", Method: "Two threads.", Source: "a book",
		Started: time.Date(2026, 11, 21, 1, 2, 3, 4, time.UTC), Elapsed: time.Second, Interrupted: true,
		Answer: "Far \"enough\".", Listing: "LOCK\nCMPXCHG <AX>", Notes: []string{"on paper"},
		Warnings: []machine.Warning{{Text: "noise", Remedy: "quiet"}},
		Tables: []Table{{Caption: "one way", Label: "CPU", Chart: Heat, Log: true,
			Columns: []Column{{Name: "0", Unit: "ns", Plot: true}},
			Rows:    []Row{{Label: "0", X: 8, Cells: []Cell{{Median: 2, Lo: 1, Hi: 3, N: 5}, {Text: "never"}, {}}}}}},
	}
}

// TestResume: a run cut in the middle of a line keeps all whole lines, and later ones.
func TestResume(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	m := Manifest{Commit: "abc", Machine: machine.Environment{OS: "linux", Arch: "amd64", CPU: "Test 9000", CPUs: 8, Kernel: "6"}}
	w := createRun(t, dir, m)
	for _, key := range []string{"0-1", "0-2"} {
		requireNoError(t, w.Append(Record{Sample: &Sample{Experiment: "e", Key: key}}))
	}
	requireNoError(t, w.Finish(func(m *Manifest) { m.Interrupted = true }))
	cutShort(t, filepath.Join(dir, ResultsName), 5)
	w, run, err := Resume(dir, m)
	requireNoError(t, err)
	if len(run.Samples) != 1 || run.Samples[0].Key != "0-1" {
		t.Errorf("went on with %+v, want the one sample that is whole", run.Samples)
	}
	f := finding()
	for range 2 { // the second replaces the first
		requireNoError(t, errors.Join(w.Append(Record{Sample: &Sample{Experiment: "e", Key: "0-2"}}), w.Append(Record{Finding: f})))
	}
	requireNoError(t, w.Finish(func(m *Manifest) { m.Finished = time.Unix(9, 0).UTC() }))
	run, err = Load(dir)
	if err != nil || len(run.Samples) != 3 || len(run.Findings) != 1 || run.Manifest.Interrupted {
		t.Errorf("%d samples, %d findings, interrupted %v (%v)", len(run.Samples), len(run.Findings), run.Manifest.Interrupted, err)
	}
	if len(run.Damage) != 0 {
		t.Errorf("damage %q, want none: the line that was cut has gone", run.Damage)
	}
}

func cutShort(t *testing.T, name string, by int64) {
	t.Helper()
	info, err := os.Stat(name)
	if err == nil {
		err = os.Truncate(name, info.Size()-by)
	}
	requireNoError(t, err)
}

func TestRunsRefused(t *testing.T) {
	m := Manifest{Commit: "abc", Binary: "f00d", Versions: map[string]string{"redis": "7"},
		Machine: machine.Environment{Arch: "amd64", CPU: "Test 9000", CPUs: 8, Kernel: "6"}}
	create := func(dir string, m Manifest) error { _, err := Create(dir, m); return err }
	load := func(dir string, _ Manifest) error { _, err := Load(dir); return err }
	resume := func(dir string, m Manifest) error { _, _, err := Resume(dir, m); return err }
	whole, merged, file := t.TempDir(), t.TempDir(), filepath.Join(t.TempDir(), "file")
	finishRun(t, createRun(t, whole, m))
	finishRun(t, createRun(t, merged, Manifest{Ranks: 2, Parts: []Part{{Rank: 0}, {Rank: 1}}}))
	writeFiles(t, filepath.Dir(file), map[string]string{"file": ""})
	manifest := func(text string) string {
		dir := t.TempDir()
		writeFiles(t, dir, map[string]string{ManifestName: text})
		return dir
	}
	inUse := t.TempDir()
	other, err := os.Create(filepath.Join(inUse, ResultsName))
	requireNoError(t, errors.Join(err, lockFile(other)))
	defer other.Close()
	for _, c := range []struct {
		how  func(dir string, m Manifest) error
		dir  string
		edit func(*Manifest)
		want string
	}{
		{load, t.TempDir(), nil, "holds no run"},
		{load, manifest("{"), nil, "is damaged"},
		{load, manifest(`{"schema":99,"machine":{},"started":"2026-01-02T03:04:05Z"}`), nil, "has schema 99"},
		{load, manifest(`{"schema":1}`), nil, "another program wrote"},
		{create, filepath.Join(file, "run"), nil, "cannot write results"},
		{create, whole, nil, "already holds a run"},
		{create, inUse, nil, "another locklab is writing it"},
		{resume, t.TempDir(), nil, "holds no run"},
		{resume, merged, nil, "it was merged from parts"},
		{resume, whole, func(m *Manifest) { m.Machine.CPU = "Test 8" }, "Test 8"},
		{resume, whole, func(m *Manifest) { m.Machine.CPUs = 2 }, "CPUs 8, this is 2"},
		{resume, whole, func(m *Manifest) { m.Machine.GOMAXPROCS = 3 }, "GOMAXPROCS 0, this is 3"},
		{resume, whole, func(m *Manifest) { m.Machine.CPULimit = 0.5 }, "CPU limit none, this is 0.5"},
		{resume, whole, func(m *Manifest) { m.Machine.Virtual = "KVM" }, "hypervisor unknown, this is KVM"},
		{resume, whole, func(m *Manifest) { m.Binary = "0b5e55ed" }, "another build"},
		{resume, whole, func(m *Manifest) { m.Versions = map[string]string{"redis": "8"} }, "redis 7, this is 8"},
		{resume, whole, func(m *Manifest) { m.Machine.Kernel = "7" }, "kernel 6"},
		{resume, whole, func(m *Manifest) { m.Commit = "def" }, "commit abc"},
	} {
		asked := m
		if c.edit != nil {
			c.edit(&asked)
		}
		if err := c.how(c.dir, asked); !errors.Is(err, harness.ErrUsage) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want a usage error with %q", err, c.want)
		}
	}
	if _, err := os.Stat(filepath.Join(inUse, ManifestName)); err == nil {
		t.Error("a run that another process writes has a new manifest")
	}
}

func TestMend(t *testing.T) {
	line := encodeRecord(t, Record{Sample: &Sample{Experiment: "e", Key: "k"}})
	long := encodeRecord(t, Record{Sample: &Sample{Experiment: "e", Key: strings.Repeat("k", 200_000)}})
	dir := filepath.Join(t.TempDir(), "run")
	for _, c := range []struct {
		end  string
		want int // samples
	}{
		{"", 2}, {string(line[:1]), 2}, {string(line[:len(line)/2]), 2}, {string(line[:len(line)-2]), 2},
		{string(line[:len(line)-1]), 3}, {" ", 2}, {string(long[:len(long)-2]), 2}, {string(long[:len(long)-1]), 3},
	} {
		requireNoError(t, os.RemoveAll(dir))
		w, err := Create(dir, Manifest{})
		if err == nil {
			err = w.Finish(func(*Manifest) {})
		}
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, ResultsName), []byte(string(line)+string(line)+c.end), 0o644)
		}
		requireNoError(t, err)
		w, run, err := Resume(dir, Manifest{})
		requireNoError(t, err)
		requireNoError(t, errors.Join(w.Append(Record{Sample: &Sample{Experiment: "e", Key: "later"}}), w.Finish(func(*Manifest) {})))
		later, err := Load(dir)
		if err != nil || len(run.Samples) != c.want || len(later.Samples) != c.want+1 || len(run.Damage)+len(later.Damage) != 0 {
			t.Errorf("after %.30q: %d samples, then %d, want %d and one more; damage %q, then %q (%v)",
				c.end, len(run.Samples), len(later.Samples), c.want, run.Damage, later.Damage, err)
		}
	}
}

func TestWholePieces(t *testing.T) {
	f, err := os.Create(filepath.Join(t.TempDir(), "f"))
	requireNoError(t, err)
	defer f.Close()
	full := &tail{File: f}
	if _, err := full.Write([]byte("one\n")); err != nil {
		t.Fatal(err)
	}
	var old syscall.Rlimit
	requireNoError(t, syscall.Getrlimit(syscall.RLIMIT_FSIZE, &old))
	signal.Ignore(syscall.SIGXFSZ)
	defer signal.Reset(syscall.SIGXFSZ)
	requireNoError(t, syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: 6, Max: old.Max}))
	_, err = full.Write([]byte("two\n"))
	if rerr := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &old); rerr != nil {
		t.Fatal(rerr)
	}
	if text, rerr := os.ReadFile(f.Name()); err == nil || rerr != nil || string(text) != "one\n" {
		t.Errorf("the file holds %q (%v), the write said %v", text, rerr, err)
	}
}
