//go:build systematic && simulate

package simulate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"locklab/harness"

	"locklab/internal/leaktest"
)

func self(t *testing.T) string {
	t.Helper()
	leaktest.Own(t)
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return exe
}

func jobs(t *testing.T, locks ...string) (all []OffloadJob) {
	t.Helper()
	m, err := Named("skylake-24")
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []int{1, 2, 5, 12} {
		for _, name := range locks {
			all = append(all, OffloadJob{Machine: m, Lock: name, Seeds: 2, Workload: Workload{
				Workers: n, Lines: 1, Hold: 10, Think: 10, Wait: harness.WaitPause, Turns: 200, Warm: 20, Seed: 7}})
		}
	}
	return all
}

func TestRunIsTheSame(t *testing.T) {
	exe, all := self(t), jobs(t, "tas", "ttas-backoff", "ticket", "mcs", "clh")
	var first []string
	for _, n := range []int{1, 2, 5, 64} {
		var said []string
		finished := 0
		p := Pool{Exe: exe, Processes: n, Done: func(done int) { finished = done }}
		err := p.Run(t.Context(), all, func(i int, a Answer) error {
			if a.Err != nil {
				return a.Err
			}
			text, err := json.Marshal(a.Simulation)
			said = append(said, fmt.Sprint(i, " ", string(text)))
			return err
		})
		if err != nil || finished != len(all) || len(said) != len(all) {
			t.Fatalf("%d processes: %v, %d of %d jobs, %d reported", n, err, finished, len(all), len(said))
		}
		if first == nil {
			first = said
		}
		if !slices.Equal(said, first) {
			t.Errorf("%d processes report\n%s\nwant\n%s", n, strings.Join(said, "\n"), strings.Join(first, "\n"))
		}
	}
}

// TestRunGoesOn checks that only the bad locks fail: one that admits two holders, one
// that ends its process and one that the model does not see. The others have figures.
func TestRunGoesOn(t *testing.T) {
	exe, all := self(t), jobs(t, "mcs", "test-open", "test-exits", "ticket", "nosuch", "test-unseen")
	failed := make(map[string]int)
	err := Pool{Exe: exe, Processes: 2}.Run(t.Context(), all, func(i int, a Answer) error {
		switch {
		case a.Err != nil && !errors.Is(a.Err, ErrFailed):
			return a.Err
		case a.Err != nil:
			failed[all[i].Lock]++
			if all[i].Lock == "test-exits" && !strings.Contains(a.Err.Error(), "the last words") {
				t.Errorf("the error of a process that ended does not tell its last words: %v", a.Err)
			}
		case a.Simulation.Lock.Name != all[i].Lock || a.Simulation.Workers != all[i].Workload.Workers:
			t.Errorf("job %d of %s has the figures of %s", i, all[i].Lock, a.Simulation.Lock.Name)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	// One worker cannot meet another one.
	want := map[string]int{"test-open": 3, "test-exits": 4, "nosuch": 4, "test-unseen": 4}
	if fmt.Sprint(failed) != fmt.Sprint(want) {
		t.Errorf("failed %v, want %v", failed, want)
	}
}

func TestRunStops(t *testing.T) {
	exe, all := self(t), jobs(t, "tas", "ticket", "mcs")
	for i := range all[4:] { // longer than the test would wait
		all[4+i].Workload.Turns = 1 << 40
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var reported []int
	p := Pool{Exe: exe, Processes: 3, Done: func(done int) {
		if done == 4 {
			cancel()
		}
	}}
	err := p.Run(ctx, all, func(i int, a Answer) error {
		reported = append(reported, i)
		return a.Err
	})
	if !errors.Is(err, context.Canceled) || !slices.Equal(reported, []int{0, 1, 2, 3}) {
		t.Errorf("reported %v, %v", reported, err)
	}
	full := errors.New("the disk is full")
	if err := p.Run(t.Context(), all[:4], func(int, Answer) error { return full }); !errors.Is(err, full) {
		t.Errorf("an error of report gives %v", err)
	}
}

func TestRunNeedsSimulator(t *testing.T) {
	all := jobs(t, "mcs")
	for _, exe := range []string{"/nonexistent", "/bin/false"} {
		if err := (Pool{Exe: exe}).Run(t.Context(), all, func(int, Answer) error { return nil }); err == nil || !strings.Contains(err.Error(), exe) {
			t.Errorf("%s: %v", exe, err)
		}
	}
}

func TestOffloadDuel(t *testing.T) {
	p, m := Pool{Exe: self(t)}, jobs(t, "mcs")[0].Machine
	text, err := p.Duel(t.Context(), m, 0, 2, 1)
	again, err2 := p.Duel(t.Context(), m, 0, 2, 1)
	if err != nil || err2 != nil || text != again || !strings.Contains(text, " wins: ") {
		t.Errorf("%v, %v\n%s\n%s", err, err2, text, again)
	}
	if text, err := p.Duel(t.Context(), m, 0, m.Threads(), 1); err == nil {
		t.Errorf("a thread that the machine lacks has a duel:\n%s", text)
	}
}
