package lab

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"locklab/harness"
	"locklab/harness/chaos"
	"locklab/harness/judge"
	"locklab/harness/result"
	"locklab/internal/nearest"
	"locklab/internal/numfmt"
)

// chaosName is the subdirectory of a run with its failure scenarios.
const chaosName = "chaos"

// A guarding is the terms of a verdict: the required guarantees of distributed locks, and
// the runs of failure scenarios to check them.
type guarding struct {
	terms
	baseline string
	require  []string
	chaos    []string

	wanted []harness.Guarantee // require, validated
	runs   []*result.Run       // in chaos
}

// flags declares the flags of every command with a verdict.
func (g *guarding) flags(cmd *cobra.Command) {
	g.terms.flags(cmd.Flags())
	cmd.Flags().StringSliceVar(&g.require, "require", nil, "recommend only distributed locks with these tested guarantees: "+strings.Join(guaranteeNames(), ", "))
}

// tableFlags declares the flag of commands that write the table of all locks.
func (g *guarding) tableFlags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&g.baseline, "baseline", "", "lock that the table compares the others with (default "+judge.DefaultBaseline+"; distributed the fastest that others wrote, else the first)")
}

// runFlags declares the flag for further runs.
func (g *guarding) runFlags(cmd *cobra.Command) {
	cmd.Flags().StringSliceVar(&g.chaos, "chaos", nil, "directories of runs of failure scenarios to take guarantees from (default DIR/"+chaosName+" if it is there)")
}

func guaranteeNames() (names []string) {
	for _, g := range harness.Guarantees {
		names = append(names, string(g))
	}
	return names
}

// load validates the flags and reads the runs that they name.
func (g *guarding) load() error {
	g.wanted, g.runs = nil, nil
	if err := g.terms.apply(new(result.Manifest)); err != nil {
		return err
	}
	for _, name := range g.require {
		want := harness.Guarantee(strings.TrimSpace(name))
		if !slices.Contains(harness.Guarantees, want) {
			return fmt.Errorf("%w: --require %s: there is no such guarantee; there are %s", harness.ErrUsage, name, strings.Join(guaranteeNames(), ", "))
		}
		if !slices.Contains(g.wanted, want) {
			g.wanted = append(g.wanted, want)
		}
	}
	var seen []os.FileInfo
	for _, dir := range g.chaos {
		run, err := result.Load(dir)
		if err != nil {
			return err
		}
		if len(run.Faults) == 0 {
			return fmt.Errorf("%w: --chaos %s: this run tried no failure scenario", harness.ErrUsage, dir)
		}
		info, err := os.Stat(dir)
		if err != nil {
			return err
		}
		if slices.ContainsFunc(seen, func(o os.FileInfo) bool { return os.SameFile(o, info) }) {
			return fmt.Errorf("%w: --chaos %s is given twice: its tries would count twice", harness.ErrUsage, dir)
		}
		seen, g.runs = append(seen, info), append(g.runs, run)
	}
	return nil
}

// apply sets in run, which was read from a directory, what the flags ask for, and adds
// the published outcomes of failure scenarios to its own.
func (g *guarding) apply(run *result.Run) error {
	run.Require, run.Baseline = g.wanted, g.baseline
	if err := g.terms.apply(&run.Manifest); err != nil {
		return err
	}
	if err := g.addFaults(run); err != nil {
		return err
	}
	published, err := chaos.Published(distributed(run))
	if err != nil {
		return err
	}
	run.AddPublished(published, chaos.PublishedFrom())
	return nil
}

// addFaults adds to run the failure scenarios of the runs that --chaos names, or without
// it of the one in its directory.
func (g *guarding) addFaults(run *result.Run) error {
	if own := filepath.Join(run.Dir, chaosName); len(g.runs) == 0 && result.Exists(own) {
		other, err := result.Load(own)
		if err != nil {
			return err
		}
		run.AddFaults(other)
		return nil
	}
	for _, other := range g.runs {
		if sameDir(other.Dir, run.Dir) {
			return fmt.Errorf("%w: --chaos %s is the run itself: its failure scenarios are in the report anyway", harness.ErrUsage, other.Dir)
		}
		run.AddFaults(other)
	}
	return nil
}

func distributed(run *result.Run) (locks []harness.Lock) {
	for _, r := range run.Results {
		if r.Lock.Traits.Needs != "" && !slices.ContainsFunc(locks, func(l harness.Lock) bool { return l.Name == r.Lock.Name }) {
			locks = append(locks, r.Lock)
		}
	}
	return locks
}

func (g *guarding) compares(locks []string) error {
	if g.baseline == "" || slices.Contains(locks, g.baseline) {
		return nil
	}
	return fmt.Errorf("%w: --baseline %s: the run has no such lock%s; it has %s", harness.ErrUsage, g.baseline, nearest.Hint(g.baseline, locks), numfmt.List(locks, 12))
}

func locksOf(run *result.Run) (names []string) {
	for _, r := range run.Results {
		if !slices.Contains(names, r.Lock.Name) {
			names = append(names, r.Lock.Name)
		}
	}
	return names
}

// applyAll is apply for each of runs. The runs of --chaos belong to a single run.
func (g *guarding) applyAll(runs []*result.Run) error {
	if len(g.runs) > 0 && len(runs) > 1 {
		return fmt.Errorf("%w: --chaos is for one run; of several, each takes its own from DIR/%s", harness.ErrUsage, chaosName)
	}
	for _, run := range runs {
		if err := g.apply(run); err != nil {
			return err
		}
	}
	return nil
}

func sameDir(a, b string) bool {
	x, xerr := os.Stat(a)
	y, yerr := os.Stat(b)
	return xerr == nil && yerr == nil && os.SameFile(x, y)
}
