package lab

import (
	"cmp"
	"errors"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"locklab/harness/chaos"
	"locklab/harness/judge"
	"locklab/harness/result"
	"locklab/internal/nearest"
	"locklab/internal/numfmt"
)

// chaosName is the subdirectory of a run with its failure scenarios.
const chaosName = "chaos"

// A guarding is the terms of a verdict: required guarantees, and runs of failure scenarios.
type guarding struct {
	tolerance *float64 // nil without the flag
	baseline  string
	require   []result.Guarantee
	chaos     []string
	runs      []*result.Run // in chaos
}

func (g *guarding) flags(cmd *cobra.Command) {
	toleranceFlag(cmd.Flags(), &g.tolerance, "")
	cmd.Flags().Var(list(&g.require, parseGuarantee), "require", "recommend only distributed locks with these tested guarantees: "+guarantees(result.Guarantees))
}

func (g *guarding) tableFlags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&g.baseline, "baseline", "", "lock that the table compares the others with (default "+judge.DefaultBaseline+"; distributed the fastest that others wrote, else the first)")
}

func (g *guarding) runFlags(cmd *cobra.Command) {
	cmd.Flags().StringSliceVar(&g.chaos, "chaos", nil, "directories of runs of failure scenarios to take guarantees from (default DIR/"+chaosName+" if it is there)")
}

func guaranteeNames() []string {
	return result.Each(result.Guarantees, func(g result.Guarantee) string { return string(g) })
}

func parseGuarantee(name string) (result.Guarantee, error) {
	if g := result.Guarantee(name); slices.Contains(result.Guarantees, g) {
		return g, nil
	}
	return "", usage("there is no guarantee %q%s; there are %s", name, nearest.Hint(name, guaranteeNames()), guarantees(result.Guarantees))
}

// loadRuns returns the runs in dirs with the terms of the flags.
func (g *guarding) loadRuns(dirs []string) ([]*result.Run, error) {
	runs, err := loadRuns(dirs)
	if err == nil {
		g.runs, err = readRuns(g.chaos, loadFaults)
	}
	if err != nil {
		return nil, err
	}
	for _, run := range runs {
		if err := errors.Join(g.apply(run), g.compares(locksOf(run))); err != nil {
			return nil, err
		}
	}
	remote := func(run *result.Run) bool {
		return slices.ContainsFunc(locksOf(run), func(l result.Lock) bool { return l.Traits.Needs != "" })
	}
	if len(g.require) > 0 && !slices.ContainsFunc(runs, remote) {
		return nil, usage("--require is about distributed locks, and the run measured none")
	}
	return runs, nil
}

func loadFaults(dir string) (*result.Run, error) {
	run, err := result.Load(dir)
	if err == nil && len(run.Faults) == 0 {
		err = usage("--chaos %s: this run tried no failure scenario", dir)
	}
	return run, err
}

// apply sets the flags' terms in run and adds the published outcomes of failure scenarios.
func (g *guarding) apply(run *result.Run) error {
	run.Require, run.Baseline = g.require, g.baseline
	run.Manifest.Tolerance = cmp.Or(g.tolerance, run.Manifest.Tolerance)
	if err := g.addFaults(run); err != nil {
		return err
	}
	remote := filter(locksOf(run), func(l result.Lock) bool { return l.Traits.Needs != "" })
	published, err := chaos.Published(remote)
	if err != nil {
		return err
	}
	run.AddPublished(published, chaos.PublishedFrom())
	return nil
}

// addFaults adds the failure scenarios of --chaos, or else of the run's directory.
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
		if sameDir(other.Dir, run.Dir) || run.Manifest.IsCopyOf(other.Manifest) {
			return usage("--chaos %s is the run itself: its failure scenarios are in the report anyway", other.Dir)
		}
		run.AddFaults(other)
	}
	return nil
}

func (g *guarding) compares(locks []result.Lock) error {
	names := result.Each(locks, func(l result.Lock) string { return l.Name })
	if g.baseline == "" || slices.Contains(names, g.baseline) {
		return nil
	}
	return usage("--baseline %s: the run has no such lock%s; it has %s", g.baseline, nearest.Hint(g.baseline, names), numfmt.List(names, 12))
}

func locksOf(runs ...*result.Run) (locks []result.Lock) {
	for _, run := range runs {
		for _, r := range run.Results {
			if !slices.ContainsFunc(locks, func(l result.Lock) bool { return l.Name == r.Lock.Name }) {
				locks = append(locks, r.Lock)
			}
		}
	}
	return locks
}

func sameDir(a, b string) bool {
	x, xerr := os.Stat(a)
	y, yerr := os.Stat(b)
	return xerr == nil && yerr == nil && os.SameFile(x, y)
}
