package result

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"locklab/harness"
)

// A Writer appends to a run on disk. Data given to Append have left this process when it
// returns, so a killed run keeps its measurements. After Sync they also outlast a power
// cut. One Writer at a time owns a run; on systems without flock, that is not enforced.
type Writer struct {
	results  *tail
	dir      string
	manifest Manifest
}

// Create starts a run in directory dir, which it makes if necessary. The error wraps
// harness.ErrUsage if dir cannot be written or already has a run.
func Create(dir string, m Manifest) (*Writer, error) {
	refuse := func(err error) error {
		return fmt.Errorf("%w: cannot write results to %s: %v", harness.ErrUsage, dir, err)
	}
	if err := Foreign(dir); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, refuse(err)
	}
	results, err := begin(dir)
	if errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("%w: %s already holds a run; choose another directory, continue it by --resume, or move it aside by --replace", harness.ErrUsage, dir)
	}
	if err != nil {
		return nil, refuse(err)
	}
	m.Schema = Schema
	w := &Writer{results, dir, m}
	if err := w.writeManifest(); err != nil {
		return nil, errors.Join(refuse(err), results.Close())
	}
	syncDir(dir)
	return w, nil
}

func begin(dir string) (*tail, error) {
	name := filepath.Join(dir, ResultsName)
	results, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_APPEND|os.O_WRONLY, 0o644)
	if errors.Is(err, fs.ErrExist) && !Exists(dir) {
		results, err = os.OpenFile(name, os.O_APPEND|os.O_WRONLY, 0)
	}
	if err != nil {
		return nil, err
	}
	err = lockFile(results)
	if err == nil && Exists(dir) { // another process has just begun one
		err = fs.ErrExist
	}
	if err != nil {
		results.Close()
		return nil, err
	}
	return &tail{results}, nil
}

// Resume continues the run in dir, of the same lab and machine as m, and returns its content
// without a cut last line. It wraps harness.ErrUsage if dir has no such run, or it is being
// written.
func Resume(dir string, m Manifest) (*Writer, *Run, error) {
	w, run, err := reopen(dir, "go on with", os.O_CREATE, func(run *Run) string {
		if len(run.Manifest.Parts) > 0 {
			return "it was merged from parts, which cannot resume"
		}
		return run.Manifest.Differs(m)
	})
	if err != nil {
		return nil, nil, err
	}
	w.manifest.Finished, w.manifest.Interrupted = time.Time{}, false
	if err := w.writeManifest(); err != nil {
		return nil, nil, errors.Join(err, w.results.Close())
	}
	return w, run, nil
}

// Extend opens the run in directory dir to add simulations and machines, and returns its
// content. It removes a last line that a crash cut short. Close ends it and leaves the rest
// of the run unchanged. The error wraps harness.ErrUsage if dir has no run, cannot be written
// or is being written by another process.
func Extend(dir string) (*Writer, *Run, error) {
	return reopen(dir, "add simulations to", 0, func(*Run) string { return "" })
}

// reopen opens the run in dir for more lines, without a cut last line, and returns its
// content. It refuses a run if refuses returns a reason; purpose is for errors.
func reopen(dir, purpose string, flag int, refuses func(*Run) string) (*Writer, *Run, error) {
	if _, err := ReadManifest(dir); err != nil {
		return nil, nil, err
	}
	cannot := func(err error) error {
		return fmt.Errorf("%w: cannot %s the run in %s: %v", harness.ErrUsage, purpose, dir, err)
	}
	f, err := os.OpenFile(filepath.Join(dir, ResultsName), flag|os.O_APPEND|os.O_RDWR, 0o644)
	if err != nil {
		return nil, nil, cannot(err)
	}
	fail := func(err error) (*Writer, *Run, error) { return nil, nil, errors.Join(err, f.Close()) }
	if err := lockFile(f); err != nil {
		return fail(cannot(err))
	}
	run, err := Load(dir)
	if err != nil {
		return fail(err)
	}
	if why := refuses(run); why != "" {
		return fail(cannot(errors.New(why + "; choose another directory")))
	}
	t := &tail{f}
	if err := t.mend(run); err != nil {
		return fail(fmt.Errorf("result: %w", err))
	}
	return &Writer{t, dir, run.Manifest}, run, nil
}

// Append adds a line by one write call: a crash can cut the last line, never mix two. A
// machine hides earlier simulations of a different machine with the same name.
func (w *Writer) Append(rec Record) error {
	line, err := Encode(rec)
	if err != nil {
		return err
	}
	_, err = w.results.Write(line)
	return wrapped(err)
}

// Sync waits until the data are on disk, 1 to 5 ms (BenchmarkAppend). A run calls it between
// cases.
func (w *Writer) Sync() error { return syncFile(w.results.File) }

// Edit changes the manifest on disk during the run.
func (w *Writer) Edit(edit func(*Manifest)) error {
	edit(&w.manifest)
	return w.writeManifest()
}

// Close waits until the added lines are on disk, and closes the run.
func (w *Writer) Close() error { return errors.Join(w.Sync(), w.results.Close()) }

// Finish completes the manifest by edit, writes the files for other programs, and closes the run.
func (w *Writer) Finish(edit func(*Manifest)) error {
	return errors.Join(w.Edit(edit), w.derive(), w.results.Close())
}

func (w *Writer) derive() error {
	run, err := Load(w.dir)
	if err != nil {
		return err
	}
	for _, e := range Exports {
		if e.file == "" {
			continue
		}
		var text bytes.Buffer
		if err := e.Write(&text, run); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(w.dir, e.file), text.Bytes(), 0o644); err != nil {
			return wrapped(err)
		}
	}
	return nil
}

const newSuffix = ".new"

// writeManifest replaces the manifest atomically, so that a reader sees the old one or
// the new one.
func (w *Writer) writeManifest() error {
	text, err := json.MarshalIndent(w.manifest, "", "  ")
	if err != nil {
		return fmt.Errorf("result: %w", err)
	}
	name := filepath.Join(w.dir, ManifestName)
	if err := writeFile(name+newSuffix, append(text, '\n')); err != nil {
		os.Remove(name + newSuffix) // the first error is returned
		return fmt.Errorf("result: %w", err)
	}
	return wrapped(os.Rename(name+newSuffix, name))
}

// Exists reports whether dir has a run. Results without a line and without a manifest are
// not a run: a process killed in Create leaves them, and Create reuses them.
func Exists(dir string) bool {
	info, err := os.Stat(filepath.Join(dir, ResultsName))
	if err != nil {
		return false
	}
	if info.Size() > 0 || !info.Mode().IsRegular() {
		return true
	}
	_, err = os.Stat(filepath.Join(dir, ManifestName))
	return !errors.Is(err, fs.ErrNotExist)
}

// InUse reports whether a Writer has the run in dir, in this process or another one, where the
// system has flock.
func InUse(dir string) bool {
	f, err := os.Open(filepath.Join(dir, ResultsName))
	if err != nil {
		return false
	}
	defer f.Close()
	return lockFile(f) != nil
}

// A tail is a file that grows by whole chunks: a chunk that does not fit, because the
// disk is full, leaves nothing.
type tail struct{ *os.File }

func (t *tail) Write(p []byte) (int, error) {
	n, err := t.File.Write(p)
	if err != nil && n > 0 {
		if info, serr := t.Stat(); serr == nil {
			err = errors.Join(err, t.Truncate(info.Size()-int64(n)))
		}
	}
	return n, err
}

// mend removes a last line that a crash cut short, or completes it if only its newline is
// missing.
func (t *tail) mend(run *Run) error {
	if len(run.last) == 0 {
		return nil
	}
	if _, err := Decode(run.last); err == nil {
		_, err = t.Write([]byte("\n"))
		return err
	}
	if len(bytes.TrimSpace(run.last)) > 0 {
		run.Damage = run.Damage[:len(run.Damage)-1] // it was about this line
	}
	return t.Truncate(run.whole)
}
