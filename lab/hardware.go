package lab

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"locklab/hardware"
	"locklab/hardware/evidence"
	"locklab/harness/result"
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

// A hardwareRun runs experiments, prints their findings and, with a directory, stores them.
type hardwareRun struct {
	program *Program
	options hardware.Options
	store
	evidence bool          // begin with the listing of instructions
	named    bool          // the user named the experiments
	earlier  *result.Run   // an interrupted run to resume; nil without one
	later    time.Duration // of the parts of the command after the experiments
}

func (h *hardwareRun) run(ctx context.Context, suite []*hardware.Experiment, stdout, stderr io.Writer) error {
	return h.store.keep(ctx, h.program.manifest(h.options.Seed), stdout, stderr, func(earlier *result.Run) error {
		h.earlier = earlier
		return h.runAll(ctx, suite, stdout, stderr)
	})
}

// runAll runs the experiments one after the other. It omits an experiment that needs to be
// named and is not. It skips one that this machine cannot run, with the reason.
func (h *hardwareRun) runAll(ctx context.Context, suite []*hardware.Experiment, stdout, stderr io.Writer) error {
	if h.evidence {
		if f, err := evidence.Find(); err != nil {
			fmt.Fprintf(stderr, "evidence: skipped: %v\n", err)
		} else if err := h.append(result.Record{Finding: f}); err != nil {
			return err
		}
	}
	for i, e := range suite {
		if e.OptIn != "" && !h.named {
			continue
		}
		if err := e.Available(); err != nil {
			fmt.Fprintf(stdout, "%s: skipped: %v\n\n", e.Name, err)
			continue
		}
		if h.finished(e) {
			fmt.Fprintf(stdout, "%s: finished before\n\n", e.Name)
			continue
		}
		if err := h.runOne(ctx, e, len(suite)-1-i, stdout, stderr); err != nil {
			return err
		}
		fmt.Fprintln(stdout)
	}
	return nil
}

func (h *hardwareRun) finished(e *hardware.Experiment) bool {
	return h.earlier != nil && slices.ContainsFunc(h.earlier.Findings, func(f *result.Finding) bool {
		return f.Name == e.Name && !f.Interrupted
	})
}

// experimentTime returns about the time of an experiment that measures for budget, 0 for the default.
func experimentTime(budget time.Duration) time.Duration {
	return cmp.Or(budget, 3*time.Second) * 3 / 2
}

func (h *hardwareRun) runOne(ctx context.Context, e *hardware.Experiment, next int, stdout, stderr io.Writer) error {
	fmt.Fprintf(stdout, "%s: %s\n%s\n\n", e.Name, e.Question, e.Method)
	o := h.options
	o.Locks = h.program.spinLocks()
	each := experimentTime(o.Budget)
	show := h.program.newProgress(stderr, h.later+each*time.Duration(next))
	o.Progress = show.parts(e.Name, each)
	o.Progress(0, 1)
	if h.file != nil {
		o.Keep = func(s result.Sample) error { return h.file.Append(result.Record{Sample: &s}) }
	}
	if h.earlier != nil {
		o.Earlier = filter(h.earlier.Samples, func(s result.Sample) bool { return s.Experiment == e.Name })
	}
	found, err := hardware.Run(ctx, e, o)
	show.clear()
	if found != nil {
		err = errors.Join(err, h.append(result.Record{Finding: found}), hardware.Write(stdout, found))
	}
	switch {
	case ctx.Err() != nil:
		return errInterrupted
	case errors.Is(err, hardware.ErrOptions):
		return usage("%v", err)
	}
	return err
}
