package lab

import (
	"fmt"
	"io"
	"math"

	"github.com/spf13/cobra"

	"locklab/harness/result"
	"locklab/reports/page"

	"locklab/internal/numfmt"
)

const mergeHelp = `merge makes one run of the parts that the ranks of a run left, one directory each, in any
order. The parts stay as they are, and the same parts give the same files.

Counts and histograms are added up. The holds of all ranks together are judged: whether
there were two holders, within the error of the ranks' clocks, and whether fencing tokens
rose. A case and round that a rank lacks, or whose windows were not open together, is left
out and named here and in manifest.json (lost).

The exit status is 0 if all was merged, 1 if a lock broke a promise, 2 if the directories are
not the parts of one run, each once, and 3 if a case and round was left out.`

func (p *Program) mergeCommand() *cobra.Command {
	var out string
	cmd := &cobra.Command{
		Use:     "merge DIR DIR...",
		Short:   "Merge the parts that several ranks measured into one run",
		Long:    mergeHelp,
		Example: "  locklab merge runs/rank-* --out runs/merged    makes one run of the parts of all ranks",
		Args:    needs(1, math.MaxInt, "merge needs the directories of all parts of a run"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return interruptible(cmd.Context(), cmd.ErrOrStderr(), "the merged run", func(files *saver) error {
				return mergeRuns(files, args, out, cmd.OutOrStdout(), cmd.ErrOrStderr())
			})
		},
	}
	cmd.Flags().StringVarP(&out, "out", "o", "", "directory to write (default "+defaultRunsRoot+"/TIME)")
	return cmd
}

func mergeRuns(files *saver, dirs []string, out string, stdout, stderr io.Writer) error {
	if out != "" {
		if err := claim(out, false); err != nil {
			return err
		}
	}
	beThrifty()
	parts, err := readRuns(dirs, result.Load)
	if err != nil {
		return err
	}
	run, err := result.Merge(parts)
	if err != nil {
		return err
	}
	out = outOrNew(out)
	if err := files.saveRun(out, run); err != nil {
		return err
	}
	for _, d := range run.DamageSummary() {
		fmt.Fprintln(stderr, d)
	}
	printLost(stderr, run.Manifest.Lost)
	if run.Manifest.Interrupted {
		fmt.Fprintln(stderr, "the run ended before its last round: this is what all ranks had measured until then")
	}
	broke := false
	for _, r := range run.Results {
		for _, v := range r.Violations {
			broke = true
			fmt.Fprintf(stderr, "lock=%s/%s, round %d violated %s: %s\n", r.Lock.Name, r.Workload.Name(), r.Round+1, v.Rule, v.Detail)
		}
	}
	if err := page.WriteRanks(stdout, run); err != nil {
		return err
	}
	fmt.Fprintf(stdout, "\n%s of %s merged into %s\n", numfmt.Plural(len(run.Results), "result"), numfmt.Plural(len(parts), "rank"), out)
	switch {
	case broke:
		return errViolations
	case len(run.Manifest.Lost) > 0:
		return errDropped
	}
	return nil
}

const mostLost = 20

func printLost(stderr io.Writer, lost []result.Loss) {
	for _, l := range lost[:min(len(lost), mostLost)] {
		fmt.Fprintf(stderr, "not merged: %s\n", l)
	}
	if n := len(lost) - mostLost; n > 0 {
		fmt.Fprintf(stderr, "not merged: %d more, which manifest.json names\n", n)
	}
}
