package lab

import (
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
	program           *Program
	machine           string
	list, duel, serve bool
	into              string // directory of a run to add the simulations to

	simulateCases
	store
}

// A simulateCases is the user's choice of cases, as flags.
type simulateCases struct {
	locks, workers, lines, hold, think, wait, place string

	seed    uint64
	seeds   int
	section bool // lines, hold or think were set
}

const simulateHelp = `simulate runs the code of spin locks on a model of a machine: its caches, the directory
that keeps them coherent, and the distances between its cores. Its figures are expected
by a model, not measured; docs/simulation.md has its accuracy and its limits.

--machine names one of the program (--list shows them), a file with such a description,
or this: the machine it runs on. It measures the distances between the cores and some
locks, fits the model to them, and prints simulated and measured figures in one table.

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
  locklab simulate --machine skylake-24 --into DIR             beside what a run has measured
  locklab simulate --machine skylake-8x32 --duel               two compare-and-swaps in one instant
  locklab simulate --machine this`

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
			if o.machine == this && !o.section { // few processors: with a smaller section the lock dominates
				o.hold, o.think = "10ns", "10ns"
			}
			return o.run(cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.BoolVar(&o.list, "list", false, "show the machines of the program")
	f.StringVar(&o.machine, "machine", "", "machine: a name of --list, a file, or this")
	f.StringVar(&o.locks, "locks", "", "spin locks, named as in run (default: all but those broken or kept to show a bug)")
	f.StringVar(&o.workers, "workers", "", "numbers of workers: 1,2,44, 1..256 or 1.. (default 1..64, or to all threads of a smaller machine)")
	f.StringVar(&o.lines, "lines", "1", "cache lines of data that the section reads and writes")
	f.StringVar(&o.hold, "hold", "200ns", "work in the section beside that (this: 10ns)")
	f.StringVar(&o.think, "think", "1us", "work between two acquisitions, varied by half to either side (this: 10ns)")
	f.StringVar(&o.place, "place", placeCores, "which thread the next worker has: of the next core (cores), the next thread of a core (threads), of the next socket (sockets)")
	f.StringVar(&o.wait, "wait", string(harness.WaitPause), "what waiters do between two polls: pause or spin")
	f.Uint64Var(&o.seed, "seed", 1, "first seed of what varies")
	f.IntVar(&o.seeds, "seeds", 3, "how many seeds a case is simulated with")
	f.BoolVar(&o.duel, "duel", false, "tell step by step what two compare-and-swaps on one line in the same instant do")
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
	case o.duel && (o.out != "" || o.into != ""):
		return usage("--duel only prints: leave out --out and --into")
	case o.machine == this && o.duel:
		return usage("--duel is for a machine of --list or a file")
	case o.machine == this && o.into != "":
		return usage("--machine this measures: give --out instead of --into")
	case o.machine == this && o.place != placeCores:
		return usage("--place is for a machine of --list or a file: here workers are bound core by core")
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
	if o.duel {
		return s.printDuels(stdout, m, o.seed)
	}
	keep, err := o.open()
	if err != nil {
		return err
	}
	if o.machine == this {
		h := &here{simulateOptions: o, simulator: s, stdout: stdout, stderr: stderr, model: m, keep: keep}
		err = h.run(ctx, cases)
	} else {
		err = o.simulate(ctx, s, keep, m, cases, stdout, stderr)
	}
	err = errors.Join(err, keep.close(stdout, err != nil || ctx.Err() != nil))
	if ctx.Err() != nil {
		return errors.Join(errInterrupted, err)
	}
	return err
}

func (o simulateOptions) simulate(ctx context.Context, s *simulator, keep *keptSimulations, m *simulate.Machine, cases []simulatedCase, stdout, stderr io.Writer) error {
	if err := keep.machine(m); err != nil {
		return err
	}
	var done []*harness.Simulation
	failed, err := s.runCases(ctx, stderr, "simulate", cases, func(_ int, s *harness.Simulation) error {
		s.Accuracy = simulate.Accuracy(m, s.Lock.Name)
		done = append(done, s)
		return keep.add(s)
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
	AppendMachine(*harness.ModelMachine) error
	AppendSimulation(*harness.Simulation) error
}

// keptSimulations is the run to write simulations to; nil stores nothing.
type keptSimulations struct {
	simulationWriter
	dir    string
	new    *result.Writer // nil if the run was finished before
	finish func(early bool) error
}

func (o simulateOptions) open() (*keptSimulations, error) {
	if o.into != "" {
		more, _, err := result.Extend(o.into)
		return &keptSimulations{more, o.into, nil, func(bool) error { return more.Close() }}, err
	}
	w, _, err := o.store.open(o.program.manifest(o.seed))
	if w == nil {
		return nil, err
	}
	return &keptSimulations{w, o.out, w, func(early bool) error { return finish(w, early) }}, err
}

func (k *keptSimulations) machine(m *simulate.Machine) error {
	if k == nil {
		return nil
	}
	file, err := m.Encode()
	if err != nil {
		return err
	}
	return k.AppendMachine(&harness.ModelMachine{Name: m.Name, Hypothetical: m.Hypothetical, File: file})
}

func (k *keptSimulations) add(s *harness.Simulation) error {
	if k == nil {
		return nil
	}
	return k.AppendSimulation(s)
}

func (k *keptSimulations) close(stdout io.Writer, early bool) error {
	if k == nil {
		return nil
	}
	err := k.finish(early)
	if err == nil {
		err = reportRun(io.Discard, k.dir, guarding{})
	}
	if err == nil {
		fmt.Fprintln(stdout, reportLine(filepath.Join(k.dir, reportName)))
	}
	return err
}
