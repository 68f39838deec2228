package lab

import (
	"errors"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"locklab/harness"
	"locklab/harness/measure"
	"locklab/harness/result"
)

func parseRun(t *testing.T, args ...string) (*runOptions, *pflag.FlagSet) {
	t.Helper()
	o := &runOptions{program: program()}
	cmd := &cobra.Command{}
	o.axisFlags(cmd)
	o.rankFlags.declare(cmd)
	o.runFlags(cmd)
	requireNoError(t, cmd.ParseFlags(args))
	return o, cmd.Flags()
}

func optionsOf(t *testing.T, args string) runOptions {
	t.Helper()
	o, _ := parseRun(t, strings.Fields(args)...)
	return *o
}

func requirePlan(t *testing.T, o runOptions) *measure.Plan {
	t.Helper()
	p, err := o.plan()
	requireNoError(t, err)
	return p
}

func planOfFlags(t *testing.T, args ...string) (*runOptions, *measure.Plan, error) {
	t.Helper()
	o, flags := parseRun(t, args...)
	p, err := o.prepare(flags)
	return o, p, err
}

// TestBrief: the cases by default, with --quick and a budget, and again by the kept flags.
func TestBrief(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2))
	for _, c := range []struct {
		args  string
		brief bool
		most  time.Duration // of the estimate; 0 for any
	}{
		{"", true, 110 * time.Second},
		{"--quick", true, 22 * time.Second},
		{"--quick --locks mcs,redis-queue", true, 22 * time.Second},
		{"--quick --locks all", true, 0},
		{"--budget 5m", false, 5 * time.Minute},
		{"--rounds 3", false, 0},
		{"--workers 2", false, 0},
		{"--locks all", false, 0},
	} {
		o, p, err := planOfFlags(t, strings.Fields(c.args)...)
		if err != nil {
			t.Fatalf("run %s: %v", c.args, err)
		}
		if low := p.Estimate(); o.brief != c.brief || c.most > 0 && low > c.most {
			t.Errorf("run %s: brief %t, estimate %v, want %t and at most %v", c.args, o.brief, low, c.brief, c.most)
		}
		workers := map[bool]map[int]bool{true: {}, false: {}}
		for _, x := range p.Cases {
			workers[x.Lock.Remote != nil][x.Workload.Workers] = true
			if c.brief && (x.Workload.Reads > 0 || x.Workload.Rate > 0) || x.Lock.Remote != nil && c.args == "--quick" {
				t.Errorf("run %s measures %s", c.args, x.Name())
			}
		}
		if got := len(workers[false]); c.brief && (got > 2 || !workers[false][16]) {
			t.Errorf("run %s: local workers %v, want 1 and 16", c.args, workers[false])
		}
		if got := workers[true]; c.args == "" && (len(got) != 1 || !got[briefRemoteWorkers]) {
			t.Errorf("run %s: distributed workers %v, want %d", c.args, got, briefRemoteWorkers)
		}
		again, flags := parseRun(t)
		m := result.Manifest{Flags: o.chosen}
		o.record(&m, p)
		requireNoError(t, recall(flags, "DIR", m))
		work := func(c measure.Case) harness.Workload { return c.Workload }
		if q, err := again.planAgain(m); err != nil || q.Rounds != p.Rounds || q.Every != p.Every || !slices.Equal(result.Each(q.Cases, work), result.Each(p.Cases, work)) {
			t.Errorf("run %s: %d cases in %d rounds, every %v; resumed %+v, error %v", c.args, len(p.Cases), p.Rounds, p.Every, q, err)
		}
	}
}

func TestQuickRefuses(t *testing.T) {
	o := optionsOf(t, "--quick")
	o.program = &Program{Name: "own", Locks: program().spinLocks()}
	if _, err := o.plan(); !errors.Is(err, harness.ErrUsage) {
		t.Errorf("got %v, want a usage error", err)
	}
	if _, err := optionsOf(t, "--quick --budget 1s").plan(); !errors.Is(err, harness.ErrUsage) {
		t.Errorf("a budget that the report takes up: got %v, want a usage error", err)
	}
}
