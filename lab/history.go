package lab

import (
	"cmp"
	"fmt"
	"math"
	"strings"

	"github.com/spf13/cobra"

	"locklab/harness/judge"
	"locklab/internal/stat"
	"locklab/reports/page"
)

type historyOptions struct {
	compareOptions
	asGiven, all bool
	out          string
}

const historyHelp = `history shows each case of several runs, given by their directories, over their dates, and
where it changed. Runs of different machines are never one series: a machine is its host,
processors, system, CPU limit and GOMAXPROCS.

Runs of different days differ by more than the code. So a change is a step that stays. A
rank test must separate the runs before and after it. Runs in random order have such a step
in any case of the machine with probability --alpha. The ratio of the two levels must also
exceed the tolerance. That takes eight runs of a machine; with fewer, history only
compares each run with the one before, as 'locklab compare' does. A run that differs alone
is an outlier, not a change. Other differences between the two runs are listed. With --to
the figures are ratios to another lock of the same rounds, which cancels a slow day.

The exit status is the verdict:
  0  no case's last change is for the worse
  1  the last change of a case is for the worse, or its lock broke a promise in the newest run
  2  no history: wrong usage, one run, nothing in common
  3  inconclusive: too few runs whose neighbours differ, an outlier as the newest run, or
     one that lacks results`

func (p *Program) historyCommand() *cobra.Command {
	o := historyOptions{compareOptions: compareOptions{run: runOptions{program: p}}}
	cmd := &cobra.Command{
		Use:   "history DIR DIR...",
		Short: "Show each case over several runs, by machine, with its changes",
		Long:  historyHelp,
		Example: `  locklab history runs/2026-*
  locklab history runs/2026-* --metric cpu,requests --locks mcs,sync-mutex
  locklab history runs/2026-* --to sync-mutex,redis-queue      as ratios: a slow day cancels
  locklab history runs/2026-* --out history                    a page, and the same as Markdown with pictures
  locklab history runs/2026-* --format json > history.json`,
		Args: needs(2, math.MaxInt, "history needs the directories of two runs at least"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return compared(interruptible(cmd.Context(), cmd.ErrOrStderr(), "the history", func(files *saver) error {
				return o.history(cmd, files, args)
			}))
		},
	}
	f := cmd.Flags()
	toleranceFlag(f, &o.tolerance, "")
	f.Var(chance(&o.alpha), "alpha", "chance of any false change on runs in random order, and of any false difference of neighbours")
	o.changesFlags(f)
	f.StringVar(&o.run.locks, "locks", "all", "which locks: names, families, statuses or regular expressions")
	f.StringVar(&o.to, "to", "", "figures are ratios to this lock in the same round; of a list, to the first that was measured, and local for a local lock")
	f.BoolVar(&o.asGiven, "as-given", false, "take the runs in the order of the arguments, not of their dates")
	f.BoolVar(&o.all, "all", false, "print every run of every case, also of cases without a change or a warning")
	f.StringVarP(&o.out, "out", "o", "", "also write FILE.html, FILE.md, or a directory for a page and Markdown with pictures")
	return cmd
}

func (o *historyOptions) history(cmd *cobra.Command, files *saver, dirs []string) error {
	how, err := o.options()
	if err != nil {
		return err
	}
	how.Tolerance = cmp.Or(how.Tolerance, new(stat.DefaultTolerance))
	runs, err := loadRuns(dirs)
	if err == nil {
		how.Locks, err = o.among(runs...)
	}
	if err != nil {
		return err
	}
	to := filter(strings.Split(o.to, ","), func(name string) bool { return name != "" })
	h, err := judge.NewHistory(runs, judge.HistoryOptions{CompareOptions: how, AsGiven: o.asGiven, To: to})
	if err != nil {
		return err
	}
	if o.out != "" {
		doc := page.History(h)
		if err := newTarget(o.out).write(files, doc.HTML, doc.Markdown); err != nil {
			return err
		}
	}
	verdict := o.print(page.HistoryChanges(h, o.all), h.Outcome(), cmd.OutOrStdout(), cmd.ErrOrStderr())
	if o.out != "" && o.format == "text" {
		fmt.Fprintf(cmd.OutOrStdout(), "\n%s\n", reportLine(newTarget(o.out).first()))
	}
	return verdict
}
