package lab

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"

	"locklab/harness"
	"locklab/harness/resultfile"
)

// A saver writes files, each whole or not at all, until it is closed.
type saver struct{ writing sync.Mutex }

// close returns when the file that is being written is complete. No other one
// begins after it: save does not return.
func (s *saver) close() { s.writing.Lock() }

// save writes a file, with the directories above it. A reader sees the earlier
// file or this one, and one that has the earlier file open keeps that.
func (s *saver) save(file string, content []byte) error {
	s.writing.Lock()
	defer s.writing.Unlock()
	if err := replace(file, content); err != nil {
		return fmt.Errorf("%w: cannot write %s: %v", harness.ErrUsage, file, err)
	}
	return nil
}

// replace writes content beside file, and gives it file's name then. What a link
// leads to is replaced, not the link; a device or a pipe is written to.
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
		os.Remove(file + ".new") // the first error is the one to tell
	}
	return err
}

// interruptible returns what work returns, or errInterrupted as soon as ctx ends
// and the file that work is writing then is complete: reading and drawing are
// long calculations, which do not look at a context. The command is to end then,
// and work with it.
func interruptible(ctx context.Context, stderr io.Writer, what string, work func(files *saver) error) error {
	files, done := new(saver), make(chan error, 1)
	go func() { done <- work(files) }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		fmt.Fprintf(stderr, "interrupted: %s is not written, or not whole\n", what)
		files.close()
		return errInterrupted
	}
}

// saveRun writes run into the new directory dir, whole or not at all.
func (s *saver) saveRun(dir string, run *resultfile.Run) (err error) {
	s.writing.Lock()
	defer s.writing.Unlock()
	bad := func(err error) error { return fmt.Errorf("%w: cannot write %s: %v", harness.ErrUsage, dir, err) }
	dir = filepath.Clean(dir)
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return bad(err)
	}
	beside, err := os.MkdirTemp(filepath.Dir(dir), "."+filepath.Base(dir)+".new-")
	if err != nil {
		return bad(err)
	}
	defer os.RemoveAll(beside) // of no use once it has its name
	out, err := resultfile.Create(beside, run.Manifest)
	if err != nil {
		return err
	}
	err = appendAll(out, run)
	err = errors.Join(err, out.Sync(), out.Finish(func(*resultfile.Manifest) {}), os.Chmod(beside, 0o755))
	if err == nil {
		err = os.Rename(beside, dir)
	}
	if err != nil {
		return bad(err)
	}
	return nil
}

// appendAll writes the results and the simulations of run.
func appendAll(out *resultfile.Writer, run *resultfile.Run) error {
	for _, r := range run.Results {
		if err := out.Append(r); err != nil {
			return err
		}
	}
	for _, m := range run.Machines {
		if err := out.AppendMachine(m); err != nil {
			return err
		}
	}
	for _, s := range run.Simulations {
		if err := out.AppendSimulation(s); err != nil {
			return err
		}
	}
	return nil
}
