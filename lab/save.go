package lab

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"

	"locklab/harness/result"
)

// A saver writes files atomically until it is closed.
type saver struct{ writing sync.Mutex }

// close returns when the current file is complete. No other file can begin after it: save
// does not return.
func (s *saver) close() { s.writing.Lock() }

// save writes a file, and its directories, atomically; a reader with the earlier one keeps it.
func (s *saver) save(file string, content []byte) error {
	s.writing.Lock()
	defer s.writing.Unlock()
	if err := replace(file, content); err != nil {
		return usage("cannot write %s: %v", file, err)
	}
	return nil
}

func (s *saver) write(file string, fill func(io.Writer) error) error {
	var content bytes.Buffer
	if err := fill(&content); err != nil {
		return err
	}
	return s.save(file, content.Bytes())
}

// replace writes content to a temporary file next to file and renames it. It replaces the
// target of a link, not the link, and writes directly to a device or a pipe.
func replace(file string, content []byte) error {
	if real, err := filepath.EvalSymlinks(file); err == nil {
		file = real
	}
	info, err := os.Stat(file)
	if err == nil && info.Mode()&(os.ModeDevice|os.ModeNamedPipe|os.ModeSocket) != 0 {
		return os.WriteFile(file, content, 0o644)
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	err = os.WriteFile(file+".new", content, 0o644)
	if err == nil {
		err = os.Rename(file+".new", file)
	}
	if err != nil {
		os.Remove(file + ".new") // report the first error
	}
	return err
}

// interruptible returns the result of work, or errInterrupted if ctx ends first, after the
// current file is complete. The command must then exit, which ends work: it checks no context.
func interruptible(ctx context.Context, stderr io.Writer, what string, work func(files *saver) error) error {
	files, done := new(saver), make(chan error, 1)
	go func() { done <- work(files) }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		fmt.Fprintf(stderr, "interrupted: %s is not written, or incomplete\n", what)
		files.close()
		return errInterrupted
	}
}

func (s *saver) saveRun(dir string, run *result.Run) (err error) {
	s.writing.Lock()
	defer s.writing.Unlock()
	bad := func(err error) error { return usage("cannot write %s: %v", dir, err) }
	dir = filepath.Clean(dir)
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return bad(err)
	}
	beside, err := os.MkdirTemp(filepath.Dir(dir), "."+filepath.Base(dir)+".new-")
	if err != nil {
		return bad(err)
	}
	defer os.RemoveAll(beside) // fails harmlessly after the rename
	out, err := result.Create(beside, run.Manifest)
	if err != nil {
		return err
	}
	errs := slices.Concat(
		result.Each(run.Results, func(r *result.Result) error { return out.Append(result.Record{Result: r}) }),
		result.Each(run.Machines, func(m *result.ModelMachine) error { return out.Append(result.Record{Machine: m}) }),
		result.Each(run.Simulations, func(s *result.Simulation) error { return out.Append(result.Record{Simulation: s}) }))
	err = errors.Join(cmp.Or(errs...), out.Sync(), out.Finish(func(*result.Manifest) {}), os.Chmod(beside, 0o755))
	if err == nil {
		_ = syscall.Rmdir(dir) // os.Rename replaces not even an empty directory
		err = os.Rename(beside, dir)
	}
	if err != nil {
		return bad(err)
	}
	return nil
}
