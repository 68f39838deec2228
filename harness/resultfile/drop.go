package resultfile

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"locklab/harness"
)

// DroppedName is the file that keeps the lines which [Writer.Drop] has taken out of a run.
const DroppedName = "dropped.jsonl"

// Drop takes the results that drop chooses out of the run on disk and out of run, which is
// what Resume returned, and returns how many. Their lines are appended to dropped.jsonl
// before. A crash leaves the results as they were, or without those.
func (w *Writer) Drop(run *Run, drop func(*harness.Result) bool) (int, error) {
	if !slices.ContainsFunc(run.Results, drop) {
		return 0, nil
	}
	before := len(run.Results)
	if err := w.rewrite(drop); err != nil {
		return 0, fmt.Errorf("resultfile: cannot take results out of %s: %w", w.dir, err)
	}
	run.Results = slices.DeleteFunc(run.Results, drop)
	for _, t := range append(w.logs, w.bench) {
		if err := t.Close(); err != nil {
			return 0, fmt.Errorf("resultfile: %w", err)
		}
	}
	w.logs = nil
	return before - len(run.Results), w.derive(run)
}

// rewrite replaces the file of results by one without those that drop chooses.
func (w *Writer) rewrite(drop func(*harness.Result) bool) (err error) {
	name := filepath.Join(w.dir, ResultsName)
	dropped, err := os.OpenFile(filepath.Join(w.dir, DroppedName), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer dropped.Close()
	results, err := os.OpenFile(name+newSuffix, os.O_CREATE|os.O_TRUNC|os.O_APPEND|os.O_RDWR, 0o644)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			results.Close()
			os.Remove(name + newSuffix) // the first error is the one to tell
		}
	}()
	if err := divide(name, results, dropped, drop); err != nil {
		return err
	}
	// The run is this Writer's under its new file before that has its name.
	if err := errors.Join(syncFile(dropped), syncFile(results), lockFile(results)); err != nil {
		return err
	}
	if err := os.Rename(name+newSuffix, name); err != nil {
		return err
	}
	old := w.results
	w.results = &tail{File: results}
	return errors.Join(syncDir(w.dir), old.Close())
}

// divide copies the lines of the file to kept, but for results that drop chooses, which
// go to dropped. Lines that cannot be read are kept.
func divide(name string, kept, dropped io.Writer, drop func(*harness.Result) bool) error {
	file, err := os.Open(name)
	if err != nil {
		return err
	}
	defer file.Close()
	in, unpack := bufio.NewReaderSize(file, 1<<16), new(unpacker)
	to, away := bufio.NewWriter(kept), bufio.NewWriter(dropped)
	for {
		text, whole, err := readLine(in)
		if err != nil {
			return err
		}
		if len(text) == 0 && !whole {
			return errors.Join(to.Flush(), away.Flush())
		}
		out := to
		if record, err := unpack.decode(text); err == nil && record.Result != nil && drop(record.Result) {
			out = away
		}
		out.Write(text)     //nolint:errcheck // Flush returns it
		out.WriteByte('\n') //nolint:errcheck // likewise
	}
}
