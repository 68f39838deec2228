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

// DroppedName is the file with the lines that [Writer.Drop] has removed from a run.
const DroppedName = "dropped.jsonl"

// Drop removes the results that drop selects from the run on disk and from run, which
// Resume returned. It returns their number. It first appends their lines to
// dropped.jsonl. A crash leaves the results as they were, or without the dropped ones.
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
			os.Remove(name + newSuffix) // the first error is returned
		}
	}()
	if err := divide(name, results, dropped, drop); err != nil {
		return err
	}
	// This Writer locks the new file before the rename.
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
