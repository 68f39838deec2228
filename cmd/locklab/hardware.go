package main

import (
	"github.com/spf13/cobra"

	"locklab/atomics/evidence"
)

func hardwareCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "hardware",
		Short: "Show what this machine's atomic instructions are and do",
		Long: `hardware runs every experiment that need not be asked for by name, in half a
minute. Each is also a command of its own, with its question and its method.`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return runAllExperiments(cmd.Context(), cmd.OutOrStdout())
		},
	}
	cmd.AddCommand(evidenceCommand())
	cmd.AddCommand(experimentCommands()...)
	return cmd
}

func evidenceCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "evidence",
		Short: "Disassemble the atomic operations in this very binary",
		Long: `evidence reads the text of the running binary and prints the instructions of
compare-and-swap, swap, add, acquire load and release store: sync/atomic as the
compiler inlined it, and each primitive written in assembly. An arrow marks what
makes an operation one step for every other CPU. A primitive that this CPU lacks
is listed too; nothing is executed.`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ls, err := evidence.Capture()
			if err != nil {
				return err
			}
			return evidence.Write(cmd.OutOrStdout(), ls)
		},
	}
}
