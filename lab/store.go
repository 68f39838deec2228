package lab

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/pflag"

	"locklab/harness/result"
	"locklab/internal/machine"
)

// A store is the directory of a run, from the flags of a command.
type store struct {
	out             string // "" only prints
	resume, replace bool
	hint            string            // how to continue after an interrupt; "" without --resume
	file            *result.Writer    // of the open run; nil only prints
	versions        map[string]string // of the servers that the command started
}

func (s *store) flags(f *pflag.FlagSet, without string) {
	f.StringVarP(&s.out, "out", "o", "", "directory to write (default: "+without+")")
	f.BoolVar(&s.resume, "resume", false, "continue an interrupted command in that directory")
	f.BoolVar(&s.replace, "replace", false, "move an earlier run in that directory to DIR.previous")
	s.hint = "; add --resume to continue"
}

func (s *store) check() error {
	switch {
	case s.out == "" && (s.resume || s.replace):
		return usage("--resume and --replace need the directory of a run: --out DIR")
	case s.resume && s.replace:
		return usage("give --resume or --replace, not both")
	}
	return nil
}

// outOrNew returns out. If it is "", outOrNew makes a directory that is named by the time and belongs
// to no other run.
func outOrNew(out string) string {
	if out != "" {
		return out
	}
	_ = os.MkdirAll(defaultRunsRoot, 0o755) // the caller fails to write there
	name := filepath.Join(defaultRunsRoot, time.Now().UTC().Format("20060102T150405Z"))
	out = name
	for n := 2; errors.Is(os.Mkdir(out, 0o755), fs.ErrExist); n++ {
		out = fmt.Sprintf("%s-%d", name, n)
	}
	return out
}

func (s *store) append(r result.Record) error {
	if s.file == nil {
		return nil
	}
	return errors.Join(s.file.Append(r), s.file.Sync())
}

// open creates or resumes the run with manifest m; both results are nil without a directory.
func (s *store) open(m result.Manifest) (*result.Writer, *result.Run, error) {
	switch {
	case s.out == "":
		return nil, nil, nil
	case s.resume:
		return result.Resume(s.out, m)
	case s.replace:
		if err := moveAside(s.out); err != nil {
			return nil, nil, err
		}
	}
	file, err := result.Create(s.out, m)
	return file, nil, err
}

// keep opens the directory, if there is one, calls work with the run to resume, and completes
// it with a report. If ctx has ended, the finished part is kept.
func (s *store) keep(ctx context.Context, m result.Manifest, stdout, stderr io.Writer, work func(earlier *result.Run) error) error {
	if err := s.check(); err != nil {
		return err
	}
	var earlier *result.Run
	var err error
	if s.file, earlier, err = s.open(m); err != nil {
		return err
	}
	err = work(earlier)
	left := "only finished results are shown"
	if s.file != nil {
		versions := func(m *result.Manifest) { maps.Copy(m.Versions, s.versions) }
		err = errors.Join(err, finish(s.file, err != nil || ctx.Err() != nil, versions), reportRun(io.Discard, s.out, guarding{}))
		fmt.Fprintln(stdout, reportLine(filepath.Join(s.out, reportName)))
		left = s.out + " has the finished results" + s.hint
	}
	if ctx.Err() == nil {
		return err
	}
	fmt.Fprintln(stderr, "interrupted: "+left)
	return errInterrupted
}

func finish(file *result.Writer, early bool, more ...func(*result.Manifest)) error {
	return file.Finish(func(m *result.Manifest) {
		m.Finished, m.Interrupted = time.Now().UTC(), early
		for _, edit := range more {
			edit(m)
		}
	})
}

func (p *Program) manifest(seed uint64) result.Manifest {
	env := machine.Capture()
	return result.Manifest{
		Command: append([]string{p.Name}, os.Args[1:]...), Commit: machine.BuildCommit(), Binary: machine.BinaryHash(), Seed: seed,
		Started: time.Now().UTC(), Machine: env, Versions: machine.Modules(), Warnings: env.Warnings(),
	}
}

// moveAside renames a run in dir to DIR.previous, in place of a run of that name.
func moveAside(dir string) error {
	if !result.Exists(dir) {
		return nil
	}
	if err := result.Foreign(dir); err != nil {
		return err
	}
	if result.InUse(dir) {
		return usage("another locklab is writing the run in %s: wait for it, or choose another directory", dir)
	}
	dir = filepath.Clean(dir)
	previous := dir + ".previous"
	if _, err := os.Lstat(previous); err == nil && (!result.Exists(previous) || result.Foreign(previous) != nil) {
		return usage("cannot move the earlier run aside: %s is there and holds no run; move it away", previous)
	}
	if err := errors.Join(os.RemoveAll(previous), os.Rename(dir, previous)); err != nil {
		return usage("cannot move the earlier run aside: %v", err)
	}
	return nil
}

// claim moves an earlier run in dir aside if replace is set, and refuses a directory with files.
func claim(dir string, replace bool) error {
	if replace {
		if err := moveAside(dir); err != nil {
			return err
		}
	}
	if result.Exists(dir) {
		return usage("%s already holds a run; choose another directory by --out", dir)
	}
	entries, err := os.ReadDir(dir)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil
	case err != nil:
		return usage("cannot write to %s: %v", dir, err)
	case len(entries) > 0:
		return usage("%s is not empty; choose another directory by --out", dir)
	}
	return nil
}

func encodeJSON(out io.Writer, v any) error {
	enc := json.NewEncoder(out)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}
