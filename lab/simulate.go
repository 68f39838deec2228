package lab

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"locklab/harness"
	"locklab/harness/result"
	"locklab/harness/simulate"

	"locklab/internal/machine"
	"locklab/internal/numfmt"
)

type simulateOptions struct {
	program          *Program
	machine          string
	list, duel, tell bool

	simulateCases
	simulateFiles
	simulatePassed
}

// A simulateCases is the user's choice of cases, as flags.
type simulateCases struct {
	locks, workers, lines, hold, think, wait, place string

	seed    uint64
	seeds   int
	section bool // lines, hold or think were set
}

// A simulateFiles names the run that simulations are written to.
type simulateFiles struct {
	out, into string
	replace   bool
}

// A simulatePassed is passed by the usual build, which measures for --machine this.
type simulatePassed struct {
	points    string   // directory of the measured run
	disturbed []string // disturbances of the measurements
	added     int      // arguments after the user's
}

const simulateHelp = `simulate runs the real code of spin locks on a model of a machine: its caches, the
directory that keeps them coherent, and how far its cores are from each other. So it
tells what a lock would cost on a machine that is not here. What it prints is
expected by a model, not measured; docs/simulation.md says how far that has been
right, and what the model cannot say.

--machine names one of the program (--list shows them), a file with such a
description, or this: the machine it runs on, of which it measures the distances
between cores, fits what else the model needs, and sets simulated and measured
figures beside each other.

With --into RUN the section is as most results of spin locks in that run have it, unless
a flag says otherwise.

--workers 1..256 are the powers of two from 1 to 256, the cores and the hardware
threads of a socket and of all; 1.. ends at all threads of the machine. Each worker has
a thread of its own: there are no more workers than threads, and none sleeps.

The table has the time of the machine per acquisition, all workers together; the time of
a hand-over to a worker that waited; requests to the directory, those of them that another
socket answers, and copies invalidated, per acquisition; the share of acquisitions by the
last holder, and of hand-overs that stay on the socket.

A case is simulated with several seeds; the figure is their median. The same seed gives
the same figures. Ctrl-C keeps what was finished.

The model needs a build of this program with other tags, in which atomic operations call
it. The program runs the file next to its own with the suffix -simulate, if that is of
the same build. Otherwise the go command builds it from the program's source, half a
minute the first time.`

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
			case o.tell:
				_, err := fmt.Fprintln(cmd.OutOrStdout(), thisBuild())
				return err
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
	o.addHidden(f)
	return cmd
}

func (o *simulateOptions) addHidden(f *pflag.FlagSet) {
	f.BoolVar(&o.tell, tellFlag, false, "print the kind and the commit of this build")
	f.StringVar(&o.points, "points", "", "directory of a run measured on the machine of --machine")
	f.StringArrayVar(&o.disturbed, "disturbed", nil, "a disturbance of its measurements")
	f.IntVar(&o.added, addedFlag, 0, "how many arguments another program added")
	for _, name := range []string{tellFlag, "points", "disturbed", addedFlag} {
		f.Lookup(name).Hidden = true
	}
}

func (o simulateOptions) run(ctx context.Context, stdout, stderr io.Writer) error {
	switch {
	case o.out != "" && o.into != "":
		return fmt.Errorf("%w: give --out or --into, not both", harness.ErrUsage)
	case o.replace && o.out == "":
		return fmt.Errorf("%w: --replace needs the directory of a run: --out DIR", harness.ErrUsage)
	case o.duel && (o.out != "" || o.into != ""):
		return fmt.Errorf("%w: --duel only prints: leave out --out and --into", harness.ErrUsage)
	case o.machine == this && o.duel:
		return fmt.Errorf("%w: --duel is for a machine of --list or a file", harness.ErrUsage)
	case o.machine == this && simulate.Simulates:
		return errOnlySimulates
	}
	if err := o.likeRun(); err != nil {
		return err
	}
	if o.machine == this {
		return o.measureHere(ctx, stdout, stderr)
	}
	m, err := modelled(o.machine)
	if err != nil {
		return err
	}
	cases, err := o.cases(m)
	if err != nil {
		return err
	}
	switch {
	case !simulate.Simulates:
		return o.program.simulateElsewhere(ctx, stderr, locksFlag(cases))
	case o.duel:
		return printDuels(stdout, m, o.seed)
	case o.points != "":
		return o.compareHere(ctx, m, cases, stdout, stderr)
	}
	return o.simulate(ctx, m, cases, stdout, stderr)
}

func (o simulateOptions) simulate(ctx context.Context, m *simulate.Machine, cases []simulatedCase, stdout, stderr io.Writer) error {
	keep, err := o.open()
	if err != nil {
		return err
	}
	if err := keep.machine(m); err != nil {
		return err
	}
	var done []*harness.Simulation
	failed, err := runCases(ctx, stderr, "simulate", cases, func(_ int, s *harness.Simulation) error {
		s.Accuracy = simulate.Accuracy(m, s.Lock.Name)
		done = append(done, s)
		return keep.add(s)
	})
	werr := errors.Join(writeSimulations(stdout, m, done), keep.close(stdout, err != nil))
	switch {
	case ctx.Err() != nil:
		fmt.Fprintf(stderr, "interrupted: %d of %d cases were finished\n", len(done), len(cases))
		return errors.Join(errInterrupted, werr)
	case err != nil || werr != nil:
		return errors.Join(err, werr)
	case failed > 0:
		return fmt.Errorf("%d of %s failed", failed, numfmt.Plural(len(cases), "case"))
	}
	return nil
}

// runCases simulates cases one after the other, shows the progress and calls report for
// each that did not fail. If ctx ends, the error is ctx's.
func runCases(ctx context.Context, stderr io.Writer, what string, cases []simulatedCase, report func(i int, s *harness.Simulation) error) (failed int, err error) {
	show := newProgress(stderr)
	defer show.clear()
	advance := show.parts(what)
	for i, c := range cases {
		s, err := simulate.Simulate(ctx, c.machine, c.lock, c.workload, c.seeds)
		switch {
		case ctx.Err() != nil:
			return failed, context.Cause(ctx)
		case err != nil:
			failed++
			show.lasting("FAILED " + result.OneLine(err.Error()))
		default:
			err = report(i, &s)
			if err != nil {
				return failed, err
			}
		}
		advance(i+1, len(cases))
	}
	return failed, nil
}

// A simulationWriter adds to a new or an existing run.
type simulationWriter interface {
	AppendMachine(*harness.ModelMachine) error
	AppendSimulation(*harness.Simulation) error
}

// keptSimulations is the run to write simulations to; nil stores nothing.
type keptSimulations struct {
	simulationWriter
	dir string
	new *result.Writer // nil if the run was finished before
}

func (o simulateOptions) open() (*keptSimulations, error) {
	switch {
	case o.into != "":
		more, _, err := result.Extend(o.into)
		return &keptSimulations{more, o.into, nil}, err
	case o.out == "":
		return nil, nil
	}
	w, err := o.writer()
	return &keptSimulations{w, o.out, w}, err
}

func (o simulateOptions) writer() (*result.Writer, error) {
	if o.points != "" {
		m, err := result.ReadManifest(o.out)
		if err != nil {
			return nil, err
		}
		w, _, err := result.Resume(o.out, m)
		return w, err
	}
	if o.replace {
		if err := moveAside(o.out); err != nil {
			return nil, err
		}
	}
	env := machine.Capture()
	return result.Create(o.out, result.Manifest{
		Command: append([]string{o.program.Name}, os.Args[1:max(1, len(os.Args)-o.added)]...), Commit: machine.BuildCommit(), Binary: machine.BinaryHash(), Seed: o.seed,
		Started: time.Now().UTC(), Machine: env, Versions: machine.Modules(), Warnings: env.Warnings(),
	})
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

func (k *keptSimulations) close(stdout io.Writer, interrupted bool) error {
	if k == nil {
		return nil
	}
	var err error
	if k.new != nil {
		err = k.new.Finish(func(m *result.Manifest) { m.Finished, m.Interrupted = time.Now().UTC(), interrupted })
	} else {
		err = k.simulationWriter.(io.Closer).Close()
	}
	if err == nil {
		err = reportRun(io.Discard, k.dir, guarding{})
	}
	if err == nil {
		fmt.Fprintln(stdout, reportLine(filepath.Join(k.dir, reportName)))
	}
	return err
}
