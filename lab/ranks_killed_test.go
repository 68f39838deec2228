//go:build unix

package lab

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"locklab/harness/result"
	"locklab/internal/backend"
)

// TestRanksServerKilled: rank 0 and the server where ranks meet are killed at the same time:
// the others end, and what all have kept can be merged.
func TestRanksServerKilled(t *testing.T) {
	if testing.Short() {
		t.Skip("make test-all runs it")
	}
	t.Parallel()
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
}

// TestRanksStopped: if a rank is stopped, all end at last, and the kept results merge.
func TestRanksStopped(t *testing.T) {
	if testing.Short() {
		t.Skip("make test-all runs it")
	}
	t.Parallel()
	all := startRanks(t, 3, "--locks", "redis-token", "--workers", "3", "--rounds", "4", "--duration", "1s")
	amid(t, all, 1)
	if err := all[1].Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	_, _ = all[0].Wait(), all[2].Wait()
	if err := all[1].Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	_ = all[1].Wait()
	for rank, p := range all {
		if status := p.ProcessState.ExitCode(); status != exitUnfit || !strings.Contains(p.stderr.String(), "stops: measure: ") {
			t.Errorf("rank %d: exit status %d, said\n%s", rank, status, p.stderr)
		}
	}
	keptSome(t, all)
}

// amid returns when each rank has kept so many results and has a measuring process again.
func amid(t *testing.T, all []*rankProcess, results int) {
	t.Helper()
	for _, p := range all {
		p.measured(t, results)
	}
	for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(5 * time.Millisecond) {
		idle := slices.ContainsFunc(all, func(p *rankProcess) bool { return len(children(t, p.Process.Pid)) == 0 })
		if !idle {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("ranks do not measure together")
		}
	}
}

// keptSome checks that every rank kept its finished results, and that they merge.
func keptSome(t *testing.T, all []*rankProcess) {
	t.Helper()
	args := []string{"merge", "--out", "whole"}
	for rank, p := range all {
		args = append(args, p.dir)
		run, err := result.Load(p.dir)
		if err != nil || len(run.Results) == 0 || len(run.Damage) > 0 {
			t.Errorf("rank %d has kept nothing that is whole: %v", rank, err)
		}
	}
	cmd := locklab(t, args...)
	stdout, stderr, status := output(t, cmd)
	if status != 0 && status != exitUnfit {
		t.Fatalf("result: exit status %d, said\n%s%s", status, stdout, stderr)
	}
	run, err := result.Load(filepath.Join(cmd.Dir, "whole"))
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range run.Results {
		if len(r.Violations) > 0 || len(r.Ranks) != len(all) {
			t.Errorf("round %d of %d ranks: %v", r.Round, len(r.Ranks), r.Violations)
		}
	}
}
