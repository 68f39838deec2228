package lab

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"locklab/harness/chaos"
	"locklab/harness/result"
	"locklab/reports/page"

	"locklab/internal/numfmt"
)

// A short run takes about 20 seconds: scenarios wait most of the time.
const (
	shortBudget   = 20 * time.Second
	shortParallel = 4
)

// A chaosRun tries failure scenarios, prints the outcomes and, with a directory, stores them.
type chaosRun struct {
	program   *Program
	scenarios []string
	locks     []string
	tries     int
	short     bool
	seed      uint64
	later     time.Duration // of the parts of the command after the scenarios
	store

	results []*result.FaultResult // of this run and of the resumed one
	done    []*result.FaultResult // of the resumed run
}

func (p *Program) chaosCommand() *cobra.Command {
	c := chaosRun{program: p}
	cmd := &cobra.Command{
		Use:   "chaos",
		Short: "Inject failures, and check which ones distributed locks tolerate",
		Long: `chaos tries named failure scenarios on distributed locks: a holder that pauses, a reply that
is lost, a leader that hangs, a primary that fails over. It starts the servers itself and
never touches one that it did not start. Each lock's history is judged and compared with
the expected outcome:

  confirmed     as expected
  unexpected    an anomaly was seen that was not expected
  not shown     none of the possible anomalies was seen in n tries

with the upper bound, at 95 %, of their frequency. The exit status is 1 if an anomaly
was unexpected, and 2 if nothing could be tried. With --out it keeps the results, the histories of anomalies and a report in a
directory. Ctrl-C keeps the finished results; --resume continues.`,
		Example: `  locklab chaos list
  locklab chaos --scenario holder-pause --locks 'redis-.*,redsync,zk-.*'
  locklab chaos --short
  locklab chaos -o DIR
  locklab chaos -o DIR --resume`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.run(cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	f := cmd.Flags()
	f.StringSliceVar(&c.scenarios, "scenario", nil, "names of scenarios, or regular expressions for them (default: all)")
	f.StringSliceVar(&c.locks, "locks", nil, "as for run (default: all locks that a scenario applies to)")
	f.Var(count(&c.tries, 0, 1, mostRounds), "tries", "tries of each scenario with each lock (default: the scenario's own number, up to 200)")
	f.BoolVar(&c.short, "short", false, "only scenarios that are quick, once each: about 20 seconds")
	f.Var(seed(&c.seed, 1), "seed", "random seed")
	c.store.flags(f, "only print")
	cmd.AddCommand(p.chaosListCommand())
	return cmd
}

func (c *chaosRun) plan() (*chaos.Plan, error) {
	ss, err := c.program.scenarios(c.scenarios)
	if err != nil {
		return nil, err
	}
	locks := c.program.Locks
	if len(c.locks) > 0 {
		if locks, err = c.program.choose(c.locks); err != nil {
			return nil, err
		}
	}
	ss = filter(ss, func(s *chaos.Scenario) bool { return (s.Short || !c.short) && len(subjects(locks, s)) > 0 })
	if len(ss) == 0 {
		return nil, usage("none of the scenarios applies to these locks; '%s chaos list -v' shows which do", c.program.Name)
	}
	plan := &chaos.Plan{Scenarios: ss, Locks: locks, Tries: c.tries, Seed: c.seed, Dir: c.out, Done: c.before}
	if c.short {
		plan.Tries, plan.Budget, plan.Parallel = cmp.Or(c.tries, 1), shortBudget, shortParallel
	}
	return plan, nil
}

func (c *chaosRun) before(scenario, lock string) (count, all int) {
	i := slices.IndexFunc(c.done, func(r *result.FaultResult) bool { return r.Scenario == scenario && r.Lock.Name == lock })
	if i < 0 {
		return 0, 0
	}
	r := c.done[i]
	return r.Tries + r.Failed, r.Tries + r.Failed + r.Starved
}

func (c *chaosRun) goOn(earlier *result.Run) {
	c.done, c.results = earlier.Faults, slices.Clone(earlier.Faults)
}

func (c *chaosRun) run(ctx context.Context, stdout, stderr io.Writer) error {
	plan, err := c.plan()
	if err != nil { // before writing anything
		return err
	}
	if m, err := result.ReadManifest(c.out); c.resume && err == nil && m.Seed != c.seed {
		return usage("the run in %s has seed %d: give --seed %d", c.out, m.Seed, m.Seed)
	}
	err = c.store.keep(ctx, c.program.manifest(c.seed), stdout, stderr, func(earlier *result.Run) error {
		if earlier != nil {
			c.goOn(earlier)
		}
		return errors.Join(c.try(ctx, plan, stderr), c.print(stdout))
	})
	able := func(r *result.FaultResult) bool { return r.Skipped == "" || r.Tries > 0 }
	switch {
	case err != nil:
		return err
	case len(c.unexpected()) > 0:
		return errViolations
	case len(c.results) > 0 && !slices.ContainsFunc(c.results, able):
		return usage("nothing was tried: %s", c.results[0].Skipped)
	}
	return nil
}

// try runs plan. It does not try again what a resumed run has tried.
func (c *chaosRun) try(ctx context.Context, plan *chaos.Plan, stderr io.Writer) error {
	show := c.program.newProgress(stderr, c.later)
	defer show.clear()
	n, d := plan.Estimate()
	if n > 0 {
		fmt.Fprintf(stderr, "%s, %s to make, about %v or less\n", numfmt.Plural(len(plan.Scenarios), "scenario"), tries(n), d.Round(time.Second))
	} else {
		fmt.Fprintln(stderr, "nothing is left to try")
	}
	begin, begun, known := time.Now(), 0, make(map[*chaos.Scenario]bool)
	show.written = begin
	plan.Begin = func(p chaos.Progress) {
		if !known[p.Scenario] {
			known[p.Scenario] = true
			show.lasting(fmt.Sprintf("%s: %s, %s", p.Scenario.Name, numfmt.Plural(p.Locks, "lock"), tries(p.Of)))
		}
		begun++
		ended := min(n, max(0, begun-max(1, plan.Parallel)))
		show.show(step{done: p.Try - 1, total: p.Of, name: p.Scenario.Name, left: remaining(d, time.Since(begin), ended, n)})
	}
	c.versions = make(map[string]string)
	plan.Started = func(kind, version string) { c.versions[kind] = version }
	return plan.Run(ctx, c.keep)
}

func (c *chaosRun) keep(r *result.FaultResult) error {
	own := *r
	c.results = result.AddFault(c.results, &own)
	return c.append(result.Record{Fault: r})
}

func (c *chaosRun) print(out io.Writer) error {
	rows := result.Each(c.results, result.JudgeFault)
	slices.SortStableFunc(rows, func(a, b result.FaultOutcome) int { return order(a.Fault.Scenario) - order(b.Fault.Scenario) })
	return page.WriteFaults(out, rows, width(out))
}

func order(name string) int {
	return slices.IndexFunc(chaos.Suite, func(s *chaos.Scenario) bool { return s.Name == name })
}

func (c *chaosRun) unexpected() (lines []string) {
	for _, r := range c.results {
		if row := result.JudgeFault(r); row.Verdict == result.Unexpected {
			lines = append(lines, fmt.Sprintf("%s: %s in scenario %s, which was not expected: %s", r.Lock.Name, page.Anomalies(row.Unexpected), r.Scenario, r.Expected.Why))
		}
	}
	return lines
}

func tries(n int) string { return fmt.Sprintf("%d %s", n, numfmt.Choose(n, "try", "tries")) }
