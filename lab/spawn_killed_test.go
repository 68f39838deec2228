//go:build unix

package lab

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"locklab/harness/resultfile"
)

// spawnKillings are moments at which a command can be killed that has spawned ranks, by
// what it leaves in its directory.
var spawnKillings = []struct {
	moment string
	leave  func(t *testing.T, run string) error
	want   string // with --resume, of the line with status 2; "" is that it goes on
}{
	{"before the first part", func(t *testing.T, run string) error {
		lay(t, run+partsSuffix, nil)
		return os.RemoveAll(run)
	}, "leave out --resume to begin one"},
	{"before the first manifest", func(t *testing.T, run string) error {
		lay(t, run+partsSuffix, nil)
		lay(t, filepath.Join(run+partsSuffix, "0"), barely)
		lay(t, filepath.Join(run+partsSuffix, "1"), nil)
		return os.RemoveAll(run)
	}, "leave out --resume to begin one"},
	{"with one manifest", func(t *testing.T, run string) error {
		lay(t, filepath.Join(run+partsSuffix, "0"), barely)
		lay(t, filepath.Join(run+partsSuffix, "2"), nil)
		return os.RemoveAll(run)
	}, ""},
	{"as it merges", func(_ *testing.T, run string) error {
		return os.Rename(run, filepath.Join(filepath.Dir(run), ".run.new-1234"))
	}, ""},
	{"as it merges again", func(_ *testing.T, run string) error { return os.Rename(run, run+".previous") }, ""},
	{"before the report", func(_ *testing.T, run string) error { return os.Remove(filepath.Join(run, reportName)) }, ""},
}

// in returns cmd with more arguments, to be run in home.
func in(home string, cmd *exec.Cmd, more ...string) *exec.Cmd {
	same := exec.Command(cmd.Path, append(cmd.Args[1:len(cmd.Args):len(cmd.Args)], more...)...)
	same.Env, same.Dir = cmd.Env, home
	return same
}

// TestSpawnKilled: whenever a command is killed that has spawned ranks, the same with
// --resume makes one whole run of what they left, or says in one line what to do, and then
// that does.
func TestSpawnKilled(t *testing.T) {
	if testing.Short() {
		t.Skip("make test-all runs it")
	}
	t.Parallel()
	cmd := spawning(t, "--rounds", "2")
	if stdout, stderr, status := output(t, cmd); status != 0 && status != exitUnfit { // windows apart
		t.Fatalf("exit status %d, said\n%s%s", status, stdout, stderr)
	}
	for _, k := range spawnKillings {
		t.Run(k.moment, func(t *testing.T) {
			t.Parallel()
			home := t.TempDir()
			if err := errors.Join(os.CopyFS(home, os.DirFS(cmd.Dir)), k.leave(t, filepath.Join(home, "run"))); err != nil {
				t.Fatal(err)
			}
			stdout, stderr, status := output(t, in(home, cmd, "--resume"))
			if k.want != "" {
				if status != exitUsage || strings.Count(stderr, "\n") != 1 || !strings.Contains(stderr, k.want) {
					t.Errorf("exit status %d, said %q, want one line with %q", status, stderr, k.want)
				}
				stdout, stderr, status = output(t, in(home, cmd))
			}
			if status != 0 && status != exitUnfit {
				t.Fatalf("exit status %d, said\n%s%s", status, stdout, stderr)
			}
			wholeSpawned(t, filepath.Join(home, "run"))
		})
	}
	t.Run("parts alone", func(t *testing.T) {
		home := t.TempDir()
		if err := os.CopyFS(filepath.Join(home, "run"+partsSuffix), os.DirFS(filepath.Join(cmd.Dir, "run"+partsSuffix))); err != nil {
			t.Fatal(err)
		}
		if _, stderr, status := output(t, in(home, cmd)); status != exitUsage || !strings.Contains(stderr, "run.ranks holds parts of a run; choose another directory by --out, let --resume") {
			t.Errorf("exit status %d, said %q", status, stderr)
		}
	})
}

// wholeSpawned fails t unless dir has a whole run of three ranks, two cases and two rounds,
// and its report.
func wholeSpawned(t *testing.T, dir string) {
	t.Helper()
	for rank := range 3 {
		once(t, filepath.Join(dir+partsSuffix, fmt.Sprint(rank)), 2, 2)
	}
	run, err := resultfile.Load(dir)
	if err != nil || run.Manifest.Interrupted || len(run.Results)+len(run.Manifest.Lost) != 4 {
		t.Errorf("it has not left a whole run: %v", err)
	}
	if _, err := os.Stat(filepath.Join(dir, reportName)); err != nil {
		t.Errorf("it has left no report: %v", err)
	}
}
