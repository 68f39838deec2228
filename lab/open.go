package lab

import (
	"errors"
	"fmt"
	"locklab/harness"
	"locklab/harness/measure"
	"locklab/harness/result"
	"locklab/internal/machine"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// open creates the run on disk, or resumes it and returns its contents.
func (o runOptions) open(p *measure.Plan, s *servers, skipped []result.Skip) (string, *result.Writer, *result.Run, error) {
	now := time.Now().UTC()
	dir := o.out
	if dir == "" {
		dir = filepath.Join(defaultRunsRoot, now.Format("20060102T150405Z"))
	}
	env := machine.Capture()
	versions := machine.Modules()
	maps.Copy(versions, s.versions())
	in := measure.Calibrate()
	m := result.Manifest{
		Command: o.commandLine(), Commit: machine.BuildCommit(), Binary: machine.BinaryHash(), Seed: o.seed,
		Rounds: p.Rounds, Cases: len(p.Cases), OpenEvery: p.OpenEvery, Flags: o.flags, Window: o.base(p), Windows: o.windows(p), Started: now, Machine: env,
		Overhead: in.Overhead(), Sections: in.SectionCosts(p.Cases), Versions: versions, Sites: s.accounts, Skipped: skipped, Warnings: append(env.Warnings(), coldWarnings(s.accounts)...),
	}
	if p.Unknown() {
		m.Seeking = new(result.Knee) // none yet
	}
	if o.ranks > 1 {
		m.Rank, m.Ranks, m.Job, m.Machine.Host = o.rank, o.ranks, o.job, o.host
	}
	if err := o.guarantees.terms.apply(&m); err != nil {
		return "", nil, nil, err
	}
	if o.resume {
		out, run, err := result.Resume(dir, m)
		if err != nil {
			return "", nil, nil, err
		}
		if err := goOn(p, dir, run, newly(skipped, run.Manifest)); err != nil {
			return "", nil, nil, errors.Join(err, out.Finish(func(m *result.Manifest) {
				m.Finished, m.Interrupted = run.Manifest.Finished, run.Manifest.Interrupted
			}))
		}
		return dir, out, run, nil
	}
	if o.replace {
		if err := moveAside(dir); err != nil {
			return "", nil, nil, err
		}
	}
	out, err := result.Create(dir, m)
	return dir, out, nil, err
}

// newly returns the skipped locks that were not skipped at the start of the run of m.
func newly(skipped []result.Skip, m result.Manifest) []result.Skip {
	return slices.DeleteFunc(slices.Clone(skipped), func(s result.Skip) bool { return slices.Contains(m.Skipped, s) })
}

// commandLine returns the command that repeats the run: the command of rank 0, or the
// command that started all ranks.
func (o *runOptions) commandLine() []string {
	if o.command != nil {
		return o.command
	}
	return withoutPassword(append([]string{o.program.Name}, os.Args[1:]...))
}

// moveAside makes room for a run in dir: it renames an earlier run to DIR.previous and
// replaces a previous run of that name.
func moveAside(dir string) error {
	if !result.Exists(dir) {
		return nil
	}
	if err := result.Foreign(dir); err != nil {
		return err
	}
	if result.InUse(dir) {
		return fmt.Errorf("%w: another locklab is writing the run in %s: wait for it, or choose another directory", harness.ErrUsage, dir)
	}
	dir = filepath.Clean(dir)
	previous := dir + ".previous"
	if _, err := os.Lstat(previous); err == nil && (!result.Exists(previous) || result.Foreign(previous) != nil) {
		return fmt.Errorf("%w: cannot move the earlier run aside: %s is there and holds no run; move it away", harness.ErrUsage, previous)
	}
	if err := errors.Join(os.RemoveAll(previous), os.Rename(dir, previous)); err != nil {
		return fmt.Errorf("%w: cannot move the earlier run aside: %v", harness.ErrUsage, err)
	}
	return nil
}
