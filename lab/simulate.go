package lab

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"locklab/harness"
	"locklab/harness/result"
	"locklab/harness/simulate"

	"locklab/internal/numfmt"
)

type simulateOptions struct {
	program *Program
	machine string
	list    bool
	into    string // directory of a run to add the simulations to
	store

	// The choice of cases.
	locks, workers, place string
	lines                 []int
	hold, think           []float64 // ns
	wait                  []harness.WaitPolicy
	seed                  uint64
	seeds                 int
}

const simulateHelp = `simulate runs the code of local locks on a model of a machine: its caches, the directory
that keeps them coherent, and the distances between its cores. Its figures are expected
by a model, not measured; docs/simulation.md has its accuracy and its limits.

--machine names one of the program (--list shows them), or a file with such a description.
With --into RUN, lines, hold and think are as in the first result of a spin lock in that
run, unless a flag sets one of them. --workers 1..256 are the powers of two from 1 to 256,
the cores and the hardware threads of a socket and of all; 1.. ends at all threads of the
machine. Each worker has its own thread. A sleeper wakes in 1,000 ns.

The table has the machine's time per acquisition, of all workers together, and the time of a
handover to a waiting worker. Per acquisition it has the requests to the directory, the share
that another socket answers, and the copies invalidated. Then come the shares of acquisitions
by the last holder and of handovers on one socket. A figure is the median of several seeds.
The same seed repeats the figures unless the lock sleeps or its words share a line by chance.
Ctrl-C keeps the finished cases.

The model needs a build of this program with other tags, in which atomic operations call
it. The usual build checks the flags and prints the go command that runs it.`

const simulateTags = "systematic,simulate" // of the build that simulates

const simulateExamples = `  locklab simulate --list
  locklab simulate --machine skylake-8x32
  locklab simulate --machine milan-2x48 --locks mcs,ticket --workers 1..192 --out DIR
  locklab simulate --machine skylake-24 --into DIR             adds to a run`

func (p *Program) simulateCommand() *cobra.Command {
	o := simulateOptions{program: p}
	cmd := &cobra.Command{
		Use:     "simulate",
		Short:   "Predict the cost of locks on another machine by a model of its caches",
		Long:    simulateHelp,
		Example: simulateExamples,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if o.list {
				return listMachines(cmd.OutOrStdout())
			}
			return o.run(cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	f := cmd.Flags()
	f.BoolVar(&o.list, "list", false, "show the machines of the program")
	f.StringVar(&o.machine, "machine", "", "machine: a name of --list, or a file")
	f.StringVar(&o.locks, "locks", "", "local locks, named as in run (default: spin locks, but not those broken or kept to show a bug)")
	f.StringVar(&o.workers, "workers", "", "numbers of workers: 1,2,44, 1..256 or 1.. (default 1..64, or to all threads of a smaller machine)")
	f.Var(list(&o.lines, parseLines), "lines", "cache lines of data that the section reads and writes (default 1)")
	f.Var(list(&o.hold, parseModelTime), "hold", "additional work in the section (default 200ns)")
	f.Var(list(&o.think, parseModelTime), "think", "work between two acquisitions, varied by half to either side (default 1us)")
	f.StringVar(&o.place, "place", placeCores, "thread of the next worker: of the next core (cores), the next thread of a core (threads), of the next socket (sockets)")
	f.Var(list(&o.wait, parseName(harness.WaitPolicies)), "wait", "instruction between two polls of a waiter: pause or spin (default pause)")
	f.Var(seed(&o.seed, 1), "seed", "seed of the first simulation of a case")
	f.Var(count(&o.seeds, 3, 1, 1000), "seeds", "simulations of each case, each with another seed")
	f.StringVarP(&o.out, "out", "o", "", "directory to write simulations and report to (default: only print)")
	f.StringVar(&o.into, "into", "", "directory of a run to add the simulations to")
	f.BoolVar(&o.replace, "replace", false, "move an earlier run in the directory of --out to DIR.previous")
	return cmd
}

func (o *simulateOptions) run(ctx context.Context, stdout, stderr io.Writer) error {
	if o.out != "" && o.into != "" {
		return usage("give --out or --into, not both")
	}
	if err := o.check(); err != nil {
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
	if !simulate.Simulates {
		info, _ := debug.ReadBuildInfo() // the go command makes programs with it
		return usage("this build measures; to simulate, run: go run -tags %s %s %s", simulateTags, cmp.Or(info, new(debug.BuildInfo)).Path, strings.Join(os.Args[1:], " "))
	}
	if o.into == "" {
		return o.keep(ctx, o.program.manifest(o.seed), stdout, stderr, func(*result.Run) error {
			return o.simulate(ctx, m, cases, stdout, stderr)
		})
	}
	if o.file, _, err = result.Extend(o.into); err != nil {
		return err
	}
	err = errors.Join(o.simulate(ctx, m, cases, stdout, stderr), o.file.Close(), reportRun(io.Discard, o.into, guarding{}))
	fmt.Fprintln(stdout, reportLine(filepath.Join(o.into, reportName)))
	return err
}

// simulate writes the simulations to the open run, if there is one, and prints them.
func (o *simulateOptions) simulate(ctx context.Context, m *simulate.Machine, cases []simulateCase, stdout, stderr io.Writer) error {
	text, err := json.Marshal(m)
	if err == nil {
		err = o.append(result.Record{Machine: &result.ModelMachine{Name: m.Name, Hypothetical: m.Hypothetical, File: text}})
	}
	if err != nil {
		return err
	}
	show := o.program.newProgress(stderr, 0)
	defer show.clear()
	advance := show.parts("simulate", 0)
	var done []*result.Simulation
	for i, c := range cases {
		s, err := simulate.Simulate(ctx, m, c.lock, c.workload, o.seeds)
		switch {
		case ctx.Err() != nil:
			show.lasting(fmt.Sprintf("interrupted: %d of %d cases were finished", len(done), len(cases)))
			return errors.Join(errInterrupted, writeSimulations(stdout, m, done))
		case err != nil:
			show.lasting("FAILED " + result.OneLine(err.Error()))
			continue
		}
		done = append(done, &s)
		if err := o.append(result.Record{Simulation: &s}); err != nil {
			return err
		}
		advance(i+1, len(cases))
	}
	show.clear()
	err = writeSimulations(stdout, m, done)
	if failed := len(cases) - len(done); err == nil && failed > 0 {
		err = fmt.Errorf("%d of %s failed", failed, numfmt.Plural(len(cases), "case"))
	}
	return err
}
