package lab

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"locklab/harness"
	"locklab/harness/locktest"
	"locklab/harness/result"
	"locklab/internal/backend"
)

func ownRedis(t *testing.T) string {
	t.Helper()
	s, err := backend.StartAlone(t.Context())
	locktest.RequireServers(t, harness.KindRedis, err)
	t.Cleanup(func() { s.Stop() })
	return s.Endpoint().Addrs[0][0]
}

type rankProcess struct {
	*exec.Cmd
	stderr *bytes.Buffer
	dir    string
}

// ranksAt starts n ranks that meet at sync; "" is the locks' server.
func ranksAt(t *testing.T, n int, sync string, args ...string) (all []*rankProcess) {
	t.Helper()
	addr := ownRedis(t)
	if sync == "" {
		sync = "redis://" + addr
	}
	for rank := range n {
		cmd := locklab(t, append([]string{"run", "--rank", fmt.Sprint(rank), "--ranks", fmt.Sprint(n), "--sync", sync, "--out", "part"}, args...)...)
		cmd.Env = append(cmd.Env, "LOCKLAB_REDIS="+addr)
		p := &rankProcess{cmd, new(bytes.Buffer), filepath.Join(cmd.Dir, "part")}
		cmd.Stderr = p.stderr
		startCommand(t, cmd)
		all = append(all, p)
	}
	return all
}

func (p *rankProcess) measured(t *testing.T, n int) {
	t.Helper()
	waitUntil(t, fmt.Sprintf("%d results", n), func() bool {
		text, err := os.ReadFile(filepath.Join(p.dir, result.ResultsName))
		return err == nil && bytes.Count(text, []byte("\n")) >= n
	})
}

// TestRanksEnd: if a rank or the server ends, all end soon, name it, and keep their results,
// which merge.
func TestRanksEnd(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		hurt   []int
		by     syscall.Signal
		server bool   // is killed, too
		want   string // in what the others print
	}{
		{"rank 0 killed", []int{0}, syscall.SIGKILL, false, "rank 0 (host "},
		{"rank 1 stopped", []int{1}, syscall.SIGSTOP, false, "rank 1 (host "},
		{"rank 0 and the server", []int{0}, syscall.SIGKILL, true, ", where the ranks meet, has not answered"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			server, err := backend.StartAlone(t.Context())
			if err != nil {
				ownRedis(t) // which skips t, or fails it
				t.Fatal(err)
			}
			t.Cleanup(func() { server.Stop() })
			all := ranksAt(t, 3, "redis://"+server.Endpoint().Addrs[0][0], "--locks", "redis-token,redsync", "--workers", "3", "--rounds", "1000", "--duration", "50ms")
			all[2].measured(t, 3)
			if c.server {
				err = server.Kill(0)
			}
			for _, rank := range c.hurt {
				err = errors.Join(err, all[rank].Process.Signal(c.by))
			}
			requireNoError(t, err)
			for rank, p := range all {
				if !slices.Contains(c.hurt, rank) {
					requireEnd(t, p, c.want)
				}
			}
			for _, rank := range c.hurt {
				all[rank].Process.Signal(syscall.SIGCONT)
				_ = all[rank].Wait()
				if status := all[rank].ProcessState.ExitCode(); c.by == syscall.SIGSTOP && (status != exitUnfit || !strings.Contains(all[rank].stderr.String(), "stops: measure: ")) {
					t.Errorf("rank %d, stopped for a while: exit status %d, said\n%s", rank, status, all[rank].stderr)
				}
			}
			keptSome(t, all)
		})
	}
}

// requireEnd waits for the end of p, which must name what is gone and keep its results.
func requireEnd(t *testing.T, p *rankProcess, want string) {
	t.Helper()
	_ = p.Wait() // the status says it
	if status := p.ProcessState.ExitCode(); status != exitUnfit || !strings.Contains(p.stderr.String(), want) {
		t.Errorf("exit status %d, want %d and %q; it said:\n%s", status, exitUnfit, want, p.stderr)
	}
	if run, err := result.Load(p.dir); err != nil || !run.Manifest.Interrupted || len(run.Results) < 2 {
		t.Errorf("kept %+v, %v", run, err)
	}
}

// keptSome checks that every rank kept its finished results, and that they merge.
func keptSome(t *testing.T, all []*rankProcess) {
	t.Helper()
	args := []string{"merge", "--out", "whole"}
	for rank, p := range all {
		args = append(args, p.dir)
		if run, err := result.Load(p.dir); err != nil || len(run.Results) == 0 || len(run.Damage) > 0 {
			t.Errorf("rank %d has kept nothing that is whole: %v", rank, err)
		}
	}
	cmd := locklab(t, args...)
	stdout, stderr, status := runCommand(t, cmd)
	if status != 0 && status != exitUnfit {
		t.Fatalf("result: exit status %d, said\n%s%s", status, stdout, stderr)
	}
	run := requireRun(t, filepath.Join(cmd.Dir, "whole"))
	for _, r := range run.Results {
		if len(r.Violations) > 0 || len(r.Ranks) != len(all) {
			t.Errorf("round %d of %d ranks: %v", r.Round, len(r.Ranks), r.Violations)
		}
	}
}

func TestRanksPlan(t *testing.T) {
	for _, locks := range []string{defaultLocks, "all", "redis-queue,zk-handoff"} {
		o := optionsOf(t, "--locks="+locks)
		o.Ranks = 4
		p := requirePlan(t, o)
		if len(p.Cases) < 2 {
			t.Errorf("%s: %d cases", locks, len(p.Cases))
		}
		for _, c := range p.Cases {
			if c.Workload.Ranks != 4 || c.Lock.Remote == nil || c.Workload.Workers < 4 {
				t.Errorf("%s: %s", locks, c.Name())
			}
		}
	}
}

// TestRanksUnreachable waits ten seconds for a server.
func TestRanksUnreachable(t *testing.T) {
	t.Parallel()
	requireRefusals(t, "run --locks redis-token --ranks 2 --rank 0 --sync redis://127.0.0.1:1", []refusal{{"", "127.0.0.1:1"}})
}

func TestRanksRefused(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	for _, c := range []struct{ args, env, want string }{
		{"--rank 0", "", "give --sync"},
		{"--ranks 2", "", "give --sync"},
		{"--ranks 0", "", `"--ranks" flag: want 1 to`},
		{"--spawn", "", "give --ranks 2 or more"},
		{"--spawn --ranks 2 --rank 1", "", "leave out one of the two"},
		{"--sync redis://127.0.0.1:1", "", "which rank is this?"},
		{"--sync redis://127.0.0.1:1 --ranks 3", "", "which of the 3 ranks is this?"},
		{"--sync redis://127.0.0.1:1 --ranks 3 --rank 3", "", "want 0 to 2"},
		{"--sync redis://127.0.0.1:1 --ranks 3", "SLURM_PROCID=1 SLURM_NTASKS=4", "leave out --ranks"},
		{"--sync redis://127.0.0.1:1", "SLURM_PROCID=1", "SLURM_NTASKS"},
		{"--sync ftp://127.0.0.1:1 --ranks 2 --rank 0", "", "ranks meet is invalid"},
		{"--ranks 2 --rank 0", "LOCKLAB_SYNC=etcd://127.0.0.1:1", "ranks meet is invalid"},
		{"--spawn --ranks 4 --workers 3", "", "workers is 3: want one for each of the 4 ranks"},
		{"--spawn --ranks 4 --workers 8 --clients 2", "", "clients is 2: want one for each of the 4 ranks"},
		{"--spawn --ranks 2 --resume", "", "ranks cannot resume: merge what they kept with 'locklab merge', or start again"},
		{"--ranks 2 --rank 0 --sync ftp://127.0.0.1:1", "LOCKLAB_SYNC=redis://127.0.0.1:1", "ranks meet is invalid"},
		{"--ranks 2 --spawn", "LOCKLAB_SYNC=etcd://127.0.0.1:1", "ranks meet is invalid"},
		{"--spawn --ranks 2 --delay 1ms", "", "--spawn starts one plain server of each kind"},
		{"--sync redis://127.0.0.1:1 --ranks 2 --rank 0 --hardware", "", "--hardware with --ranks: hardware experiments run on one machine: see 'locklab hardware'"},
		{"--spawn --ranks 2 --chaos", "", "--chaos with --ranks: failure scenarios run on one machine: see 'locklab chaos'"},
		{"--spawn --ranks 2 --rate auto", "", "--rate auto with --ranks: only one process can search for the saturation point: give rates"},
		{"--spawn --ranks 2 --locks sync-mutex", "", "lives in one process"},
	} {
		t.Run(c.args+" "+c.env, func(t *testing.T) {
			for pair := range strings.FieldsSeq(c.env) {
				name, value, _ := strings.Cut(pair, "=")
				t.Setenv(name, value)
			}
			requireRefusals(t, "run --locks redis-token --out "+dir, []refusal{{c.args, c.want}})
			requireAbsent(t, dir)
		})
	}
}
