package lab

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"locklab/harness"
	"locklab/internal/backend"
)

// ensemble starts three ZooKeeper servers where ranks meet, with credentials.
func ensemble(t *testing.T) (s *backend.Server, url string) {
	t.Helper()
	s, err := backend.StartEnsembleOf(t.Context(), backend.EnsembleOptions{})
	if errors.Is(err, harness.ErrUnavailable) && !backend.Required(harness.KindZooKeeper) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Stop() })
	return s, "zookeeper://ranks:" + word + "@" + strings.Join(s.Endpoint().Addrs[0], ",")
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

// TestRanksEnsemble: the leader of the ensemble where ranks meet is killed in the middle of
// a case, by itself or with a rank, whichever: the others go on, or end by the rule and say
// what is gone, and what was finished is kept.
func TestRanksEnsemble(t *testing.T) {
	if testing.Short() {
		t.Skip("make test-all runs it")
	}
	t.Parallel()
	for _, c := range []struct {
		name string
		kill []int // ranks, at the same moment
	}{
		{"leader", nil},
		{"leader and a rank", []int{1}},
		{"leader and rank 0", []int{0}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, url := ensemble(t)
			all := ranksAt(t, 3, url, "--locks", "redis-token", "--workers", "3", "--rounds", "5", "--duration", "2s")
			amid(t, all, 1)
			leader, err := s.Leader(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			since := time.Now()
			for _, rank := range c.kill {
				if err := all[rank].Process.Signal(syscall.SIGKILL); err != nil {
					t.Fatal(err)
				}
			}
			if err := s.Kill(leader); err != nil {
				t.Fatal(err)
			}
			ended := endings(t, all, c.kill, since)
			if len(c.kill) > 0 && slices.Contains(ended, 0) {
				t.Errorf("exit statuses %v, and rank %d was killed", ended, c.kill[0])
			}
			keptSome(t, all)
		})
	}
}

// endings waits until all ranks have ended and returns their statuses, which must be 0 or
// 3 of those that were not killed, and what they say the reason.
func endings(t *testing.T, all []*rankProcess, killed []int, since time.Time) (out []int) {
	t.Helper()
	for rank, p := range all {
		hung := time.AfterFunc(3*time.Minute, func() {
			t.Errorf("rank %d hangs", rank)
			_ = p.Process.Kill() // it may have ended just now
		})
		_ = p.Wait() // the status says it
		hung.Stop()
		status, said := p.ProcessState.ExitCode(), p.stderr.String()
		out = append(out, status)
		if slices.Contains(killed, rank) {
			continue
		}
		t.Logf("rank %d ended after %v with status %d; it said\n%s", rank, time.Since(since).Round(time.Millisecond), status, said)
		named := strings.Contains(said, "ZooKeeper at ") || strings.Contains(said, "stops: ranks: rank ")
		if status != 0 && (status != exitUnfit || !named) {
			t.Errorf("rank %d: exit status %d, want 0, or %d and what is gone", rank, status, exitUnfit)
		}
		for _, dead := range killed {
			if !strings.Contains(said, "ZooKeeper at ") && !strings.Contains(said, fmt.Sprintf("rank %d (host ", dead)) {
				t.Errorf("rank %d does not name rank %d", rank, dead)
			}
		}
		if strings.Contains(said, word) {
			t.Errorf("the password is in what it said:\n%s", said)
		}
	}
	return out
}
