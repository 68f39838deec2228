package main

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"locklab/harness"
	"locklab/internal/backend"
	"locklab/internal/machine"
)

func envCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "env",
		Short: "Show what this machine is, which servers are at hand, and what will disturb a measurement",
		Args:  noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			env := machine.Capture()
			if asJSON {
				enc := json.NewEncoder(cmd.OutOrStdout())
				enc.SetIndent("", "  ")
				return enc.Encode(env)
			}
			return printEnv(cmd.OutOrStdout(), env)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func printEnv(out io.Writer, env machine.Environment) error {
	fmt.Fprintln(out, env)
	fmt.Fprintf(out, "clock %s: floor %.1f ns, step %.1f ns; compare-and-swap: %s\n",
		env.Clock, env.ClockFloor, env.ClockStep, env.Atomics)
	for _, kind := range []string{harness.KindRedis, harness.KindZooKeeper} {
		if err := backend.Available(kind); err != nil {
			fmt.Fprintf(out, "%s: missing: %v\n", kind, err)
		} else {
			fmt.Fprintf(out, "%s: at hand\n", kind)
		}
	}
	for _, w := range env.Warnings() {
		fmt.Fprintf(out, "warning: %s\n  remedy: %s\n", w.Text, w.Remedy)
	}
	return nil
}
