package lab

import (
	"io"

	"github.com/spf13/cobra"

	"locklab/hardware"
	"locklab/hardware/evidence"
)

func (p *Program) hardwareCommand() *cobra.Command {
	cmd := p.experimentsCommand(hardware.Suite, false)
	cmd.Use, cmd.Short = "hardware", "Measure and disassemble the atomic instructions of this machine"
	cmd.Long = `hardware runs the default experiments in half a minute. Each experiment is also a
command, with its question and its method. With --out it keeps the findings, and the report
with their charts, in a directory. Ctrl-C keeps the finished results; --resume continues.`
	cmd.Example = `  locklab hardware
  locklab hardware core-to-core -o DIR
  locklab hardware core-to-core -o DIR --resume
  locklab hardware waiting
  locklab hardware evidence`
	cmd.AddCommand(evidenceCommand())
	for _, e := range hardware.Suite {
		one := p.experimentsCommand([]*hardware.Experiment{e}, true)
		one.Use, one.Short, one.Long = e.Name, e.Question, e.Question+"\n\n"+e.Method+"\n\nSource: "+e.Source
		if e.OptIn != "" {
			one.Long += "\n\nIt runs only if it is named: " + e.OptIn
		}
		cmd.AddCommand(one)
	}
	return cmd
}

// experimentsCommand returns a command that runs suite. An experiment that the user named must be
// available.
func (p *Program) experimentsCommand(suite []*hardware.Experiment, named bool) *cobra.Command {
	h := hardwareRun{program: p, named: named}
	cmd := &cobra.Command{
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := suite[0].Available(); named && err != nil {
				return err
			}
			h.evidence = !named && h.out != ""
			return h.run(cmd.Context(), suite, cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	f := cmd.Flags()
	f.Var(count(&h.options.Repeats, 0, 1, mostRounds), "repeats", "number of repetitions (default 5)")
	f.Var(span(&h.options.Budget, 0, 1, day), "budget", "approximate measuring time (default 3s, or the experiment's own)")
	f.Var(seed(&h.options.Seed, 0), "seed", "random seed")
	h.store.flags(f, "only print")
	return cmd
}

func evidenceCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "evidence",
		Short: "Disassemble the atomic operations in this binary",
		Long: `evidence reads the text of the running binary and prints the instructions of compare-and-swap,
swap, add, acquire load and release store: sync/atomic as the compiler inlined it, and each
primitive written in assembly. An arrow marks the instruction that makes an operation one
step for every other CPU. Primitives that this CPU lacks are listed too; nothing is executed.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ls, err := evidence.Capture()
			if err == nil {
				_, err = io.WriteString(cmd.OutOrStdout(), evidence.Text(ls))
			}
			return err
		},
	}
}
