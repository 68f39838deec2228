package resultfile

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"locklab/harness"
)

// A Writer appends to a run on disk. Every result is on disk when Append
// returns; a run that is killed keeps what it measured.
type Writer struct {
	dir      string
	manifest Manifest
	results  *os.File
	bench    *os.File
	lines    *Bench
}

// Create starts a run in directory dir, which it makes if need be. The error
// wraps harness.ErrUsage if dir cannot be written or already holds a run.
func Create(dir string, m Manifest) (*Writer, error) {
	refuse := func(err error) error {
		return fmt.Errorf("%w: cannot write results to %s: %v", harness.ErrUsage, dir, err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, refuse(err)
	}
	results, err := os.OpenFile(filepath.Join(dir, ResultsName), os.O_CREATE|os.O_EXCL|os.O_APPEND|os.O_WRONLY, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("%w: %s already holds a run; choose another directory, or let --replace move it aside", harness.ErrUsage, dir)
	}
	if err != nil {
		return nil, refuse(err)
	}
	bench, err := os.OpenFile(filepath.Join(dir, BenchName), os.O_CREATE|os.O_TRUNC|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		results.Close()
		return nil, refuse(err)
	}
	m.Schema = Schema
	w := &Writer{dir: dir, manifest: m, results: results, bench: bench, lines: NewBench(bench, m.Machine)}
	if err := errors.Join(w.writeManifest(), w.lines.Units()); err != nil {
		return nil, errors.Join(refuse(err), w.close())
	}
	return w, nil
}

// Append adds the result of one case and round.
func (w *Writer) Append(r *harness.Result) error {
	text, err := Encode(r)
	if err != nil {
		return err
	}
	// One write a line: a crash can cut the last line, never mix two.
	if _, err := w.results.Write(text); err != nil {
		return fmt.Errorf("resultfile: %w", err)
	}
	return w.lines.Result(r)
}

// Finish completes the manifest by edit and closes the run.
func (w *Writer) Finish(edit func(*Manifest)) error {
	edit(&w.manifest)
	return errors.Join(w.writeManifest(), w.close())
}

func (w *Writer) close() error { return errors.Join(w.results.Close(), w.bench.Close()) }

// writeManifest replaces the manifest in one step, so that a reader sees the
// old one or the new one.
func (w *Writer) writeManifest() error {
	text, err := json.MarshalIndent(w.manifest, "", "  ")
	if err != nil {
		return fmt.Errorf("resultfile: %w", err)
	}
	name := filepath.Join(w.dir, ManifestName)
	if err := os.WriteFile(name+".new", append(text, '\n'), 0o644); err != nil {
		return fmt.Errorf("resultfile: %w", err)
	}
	if err := os.Rename(name+".new", name); err != nil {
		return fmt.Errorf("resultfile: %w", err)
	}
	return nil
}

// Exists reports whether dir holds a run.
func Exists(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, ResultsName))
	return err == nil
}
