package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"locklab/atomics/experiment"
	"locklab/harness"
)

// experimentCommands returns one subcommand of "locklab hardware" for each
// experiment.
func experimentCommands() (cmds []*cobra.Command) {
	for _, e := range experiment.Suite {
		cmds = append(cmds, experimentCommand(e))
	}
	return cmds
}

func experimentCommand(e *experiment.Experiment) *cobra.Command {
	var o experiment.Options
	var asJSON bool
	long := e.Question + "\n\n" + e.Method + "\n\nSource: " + e.Source
	if e.OptIn != "" {
		long += "\n\nIt runs only when asked for by name: " + e.OptIn
	}
	cmd := &cobra.Command{
		Use:   e.Name,
		Short: e.Question,
		Long:  long,
		Args:  noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := e.Available(); err != nil {
				return err
			}
			return runExperiment(cmd.Context(), cmd.OutOrStdout(), e, o, asJSON)
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.IntVar(&o.Repeats, "repeats", 0, "how often everything is measured (default 5)")
	f.DurationVar(&o.Budget, "budget", 0, "how long to measure, about (default 3s)")
	f.Uint64Var(&o.Seed, "seed", 0, "seed of whatever is random")
	f.BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// runAllExperiments runs the experiments that need not be asked for by name,
// and prints what they found to out. One that this machine cannot run is
// skipped with its reason.
func runAllExperiments(ctx context.Context, out io.Writer) error {
	for _, e := range experiment.Suite {
		if e.OptIn != "" {
			continue
		}
		if err := e.Available(); err != nil {
			fmt.Fprintf(out, "%s: skipped: %v\n\n", e.Name, err)
			continue
		}
		if err := runExperiment(ctx, out, e, experiment.Options{}, false); err != nil {
			return err
		}
		fmt.Fprintln(out)
	}
	return nil
}

// runExperiment runs e and prints what it found, even if it was interrupted.
func runExperiment(ctx context.Context, out io.Writer, e *experiment.Experiment, o experiment.Options, asJSON bool) error {
	if !asJSON {
		fmt.Fprintf(out, "%s: %s\n%s\n\n", e.Name, e.Question, e.Method)
	}
	found, err := experiment.Run(ctx, e, o)
	if found != nil {
		err = errors.Join(err, printFinding(out, found, asJSON))
	}
	switch {
	case ctx.Err() != nil:
		if !asJSON {
			fmt.Fprintln(out, "interrupted: only what was finished by then is shown")
		}
		return errInterrupted
	case errors.Is(err, experiment.ErrOptions):
		return fmt.Errorf("%w: %v", harness.ErrUsage, err)
	}
	return err
}

func printFinding(out io.Writer, f *harness.Finding, asJSON bool) error {
	if !asJSON {
		return experiment.Write(out, f)
	}
	enc := json.NewEncoder(out)
	enc.SetIndent("", "  ")
	return enc.Encode(f)
}
