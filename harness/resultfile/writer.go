package resultfile

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

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

// Resume goes on with the run in directory dir, which is of the same lab and
// machine as m, and returns what it holds. The error wraps harness.ErrUsage if
// dir holds no run, or one of another machine or commit.
func Resume(dir string, m Manifest) (*Writer, *Run, error) {
	run, err := Load(dir)
	if err != nil {
		return nil, nil, err
	}
	if why := run.Manifest.differs(m); why != "" {
		return nil, nil, fmt.Errorf("%w: cannot go on with the run in %s: %s; choose another directory", harness.ErrUsage, dir, why)
	}
	results, err := os.OpenFile(filepath.Join(dir, ResultsName), os.O_APPEND|os.O_RDWR, 0o644)
	if err != nil {
		return nil, nil, fmt.Errorf("%w: cannot write results to %s: %v", harness.ErrUsage, dir, err)
	}
	bench, err := os.OpenFile(filepath.Join(dir, BenchName), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("%w: cannot write results to %s: %v", harness.ErrUsage, dir, err), results.Close())
	}
	w := &Writer{dir: dir, manifest: run.Manifest, results: results, bench: bench, lines: NewBench(bench, m.Machine)}
	w.manifest.Finished, w.manifest.Interrupted = time.Time{}, false
	if err := errors.Join(endLine(results), w.writeManifest()); err != nil {
		return nil, nil, errors.Join(err, w.close())
	}
	return w, run, nil
}

// endLine ends a last line that a crash cut short, so that the next one stands
// alone.
func endLine(f *os.File) error {
	size, err := f.Seek(0, io.SeekEnd)
	if err != nil || size == 0 {
		return err
	}
	last := make([]byte, 1)
	if _, err := f.ReadAt(last, size-1); err != nil || last[0] == '\n' {
		return err
	}
	_, err = f.Write([]byte("\n"))
	return err
}

// Append adds the result of one case and round.
func (w *Writer) Append(r *harness.Result) error {
	if err := w.write(Encode(r)); err != nil {
		return err
	}
	return w.lines.Result(r)
}

// AppendFinding adds what an experiment found.
func (w *Writer) AppendFinding(f *harness.Finding) error { return w.write(EncodeFinding(f)) }

// AppendSample adds a finished part of an experiment.
func (w *Writer) AppendSample(s harness.Sample) error { return w.write(EncodeSample(s)) }

// write adds a line. One write a line: a crash can cut the last line, never mix
// two.
func (w *Writer) write(line []byte, err error) error {
	if err != nil {
		return err
	}
	if _, err := w.results.Write(line); err != nil {
		return fmt.Errorf("resultfile: %w", err)
	}
	return nil
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
