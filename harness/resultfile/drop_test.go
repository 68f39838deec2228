package resultfile

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"locklab/harness"
)

func roundsIn(t *testing.T, dir string) (out []int) {
	t.Helper()
	run, err := Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range run.Results {
		out = append(out, r.Round)
	}
	return out
}

func TestDrop(t *testing.T) {
	m := Manifest{Rounds: 9, Cases: 1}
	dir, before := fiveRounds(t, m)
	name := filepath.Join(dir, ResultsName)
	w, run, err := Resume(dir, m)
	if err != nil {
		t.Fatal(err)
	}
	odd := func(r *harness.Result) bool { return r.Round%2 == 1 }
	if n, err := w.Drop(run, func(*harness.Result) bool { return false }); n != 0 || err != nil {
		t.Errorf("nothing to drop: %d, %v", n, err)
	}
	dropFails(t, w, run, before)
	if n, err := w.Drop(run, odd); n != 2 || err != nil || len(run.Results) != 3 {
		t.Fatalf("dropped %d, %v, left %d", n, err, len(run.Results))
	}
	lines := slices.Collect(strings.Lines(string(before)))
	dropped, err := os.ReadFile(filepath.Join(dir, DroppedName))
	if err != nil || string(dropped) != lines[1]+lines[3] {
		t.Errorf("dropped.jsonl has %d bytes, %v", len(dropped), err)
	}
	if now, err := os.ReadFile(name); err != nil || string(now) != lines[0]+lines[2]+lines[4]+lines[5] {
		t.Errorf("results.jsonl has %d bytes, %v", len(now), err)
	}
	if bench, err := os.ReadFile(filepath.Join(dir, BenchName)); err != nil || strings.Count(string(bench), "violat") != 3 {
		t.Errorf("bench.txt tells of %d results, %v", strings.Count(string(bench), "violat"), err)
	}
	if _, _, err := Resume(dir, m); !errors.Is(err, harness.ErrUsage) || !strings.Contains(err.Error(), "another locklab is writing it") {
		t.Errorf("a second Writer: %v", err)
	}
	r := sample()
	r.Round = 7
	if err := errors.Join(w.Append(r), w.Finish(func(*Manifest) {})); err != nil {
		t.Fatal(err)
	}
	if got := roundsIn(t, dir); !slices.Equal(got, []int{0, 2, 4, 7}) {
		t.Errorf("rounds %v are left", got)
	}
}

func fiveRounds(t *testing.T, m Manifest) (dir string, results []byte) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "run")
	w, err := Create(dir, m)
	if err != nil {
		t.Fatal(err)
	}
	for round := range 5 {
		r := sample()
		r.Round = round
		if err := w.Append(r); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(w.write([]byte("{\"damaged\n"), nil), w.Finish(func(*Manifest) {})); err != nil {
		t.Fatal(err)
	}
	if results, err = os.ReadFile(filepath.Join(dir, ResultsName)); err != nil {
		t.Fatal(err)
	}
	return dir, results
}

func dropFails(t *testing.T, w *Writer, run *Run, before []byte) {
	t.Helper()
	name := filepath.Join(w.dir, ResultsName)
	if err := os.Mkdir(name+".new", 0o755); err != nil { // in the way
		t.Fatal(err)
	}
	if n, err := w.Drop(run, func(*harness.Result) bool { return true }); n != 0 || err == nil || strings.Contains(err.Error(), "\n") || len(run.Results) != 5 {
		t.Errorf("where it cannot write: %d, %v", n, err)
	}
	if now, err := os.ReadFile(name); err != nil || !bytes.Equal(now, before) {
		t.Errorf("after a failure the results are others: %v", err)
	}
	if err := os.Remove(name + ".new"); err != nil {
		t.Fatal(err)
	}
}
