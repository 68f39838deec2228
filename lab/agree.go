package lab

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"locklab/harness"
	"locklab/harness/judge"
	"locklab/harness/result"
	"locklab/internal/numfmt"
	"locklab/reports/page"
)

// errDisagree selects the exit status; the reason has been printed.
var errDisagree = errors.New("the runs do not agree")

func (p *Program) agreeCommand() *cobra.Command {
	var least string
	var guarantees guarding
	cmd := &cobra.Command{
		Use:   "agree DIR [DIR]...",
		Short: "Compare the recommendations of several runs of the same cases",
		Long: `agree prints for each situation which lock the runs choose and how often, and
the same for the headline of the report. It also prints how many of the differences of
25 % or more each run shows to be significant.

The exit status is 1 if less than --least of the runs agree on a situation or on the
headline.`,
		Example: "  locklab agree DIR DIR DIR          compare three runs",
		Args:    needs(1, "agree needs the directories of runs"),
		RunE: func(cmd *cobra.Command, args []string) error {
			share, err := parseMargin(least)
			if err != nil {
				return fmt.Errorf("%w (in --least)", err)
			}
			if err := guarantees.load(); err != nil {
				return err
			}
			defer thrifty()()
			runs, err := loadRuns(args)
			if err != nil {
				return err
			}
			for _, run := range runs {
				if err := guarantees.apply(run); err != nil {
					return err
				}
			}
			return agree(cmd.OutOrStdout(), runs, share)
		},
	}
	cmd.Flags().StringVar(&least, "least", "90%", "share of the runs that must agree")
	guarantees.flags(cmd)
	guarantees.runFlags(cmd)
	return cmd
}

// agree prints the decisions of runs, and returns errDisagree if the share in agreement is
// under least.
func agree(out io.Writer, runs []*result.Run, least float64) error {
	rows := judge.Across(runs)
	if len(rows) == 0 {
		return fmt.Errorf("%w: the runs have no result to decide by", harness.ErrUsage)
	}
	lead := judge.Row{Situation: "headline"}
	for _, run := range runs {
		lead.Count(page.Headline(judge.Decisions(run)))
	}
	t := newTable(out, "situation", "workers", "workload", "agree", "chosen")
	failed := false
	for _, r := range append(rows, lead) {
		mark := ""
		if r.Runs < len(runs) || r.Share() < least {
			mark, failed = "  FAILED", true
		}
		chosen := choices(r)
		if r.Workload == "" {
			chosen = numfmt.Plural(len(r.Tallies), "headline")
		}
		t.row(r.Situation, r.Workers, r.Workload, fmt.Sprintf("%d of %d", r.Tallies[0].Runs, len(runs)), chosen+mark)
	}
	if err := t.flush(); err != nil {
		return err
	}
	for _, x := range lead.Tallies {
		fmt.Fprintf(out, "%d of %d: %s\n", x.Runs, lead.Runs, numfmt.Plain(x.Choice))
	}
	for _, run := range runs {
		p := judge.PowerOf(judge.Tables(run, ""))
		fmt.Fprintf(out, "%s: %d of %d differences of 25 %% or more are significant\n", run.Dir, p.Significant, p.Large)
	}
	if failed {
		return errDisagree
	}
	return nil
}

// choices lists the choices of the runs of r, the most frequent first.
func choices(r judge.Row) string {
	var parts []string
	for _, t := range r.Tallies {
		parts = append(parts, fmt.Sprintf("%s: %d", cmp.Or(t.Choice, "no recommendation"), t.Runs))
	}
	return strings.Join(parts, ", ")
}
