package lab

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"locklab/harness"
	"locklab/harness/resultfile"
	"locklab/harness/verdict"
	"locklab/internal/numfmt"
	"locklab/reports"
)

// errDisagree only chooses the exit status: what it says has been said.
var errDisagree = errors.New("the verdicts do not agree")

func (p *Program) agreeCommand() *cobra.Command {
	var least string
	var guarantees guarding
	cmd := &cobra.Command{
		Use:   "agree DIR [DIR]...",
		Short: "Say whether runs of the same cases come to the same verdicts",
		Long: `agree prints for each situation which lock the runs choose and how often, how many
runs choose the lock that most do, and how many come to no verdict; and the same for
the first sentence of the report. Beside it stands the share that the runs predict
for themselves, by drawing their rounds again.

Of one run that share is all there is.

The exit status is 1 if less than --least of the runs agree in a row or in a first
sentence, or if one comes to no verdict where the best lock leads by two margins; of
one run, if less than --least of the resampled runs choose the same lock in a row in
which the best lock leads by two margins.`,
		Example: "  locklab agree DIR                  how stable the verdicts of a run are\n  locklab agree DIR DIR DIR          whether three runs agree",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return fmt.Errorf("%w: agree needs the directories of runs", harness.ErrUsage)
			}
			return nil
		},
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

// agree prints how far runs agree, and returns errDisagree if less than that share does.
func agree(out io.Writer, runs []*resultfile.Run, least float64) error {
	rows, sentences := verdict.Across(runs, reports.Lead)
	if len(rows) == 0 {
		return fmt.Errorf("%w: there is no result that a verdict could rest on", harness.ErrUsage)
	}
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "situation\tsame\tpredicted\tno verdict\tahead\tchosen")
	failed := false
	for i, r := range append(rows, sentences...) {
		mark := ""
		if !stable(r, len(runs), least, i >= len(rows)) {
			mark, failed = "  FAILED", true
		}
		name := r.Situation
		if r.Setting != "" {
			name += " (" + r.Setting + ")"
		}
		fmt.Fprintf(t, "%s\t%d of %d\t%.0f %%\t%d\t%s\t%s%s\n", name, r.Tallies[0].Runs, r.Runs, 100*r.Predicted, r.None(), aheadText(r), choices(r, i >= len(rows)), mark)
	}
	for _, r := range sentences {
		for _, said := range r.Tallies {
			fmt.Fprintf(t, "%d of %d: %s\n", said.Runs, r.Runs, numfmt.Plain(said.Choice))
		}
	}
	if err := t.Flush(); err != nil {
		return fmt.Errorf("lab: %w", err)
	}
	if err := unsaid(out, rows); err != nil {
		return err
	}
	if failed {
		return errDisagree
	}
	return nil
}

// stable reports whether r, of so many runs, is as stable as it should be.
func stable(r verdict.Row, runs int, least float64, sentence bool) bool {
	if runs == 1 {
		return sentence || !r.Decided || r.None() == 0 && r.Predicted >= least
	}
	return r.Runs == runs && r.Share() >= least && (!r.Decided || r.None() == 0)
}

func aheadText(r verdict.Row) string {
	text := numfmt.Unknown
	if r.Ahead > 0 {
		text = numfmt.Plain(numfmt.Times(r.Ahead))
	}
	if r.Decided {
		text += ", decided"
	}
	return text
}

// choices lists what the runs of r choose, the most often first; of sentences, which
// are written out below, how many there are.
func choices(r verdict.Row, sentence bool) string {
	if sentence {
		return numfmt.Plural(len(r.Tallies), "sentence")
	}
	var parts []string
	for _, t := range r.Tallies {
		parts = append(parts, fmt.Sprintf("%s: %d", cmp.Or(t.Choice, "no verdict"), t.Runs))
	}
	return strings.Join(parts, ", ")
}

// unsaid prints how often there is no verdict.
func unsaid(out io.Writer, rows []verdict.Row) error {
	var all, none, decided, missed int
	for _, r := range rows {
		all, none = all+r.Runs, none+r.None()
		if r.Decided {
			decided, missed = decided+r.Runs, missed+r.None()
		}
	}
	_, err := fmt.Fprintf(out, "no verdict: %d of %d; where the best lock leads by two margins: %d of %d\n", none, all, missed, decided)
	if err != nil {
		return fmt.Errorf("lab: %w", err)
	}
	return nil
}
