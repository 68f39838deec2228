package lab

import (
	"math"

	"github.com/spf13/cobra"

	"locklab/reports/page"
)

func (p *Program) agreeCommand() *cobra.Command {
	least, significant := new(0.9), new(0.9)
	var guarantees guarding
	cmd := &cobra.Command{
		Use:   "agree DIR [DIR]...",
		Short: "Compare the recommendations of several runs of the same cases",
		Long: `agree prints which lock the runs choose for each situation and for the headline, and how often.
For each run it prints how many of the differences of 25 % or more are significant. The exit
status is 1 if less than --least of the runs agree on a situation or on the headline, or if
less than --significant of these differences of all runs are significant.`,
		Example: "  locklab agree DIR DIR DIR          compare three runs",
		Args:    needs(1, math.MaxInt, "agree needs the directories of runs"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return interruptible(cmd.Context(), cmd.ErrOrStderr(), "the agreement", func(*saver) error {
				runs, err := guarantees.loadRuns(args)
				if err != nil {
					return err
				}
				agree, err := page.WriteAgreement(cmd.OutOrStdout(), runs, *least, *significant)
				if err == nil && !agree {
					err = errDisagree
				}
				return err
			})
		},
	}
	cmd.Flags().Var(&valueFlag[*float64]{&least, "90%", parsePercentage}, "least", "share of the runs that must agree")
	cmd.Flags().Var(&valueFlag[*float64]{&significant, "90%", parsePercentage}, "significant", "share of the differences of 25 % or more that must be significant")
	guarantees.flags(cmd)
	guarantees.runFlags(cmd)
	return cmd
}
