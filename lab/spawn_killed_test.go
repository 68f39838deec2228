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

// TestSpawnKilled: whenever a command is killed that has spawned ranks, the same with
// --resume makes one whole run of what they left, or says in one line what to do, and then
// that does.
func TestSpawnKilled(t *testing.T) {
	t.Parallel()
	cmd := spawning(t, "--rounds", "2")
	if stdout, stderr, status := output(t, cmd); status != 0 && status != exitUnfit { // windows apart
		t.Fatalf("exit status %d, said\n%s%s", status, stdout, stderr)
	}
	const dir, parts = "run", "run" + partsSuffix
	move := func(from, to string) error { return os.Rename(from, to) }
	for _, c := range []struct {
		moment string
		leave  func(home string) error
		want   string // of the line with status 2; "" is that it goes on
	}{
		{"before the first part", func(home string) error {
			lay(t, filepath.Join(home, parts), nil)
			return os.RemoveAll(filepath.Join(home, dir))
		}, "leave out --resume to begin one"},
		{"before the first manifest", func(home string) error {
			lay(t, filepath.Join(home, parts), nil)
			lay(t, filepath.Join(home, parts, "0"), barely)
			lay(t, filepath.Join(home, parts, "1"), nil)
			return os.RemoveAll(filepath.Join(home, dir))
		}, "leave out --resume to begin one"},
		{"with one manifest", func(home string) error {
			lay(t, filepath.Join(home, parts, "0"), barely)
			lay(t, filepath.Join(home, parts, "2"), nil)
			return os.RemoveAll(filepath.Join(home, dir))
		}, ""},
		{"as it merges", func(home string) error {
			return move(filepath.Join(home, dir), filepath.Join(home, ".run.new-1234"))
		}, ""},
		{"as it merges again", func(home string) error {
			return move(filepath.Join(home, dir), filepath.Join(home, dir+".previous"))
		}, ""},
		{"before the report", func(home string) error { return os.Remove(filepath.Join(home, dir, reportName)) }, ""},
	} {
		t.Run(c.moment, func(t *testing.T) {
			t.Parallel()
			home := t.TempDir()
			if err := errors.Join(os.CopyFS(home, os.DirFS(cmd.Dir)), c.leave(home)); err != nil {
				t.Fatal(err)
			}
			next := func(args ...string) (stdout, stderr string, status int) {
				same := exec.Command(cmd.Path, append(cmd.Args[1:len(cmd.Args):len(cmd.Args)], args...)...)
				same.Env, same.Dir = cmd.Env, home
				return output(t, same)
			}
			stdout, stderr, status := next("--resume")
			if c.want != "" {
				if status != exitUsage || strings.Count(stderr, "\n") != 1 || !strings.Contains(stderr, c.want) {
					t.Errorf("exit status %d, said %q, want one line with %q", status, stderr, c.want)
				}
				stdout, stderr, status = next()
			}
			if status != 0 && status != exitUnfit {
				t.Fatalf("exit status %d, said\n%s%s", status, stdout, stderr)
			}
			for rank := range 3 {
				once(t, filepath.Join(home, parts, fmt.Sprint(rank)), 2, 2)
			}
			run, err := resultfile.Load(filepath.Join(home, dir))
			if err != nil || run.Manifest.Interrupted || len(run.Results)+len(run.Manifest.Lost) != 4 {
				t.Errorf("it has not left a whole run: %v", err)
			}
			if _, err := os.Stat(filepath.Join(home, dir, reportName)); err != nil {
				t.Errorf("it has left no report: %v", err)
			}
			if _, stderr, status := next(); status != exitUsage || strings.Count(stderr, "\n") != 1 {
				t.Errorf("once more from the beginning: exit status %d, said %q", status, stderr)
			}
		})
	}
	t.Run("parts alone", func(t *testing.T) {
		home := t.TempDir()
		if err := os.CopyFS(filepath.Join(home, parts), os.DirFS(filepath.Join(cmd.Dir, parts))); err != nil {
			t.Fatal(err)
		}
		same := exec.Command(cmd.Path, cmd.Args[1:]...)
		same.Env, same.Dir = cmd.Env, home
		if _, stderr, status := output(t, same); status != exitUsage || !strings.Contains(stderr, "run.ranks holds parts of a run; choose another directory by --out, let --resume") {
			t.Errorf("exit status %d, said %q", status, stderr)
		}
	})
}
