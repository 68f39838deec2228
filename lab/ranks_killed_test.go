//go:build unix

package lab

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"locklab/harness/resultfile"
	"locklab/internal/backend"
)

// lay writes files into dir, which it makes, in place of all that is there.
func lay(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	err := errors.Join(os.RemoveAll(dir), os.MkdirAll(dir, 0o755))
	for name, text := range files {
		err = errors.Join(err, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
	if err != nil {
		t.Fatal(err)
	}
}

// edit changes a file of a run.
func edit(t *testing.T, dir, name string, change func(text []byte) []byte) {
	t.Helper()
	name = filepath.Join(dir, name)
	text, err := os.ReadFile(name)
	if err == nil {
		err = os.WriteFile(name, change(text), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// cutShort takes away the end of a text, so that it has no last line that is whole.
func cutShort(text []byte) []byte { return text[:len(text)-100] }

// lastLine is where the last line of a text begins.
func lastLine(text []byte) int { return bytes.LastIndexByte(text[:len(text)-1], '\n') + 1 }

// barely is what a process has made that was killed as it wrote its first manifest.
var barely = map[string]string{resultfile.ResultsName: "", resultfile.ManifestName + ".new": "{"}

// A killing is a moment at which ranks can be killed, by what they leave.
type killing struct {
	moment string
	leave  func(t *testing.T, ranks [2]string)
	want   string                              // with --resume, of the one line that all say with status 2; "" is that it goes on
	remedy func(t *testing.T, ranks [2]string) // that the line tells; nil is to leave out --resume
}

// killings are all moments.
var killings = []killing{
	{"before the plan", func(t *testing.T, ranks [2]string) { lay(t, ranks[1], nil) }, "", nil},
	{"both before the plan", func(t *testing.T, ranks [2]string) {
		lay(t, ranks[0], nil)
		if err := os.RemoveAll(ranks[1]); err != nil {
			t.Fatal(err)
		}
	}, "leave out --resume to begin one", nil},
	{"before the manifest", func(t *testing.T, ranks [2]string) { lay(t, ranks[1], barely) }, "", nil},
	{"both before the manifest", func(t *testing.T, ranks [2]string) {
		lay(t, ranks[0], barely)
		lay(t, ranks[1], map[string]string{resultfile.ResultsName: ""})
	}, "leave out --resume to begin one", nil},
	{"before the first result", func(t *testing.T, ranks [2]string) {
		for _, dir := range ranks {
			unfinished(t, dir, func([]byte) []byte { return nil })
		}
	}, "", nil},
	{"in a window", func(t *testing.T, ranks [2]string) { unfinished(t, ranks[1], cutShort) }, "", nil},
	{"in a window, and the other one as it began", func(t *testing.T, ranks [2]string) {
		lay(t, ranks[0], barely)
		unfinished(t, ranks[1], cutShort)
	}, "", nil},
	{"as results are taken out", func(t *testing.T, ranks [2]string) {
		results, err := os.ReadFile(filepath.Join(ranks[0], resultfile.ResultsName))
		if err != nil {
			t.Fatal(err)
		}
		unfinished(t, ranks[1], func(text []byte) []byte { return text[:lastLine(text)] })
		for name, text := range map[string][]byte{resultfile.DroppedName: results[lastLine(results):], resultfile.ResultsName + ".new": results[:50]} {
			if err := os.WriteFile(filepath.Join(ranks[0], name), text, 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}, "", nil},
	{"at the end", func(t *testing.T, ranks [2]string) {
		unfinished(t, ranks[0], func(text []byte) []byte { return text })
		if err := os.WriteFile(filepath.Join(ranks[0], resultfile.ManifestName+".new"), []byte("{"), 0o644); err != nil {
			t.Fatal(err)
		}
	}, "", nil},
	{"with its disk, which lost the manifest", func(t *testing.T, ranks [2]string) {
		if err := os.Remove(filepath.Join(ranks[1], resultfile.ManifestName)); err != nil {
			t.Fatal(err)
		}
	}, "move part away to have all ranks measure again", moveAway},
	{"with its disk, which has half the manifest", func(t *testing.T, ranks [2]string) {
		edit(t, ranks[1], resultfile.ManifestName, func(text []byte) []byte { return text[:len(text)/2] })
	}, "move part away to have all ranks measure again", moveAway},
}

// unfinished makes the run in dir one that was killed with these results.
func unfinished(t *testing.T, dir string, results func(text []byte) []byte) {
	t.Helper()
	edit(t, dir, resultfile.ResultsName, results)
	edit(t, dir, resultfile.ManifestName, func(text []byte) []byte {
		at := bytes.Index(text, []byte(`"finished": "`))
		if at < 0 {
			t.Fatalf("%s does not say when it was finished:\n%s", dir, text)
		}
		at += len(`"finished": "`)
		end := at + bytes.IndexByte(text[at:], '"')
		return slices.Concat(text[:at], []byte("0001-01-01T00:00:00Z"), text[end:])
	})
}

func moveAway(t *testing.T, ranks [2]string) {
	t.Helper()
	if err := os.Rename(ranks[1], ranks[1]+".away"); err != nil {
		t.Fatal(err)
	}
}

// copied returns processes like those in all, with copies of what these have left.
func copied(t *testing.T, all []*rankProcess) (out []*rankProcess) {
	t.Helper()
	for _, p := range all {
		cmd := exec.Command(p.Path, p.Args[1:]...)
		cmd.Env, cmd.Dir = p.Env, t.TempDir()
		q := &rankProcess{cmd, new(said), filepath.Join(cmd.Dir, filepath.Base(p.dir))}
		if err := os.CopyFS(q.dir, os.DirFS(p.dir)); err != nil {
			t.Fatal(err)
		}
		out = append(out, q)
	}
	return out
}

// TestRanksKilled: whenever ranks are killed, the same commands with --resume measure what
// is missing, or say in one line what to do, and then that does.
func TestRanksKilled(t *testing.T) {
	if testing.Short() {
		t.Skip("make test-all runs it")
	}
	t.Parallel()
	const rounds = 2
	whole := startRanks(t, 2, "--locks", "redis-token", "--workers", "2", "--rounds", "2", "--duration", "50ms", "--job", "whole")
	for rank, p := range whole {
		if err := p.Wait(); err != nil {
			t.Fatalf("rank %d: %v; it said\n%s", rank, err, p.stderr)
		}
	}
	for i, k := range killings {
		t.Run(k.moment, func(t *testing.T) {
			t.Parallel()
			all := copied(t, whole)
			dirs := [2]string{all[0].dir, all[1].dir}
			k.leave(t, dirs)
			job := []string{"--job", "moment-" + string(rune('a'+i))} // where they meet only
			resume := append(job, "--resume")
			if k.want != "" {
				refusedSo(t, again(t, all, resume...), k.want)
				if k.remedy != nil {
					k.remedy(t, dirs)
				} else {
					resume = job
				}
			}
			all = again(t, all, resume...)
			if statuses := run(t, all); !slices.Equal(statuses, []int{0, 0}) {
				t.Fatalf("exit statuses %v; rank 0 said\n%s\nrank 1 said\n%s", statuses, all[0].stderr, all[1].stderr)
			}
			allOnce(t, all, 1, rounds)
		})
	}
}

// refusedSo starts ranks, which must all say want in one line, and end with status 2.
func refusedSo(t *testing.T, them []*rankProcess, want string) {
	t.Helper()
	for rank, status := range run(t, them) {
		if said := them[rank].stderr.String(); status != exitUsage || strings.Count(said, "\n") != 1 || !strings.Contains(said, want) {
			t.Errorf("rank %d: exit status %d, said %q, want one line with %q", rank, status, said, want)
		}
	}
}

// TestRanksKilledBetween: a rank is killed between its two first files.
func TestRanksKilledBetween(t *testing.T) {
	if testing.Short() {
		t.Skip("make test-all runs it")
	}
	t.Parallel()
	all := prepared(t, 2, "", func(rank int, p *rankProcess) {
		if rank != 1 {
			return
		}
		lay(t, p.dir, nil)
		if err := syscall.Mkfifo(filepath.Join(p.dir, resultfile.ManifestName+".new"), 0o644); err != nil {
			t.Fatal(err) // the rank waits when it opens it
		}
	}, "--locks", "redis-token", "--workers", "2", "--rounds", "2", "--duration", "50ms")
	results := filepath.Join(all[1].dir, resultfile.ResultsName)
	for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(5 * time.Millisecond) {
		if _, err := os.Stat(results); err == nil {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("no %s; it said\n%s", results, all[1].stderr)
		}
	}
	if err := all[1].Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_, _ = all[0].Wait(), all[1].Wait()
	if status := all[0].ProcessState.ExitCode(); status != exitUnfit || !strings.Contains(all[0].stderr.String(), "rank 1 (host ") {
		t.Errorf("rank 0: exit status %d, said\n%s", status, all[0].stderr)
	}
	left, err := os.ReadFile(results)
	if err != nil || len(left) > 0 || resultfile.Exists(all[1].dir) {
		t.Fatalf("it was killed at another moment: %q, %v", left, err)
	}
	lay(t, all[1].dir, barely) // with half of a file in place of the one that it waited for
	more := again(t, all, "--resume")
	if statuses := run(t, more); !slices.Equal(statuses, []int{0, 0}) {
		t.Fatalf("exit statuses %v; rank 0 said\n%s\nrank 1 said\n%s", statuses, more[0].stderr, more[1].stderr)
	}
	allOnce(t, all, 1, 2)
}

// TestRanksServerKilled: rank 0 and the server where ranks meet are killed at the same time:
// the others end and keep what they have, and all go on at another server.
func TestRanksServerKilled(t *testing.T) {
	if testing.Short() {
		t.Skip("make test-all runs it")
	}
	t.Parallel()
	const rounds = 4
	s, err := backend.StartAlone(t.Context())
	if err != nil {
		ownRedis(t) // which skips t, or fails it
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Stop() })
	at := s.Endpoint().Addrs[0][0]
	all := ranksAt(t, 3, "redis://"+at, "--locks", "redis-token", "--workers", "3", "--rounds", "4", "--duration", "1s")
	amid(t, all, 1)
	if err := errors.Join(all[0].Process.Kill(), s.Kill(0)); err != nil {
		t.Fatal(err)
	}
	for rank, p := range all {
		_ = p.Wait() // the status says it
		if status := p.ProcessState.ExitCode(); rank > 0 && (status != exitUnfit || !strings.Contains(p.stderr.String(), "Redis at "+at+", where the ranks meet, has not answered")) {
			t.Errorf("rank %d: exit status %d, said\n%s", rank, status, p.stderr)
		}
	}
	keptSome(t, all)
	more := again(t, all, "--resume", "--sync", "redis://"+ownRedis(t))
	if statuses := run(t, more); !slices.Equal(statuses, []int{0, 0, 0}) {
		t.Fatalf("exit statuses %v; rank 0 said\n%s", statuses, more[0].stderr)
	}
	allOnce(t, all, 1, rounds)
}

// TestRanksStopped: a rank is stopped, and the others give up. Until it has ended all are
// told so that would go on; it goes on by itself and ends, and then they can.
func TestRanksStopped(t *testing.T) {
	if testing.Short() {
		t.Skip("make test-all runs it")
	}
	t.Parallel()
	const rounds = 4
	all := startRanks(t, 3, "--locks", "redis-token", "--workers", "3", "--rounds", "4", "--duration", "1s")
	amid(t, all, 1)
	if err := all[1].Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	_, _ = all[0].Wait(), all[2].Wait()
	refusedByAll(t, again(t, all, "--resume"), "another locklab is writing it: end the rank that does, perhaps one that was stopped")
	if err := all[1].Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	_ = all[1].Wait()
	for rank, p := range all {
		if status := p.ProcessState.ExitCode(); status != exitUnfit || !strings.Contains(p.stderr.String(), "stops: ranks: ") {
			t.Errorf("rank %d: exit status %d, said\n%s", rank, status, p.stderr)
		}
	}
	keptSome(t, all)
	more := again(t, all, "--resume")
	if statuses := run(t, more); !slices.Equal(statuses, []int{0, 0, 0}) {
		t.Fatalf("exit statuses %v; rank 0 said\n%s", statuses, more[0].stderr)
	}
	allOnce(t, all, 1, rounds)
}
