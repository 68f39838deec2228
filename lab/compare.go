package lab

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"locklab/harness"
	"locklab/harness/judge"
	"locklab/harness/result"
	"locklab/reports/page"
)

// compared makes err a usage error unless it selects the status of a verdict: without a
// comparison the exit status must not be a regression's.
func compared(err error) error {
	if err == nil || errors.As(err, new(statusError)) || errors.Is(err, harness.ErrUsage) {
		return err
	}
	return usage("%w", err)
}

type compareOptions struct {
	tolerance           *float64 // nil without the flag
	metric, format      string
	to                  string // compare the locks of one run with this one
	alpha               float64
	interleave, anyHost bool
	run                 runOptions // of --interleave; locks also selects from two directories
}

const compareHelp = `compare pairs the cases of two runs, given by their directories, that have the same lock
and workload. A case has regressed if the whole interval of the ratio shows it to be worse
by more than the tolerance, or if its lock broke a promise in NEW. It is not worse if the
interval excludes that. Otherwise it is not significant. The intervals are simultaneous.

Runs measured at different times cannot resolve 10 % on a noisy machine. With
--interleave the arguments are two binaries of locklab: each case is measured by one right
after the other, in random order, and compared by the ratios within a
round (t-test of their logarithms). Both runs are kept, in DIR/old and DIR/new. The flags
below --interleave apply only to it, except --locks. Ctrl-C, a full disk, and a build that
gives no result five times in a row end the measurement and keep its results.

With --to LOCK the argument is one run, and the result is the tables of its report with that
baseline, or such tables by the metrics of --metric. The exit status is then 0, or 2 without
a comparison.

The exit status is the verdict (make turns 1 into 2):
  0  no case is worse by more than the tolerance
  1  at least one case regressed
  2  no comparison: wrong usage, no baseline, nothing in common
  3  inconclusive: a case is not significant, the runs are of two machines, or a run lacks
     a case, a round or a line of its file
130 after Ctrl-C.`

func (p *Program) compareCommand() *cobra.Command {
	o := compareOptions{run: runOptions{program: p}}
	cmd := &cobra.Command{
		Use:   "compare BASE NEW",
		Short: "Compare two runs, two builds, or two locks of a run, with intervals",
		Long:  compareHelp,
		Example: `  locklab compare runs/before runs/after
  locklab compare runs/before runs/after --tolerance 10% --locks mcs,sync-mutex --metric throughput,wait-p99
  locklab compare runs/before runs/after --format csv > changes.csv
  locklab compare --to mcs runs/locks --metric throughput,wait-p99
  locklab compare --interleave build/locklab.old build/locklab --locks mcs,clh --workers 1,2 -o build/compare`,
		Args: func(cmd *cobra.Command, args []string) error {
			if o.to != "" && !o.interleave {
				return needs(1, 1, "compare --to needs the directory of one run")(cmd, args)
			}
			return needs(2, 2, "compare needs the directories of two runs, or two binaries with --interleave")(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return compared(o.compare(cmd, args))
		},
	}
	o.flags(cmd)
	return cmd
}

func (o *compareOptions) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	toleranceFlag(f, &o.tolerance, " (default as in the runs)")
	f.Var(chance(&o.alpha), "alpha", "chance of any false alarm, over all comparisons")
	o.changesFlags(f)
	f.StringVar(&o.to, "to", "", "lock to compare the other locks of one run with")
	f.BoolVar(&o.interleave, "interleave", false, "BASE and NEW are binaries: measure them in alternating rounds")
	o.run.axisFlags(cmd)
	f.Var(count(&o.run.rounds, defaultPairs, 1, mostRounds), "rounds", "rounds, in which each of the two measures each case")
	o.run.windowFlags(f)
	f.Var(span(&o.run.budget, 0, 1, 7*day), "budget", "measure as many rounds as fit into this time, instead of --rounds")
	f.Var(seed(&o.run.seed, 0), "seed", "seed of the order of the cases (default random)")
	f.StringVarP(&o.run.out, "out", "o", "", "directory to write old/ and new/ into (default "+defaultRunsRoot+"/TIME)")
	f.BoolVar(&o.run.replace, "replace", false, "move earlier runs in that directory to old.previous and new.previous")
}

// withoutMeasuring are the flags that need no measurement.
var withoutMeasuring = strings.Fields("tolerance alpha metric format to interleave locks any-host help")

func metricNames() []string {
	return result.Each(judge.Metrics, func(m *result.Metric) string { return m.Name })
}

func (o *compareOptions) changesFlags(f *pflag.FlagSet) {
	names := metricNames()
	f.StringVar(&o.metric, "metric", names[0], "metrics to compare: "+strings.Join(names, ", "))
	f.StringVar(&o.format, "format", page.ChangesFormats[0], strings.Join(page.ChangesFormats, ", "))
	anyHostFlag(f, &o.anyHost)
}

func (o *compareOptions) compare(cmd *cobra.Command, args []string) error {
	how, err := o.options()
	if err != nil {
		return err
	}
	changed := cmd.Flags().Changed
	if !changed("metric") {
		how.Metrics = nil
	}
	if o.interleave && o.to != "" {
		return usage("give --to or --interleave, not both")
	}
	if o.to != "" && (changed("alpha") || changed("any-host")) {
		return usage("--alpha and --any-host are for two runs: the intervals of --to hold together with 95 %% in each column")
	}
	if o.interleave {
		if !changed("seed") {
			o.run.seed = rand.Uint64()
		}
		if changed("rounds") && changed("budget") {
			return usage("give --budget or --rounds, not both")
		}
		return o.builds(cmd.Context(), how, [2]string(args), cmd.OutOrStdout(), cmd.ErrOrStderr())
	}
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if !slices.Contains(withoutMeasuring, f.Name) {
			err = usage("--%s is for --interleave: two directories are compared as they were measured", f.Name)
		}
	})
	if err != nil {
		return err
	}
	if !changed("locks") {
		o.run.locks = "all"
	}
	return interruptible(cmd.Context(), cmd.ErrOrStderr(), "the comparison", func(*saver) error {
		return o.recorded(how, args, cmd.OutOrStdout(), cmd.ErrOrStderr())
	})
}

// recorded compares the runs in dirs, or the locks of the only one.
func (o *compareOptions) recorded(how judge.CompareOptions, dirs []string, stdout, stderr io.Writer) (err error) {
	runs := make([]*result.Run, len(dirs))
	for i, dir := range dirs {
		if runs[i], err = loadRun(dir); err != nil {
			return err
		}
	}
	if how.Locks, err = o.among(runs...); err != nil {
		return err
	}
	if o.to != "" {
		return o.locks(how, runs[0], stdout, stderr)
	}
	return o.changes(how, runs[0], runs[1], stdout, stderr)
}

func (o *compareOptions) changes(how judge.CompareOptions, base, next *result.Run, stdout, stderr io.Writer) error {
	c, err := judge.Compare(base, next, how)
	if err != nil {
		return err
	}
	return o.print(page.CompareChanges(c), c.Outcome(), stdout, stderr)
}

// locks compares the locks of run with one of them. A difference is no regression and has no
// exit status.
func (o *compareOptions) locks(how judge.CompareOptions, run *result.Run, stdout, stderr io.Writer) error {
	run.Baseline, run.Manifest.Tolerance = o.to, cmp.Or(how.Tolerance, run.Manifest.Tolerance)
	run.Results = filter(run.Results, func(r *result.Result) bool {
		return how.Locks == nil || how.Locks(r.Lock) || r.Lock.Name == o.to
	})
	x, err := page.CompareLocks(run, how.Metrics)
	if err != nil {
		return err
	}
	return o.print(x, judge.Fine, stdout, stderr)
}

func (o *compareOptions) print(x *page.Changes, outcome judge.Outcome, stdout, stderr io.Writer) error {
	if o.format == "csv" {
		for _, text := range x.Asides() {
			fmt.Fprintln(stderr, text)
		}
	}
	if err := x.Write(stdout, o.format, width(stdout)); err != nil {
		return err
	}
	return map[judge.Outcome]error{judge.Worse: errRegressed, judge.Unsure: errUnsure}[outcome]
}

func (o *compareOptions) options() (how judge.CompareOptions, err error) {
	if !slices.Contains(page.ChangesFormats, o.format) {
		return how, usage("--format is %q: want one of %s", o.format, strings.Join(page.ChangesFormats, ", "))
	}
	metrics, err := judge.FindMetrics(strings.Split(o.metric, ","))
	return judge.CompareOptions{Metrics: metrics, Alpha: o.alpha, AnyHost: o.anyHost, Tolerance: o.tolerance}, err
}

// among returns a matcher of --locks to locks of the runs, which this program may lack.
func (o *compareOptions) among(runs ...*result.Run) (func(result.Lock) bool, error) {
	p := o.run.program
	known := result.Each(locksOf(runs...), func(l result.Lock) *harness.Variant {
		return &harness.Variant{Name: l.Name, Doc: l.Doc, Family: l.Family, Status: l.Status, Traits: l.Traits}
	})
	if len(known) == 0 {
		return nil, nil // compare reports it
	}
	picked, err := (&Program{Name: p.Name, Locks: known, Defaults: p.Defaults}).choose(strings.Split(o.run.locks, ","))
	if err != nil {
		return nil, err
	}
	return func(l result.Lock) bool {
		return slices.ContainsFunc(picked, func(v *harness.Variant) bool { return v.Name == l.Name })
	}, nil
}
