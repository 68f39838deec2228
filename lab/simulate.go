package lab

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"locklab/harness"
	"locklab/harness/result"
	"locklab/harness/simulate"

	"locklab/internal/numfmt"
)

type simulateOptions struct {
	program     *Program
	machine     string
	list, serve bool
	into        string // directory of a run to add the simulations to

	simulateCases
	store
}

// A simulateCases is the user's choice of cases, as flags.
type simulateCases struct {
	locks, workers, place string

	lines       []int
	hold, think []float64 // ns
	wait        []harness.WaitPolicy

	seed    uint64
	seeds   int
	section bool // lines, hold or think were set
}

const simulateHelp = `simulate runs the code of spin locks on a model of a machine: its caches, the directory
that keeps them coherent, and the distances between its cores. Its figures are expected
by a model, not measured; docs/simulation.md has its accuracy and its limits.

--machine names one of the program (--list shows them), or a file with such a
description.

With --into RUN, lines, hold and think are as in the first result of a spin lock in that
run, unless a flag sets one of them.

--workers 1..256 are the powers of two from 1 to 256, the cores and the hardware
threads of a socket and of all; 1.. ends at all threads of the machine. Each worker has
its own thread, and none sleeps.

The table has the machine's time per acquisition, of all workers together; the time of a
hand-over to a worker that waited; per acquisition the requests to the directory, the
part that another socket answers, and the copies invalidated; the share of acquisitions
by the last holder, and of hand-overs that stay on the socket.

A figure is the median of several seeds. The same seed gives the same figures. Ctrl-C
keeps the finished cases.

The model needs a build of this program with other tags, in which atomic operations call
it. The go command builds it from the program's source, half a minute the first time.`

const simulateExamples = `  locklab simulate --list
  locklab simulate --machine skylake-8x32
  locklab simulate --machine milan-2x48 --locks mcs,ticket --workers 1..192 --out DIR
  locklab simulate --machine skylake-24 --into DIR             adds to a run`

func (p *Program) simulateCommand() *cobra.Command {
	o := simulateOptions{program: p}
	cmd := &cobra.Command{
		Use:     "simulate",
		Short:   "Expect what spin locks cost on a machine that is not here, by a model of its caches",
		Long:    simulateHelp,
		Example: simulateExamples,
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch {
			case o.list:
				return listMachines(cmd.OutOrStdout())
			case o.serve:
				out := os.Stdout
				os.Stdout = os.Stderr // a lock may print
				return p.serveSimulations(os.Stdin, out)
			}
			f := cmd.Flags()
			o.section = f.Changed("lines") || f.Changed("hold") || f.Changed("think")
			return o.run(cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.BoolVar(&o.list, "list", false, "show the machines of the program")
	f.StringVar(&o.machine, "machine", "", "machine: a name of --list, or a file")
	f.StringVar(&o.locks, "locks", "", "spin locks, named as in run (default: all but those broken or kept to show a bug)")
	f.StringVar(&o.workers, "workers", "", "numbers of workers: 1,2,44, 1..256 or 1.. (default 1..64, or to all threads of a smaller machine)")
	f.Var(list(&o.lines, parseLines), "lines", "cache lines of data that the section reads and writes (default 1)")
	f.Var(list(&o.hold, parseModelTime), "hold", "additional work in the section (default 200ns)")
	f.Var(list(&o.think, parseModelTime), "think", "work between two acquisitions, varied by half to either side (default 1us)")
	f.StringVar(&o.place, "place", placeCores, "which thread the next worker has: of the next core (cores), the next thread of a core (threads), of the next socket (sockets)")
	f.Var(list(&o.wait, parseName(harness.WaitPolicies)), "wait", "what waiters do between two polls: pause or spin (default pause)")
	f.Uint64Var(&o.seed, "seed", 1, "first seed of what varies")
	f.IntVar(&o.seeds, "seeds", 3, "how many seeds a case is simulated with")
	f.StringVarP(&o.out, "out", "o", "", "directory to write simulations and report to (default: only print)")
	f.StringVar(&o.into, "into", "", "directory of a run to add the simulations to")
	f.BoolVar(&o.replace, "replace", false, "move an earlier run in the directory of --out to DIR.previous")
	f.BoolVar(&o.serve, serveFlag, false, "answer requests from standard input")
	f.Lookup(serveFlag).Hidden = true
	return cmd
}

func (o simulateOptions) validate() error {
	switch {
	case o.out != "" && o.into != "":
		return usage("give --out or --into, not both")
	case o.replace && o.out == "":
		return usage("--replace needs the directory of a run: --out DIR")
	}
	return nil
}

func (o simulateOptions) run(ctx context.Context, stdout, stderr io.Writer) error {
	if err := o.validate(); err != nil {
		return err
	}
	if o.into != "" {
		run, err := result.Load(o.into)
		if err != nil {
			return err
		}
		o.likeRun(run)
	}
	m, err := modelled(o.machine)
	if err != nil {
		return err
	}
	cases, err := o.cases(m)
	if err != nil {
		return err
	}
	s, err := o.program.openSimulator(ctx, stderr)
	if err != nil {
		return err
	}
	defer s.Kill()
	kept, end, err := o.open()
	if err != nil {
		return err
	}
	err = o.simulate(ctx, s, kept, m, cases, stdout, stderr)
	if err = errors.Join(err, end(err != nil || ctx.Err() != nil)); err == nil || ctx.Err() != nil {
		err = errors.Join(err, o.report(stdout))
	}
	if ctx.Err() != nil {
		return errors.Join(errInterrupted, err)
	}
	return err
}

func (o simulateOptions) simulate(ctx context.Context, s *simulator, kept simulationWriter, m *simulate.Machine, cases []simulateRequest, stdout, stderr io.Writer) error {
	file, err := m.Encode()
	if err != nil {
		return err
	}
	if err := kept.AppendMachine(&result.ModelMachine{Name: m.Name, Hypothetical: m.Hypothetical, File: file}); err != nil {
		return err
	}
	var done []*result.Simulation
	failed, err := s.runCases(ctx, stderr, cases, func(s *result.Simulation) error {
		s.Accuracy = simulate.Accuracy(m, s.Lock.Name)
		done = append(done, s)
		return kept.AppendSimulation(s)
	})
	if ctx.Err() != nil {
		fmt.Fprintf(stderr, "interrupted: %d of %d cases were finished\n", len(done), len(cases))
	}
	err = errors.Join(err, writeSimulations(stdout, m, done))
	if err == nil && failed > 0 {
		err = fmt.Errorf("%d of %s failed", failed, numfmt.Plural(len(cases), "case"))
	}
	return err
}

// A simulationWriter adds to a new or an existing run.
type simulationWriter interface {
	AppendMachine(*result.ModelMachine) error
	AppendSimulation(*result.Simulation) error
}

// An unkept discards simulations.
type unkept struct{}

func (unkept) AppendMachine(*result.ModelMachine) error  { return nil }
func (unkept) AppendSimulation(*result.Simulation) error { return nil }

// open returns the run to write simulations to, and a function that completes it.
func (o simulateOptions) open() (simulationWriter, func(early bool) error, error) {
	if o.into != "" {
		more, _, err := result.Extend(o.into)
		return more, func(bool) error { return more.Close() }, err
	}
	w, _, err := o.store.open(o.program.manifest(o.seed))
	if w == nil {
		return unkept{}, func(bool) error { return nil }, err
	}
	return w, func(early bool) error { return finish(w, early) }, err
}

func (o simulateOptions) report(stdout io.Writer) error {
	dir := cmp.Or(o.into, o.out)
	if dir == "" {
		return nil
	}
	if err := reportRun(io.Discard, dir, guarding{}); err != nil {
		return err
	}
	fmt.Fprintln(stdout, reportLine(filepath.Join(dir, reportName)))
	return nil
}
