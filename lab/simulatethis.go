package lab

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"locklab/hardware"
	"locklab/harness"
	"locklab/harness/result"
	"locklab/harness/simulate"

	"locklab/internal/machine"
)

// The length of the measurements for comparison with simulations: a few seconds in total.
const (
	hereRounds = 3
	hereWindow = 40 * time.Millisecond
	hereWarmup = 10 * time.Millisecond
	hereBudget = 2 * time.Second // of an experiment
)

// fitLocks are the locks to fit the model of this machine to, if the program has them.
var fitLocks = []string{"tas", "ticket"}

// A herePoint is the measurements of one lock with one number of workers.
type herePoint struct {
	job simulate.OffloadJob
	ns  []float64 // per acquisition, of each round
}

// A here describes the machine of the program, and compares the model's predictions with
// measurements there.
type here struct {
	simulateOptions
	exe            string
	stdout, stderr io.Writer

	topology machine.Topology
	model    *simulate.Machine
	keep     *keptSimulations
	points   []*herePoint
	unquiet  []string // disturbances of the measurements
}

// runHere is run for the machine that the program runs on.
func (o simulateOptions) runHere(ctx context.Context, stdout, stderr io.Writer) error {
	h := &here{simulateOptions: o, stdout: stdout, stderr: stderr, topology: machine.ReadTopology()}
	h.model = shapeOf(h.topology)
	h.model.Name = this
	if h.model.Threads() < 2 {
		return fmt.Errorf("%w: --machine this needs two processors, this process may use %d", harness.ErrUsage, h.model.Threads())
	}
	if h.workers == "" {
		h.workers = fmt.Sprintf("1..%d", h.model.Threads())
	}
	jobs, err := h.cases(h.model)
	if err != nil {
		return err
	}
	if h.exe, err = o.program.simulator(ctx, stderr); err != nil {
		return stopped(ctx, err)
	}
	if h.keep, err = o.open(); err != nil {
		return err
	}
	err = h.compare(ctx, jobs)
	interrupted := ctx.Err() != nil
	if cerr := h.keep.close(stdout, err != nil); !interrupted || cerr != nil {
		err = errors.Join(err, cerr)
	}
	if interrupted {
		fmt.Fprintln(stderr, "interrupted")
		return errInterrupted
	}
	return err
}

// compare describes the machine, measures the jobs, fits the free parameters, simulates the
// jobs and prints both figures.
func (h *here) compare(ctx context.Context, jobs []simulate.OffloadJob) error {
	hops, err := h.find(ctx, "core-to-core")
	if err != nil {
		return err
	}
	cost, err := h.find(ctx, "cost")
	if err != nil {
		return err
	}
	if err := describe(h.model, h.topology, hops, cost); err != nil {
		return err
	}
	if err := h.measure(ctx, jobs); err != nil {
		return err
	}
	if err := h.fit(ctx); err != nil {
		return err
	}
	if err := h.keep.machine(h.model); err != nil {
		return err
	}
	jobs = nil
	for _, p := range h.points {
		p.job.Machine = h.placed(p.job.Workload.Workers, h.model)
		jobs = append(jobs, p.job)
	}
	all, err := h.simulate(ctx, jobs, "simulate")
	for _, s := range all {
		if s != nil {
			s.SMT = h.model.SMT
		}
	}
	return errors.Join(err, h.judge(all))
}

// find returns the finding of an experiment: from the run that simulations are added to, or
// from a new experiment.
func (h *here) find(ctx context.Context, name string) (*harness.Finding, error) {
	if h.into != "" {
		run, err := result.Load(h.into)
		if err != nil {
			return nil, err
		}
		for _, f := range run.Findings {
			if f.Name == name && !f.Interrupted {
				return f, nil
			}
		}
	}
	i := slices.IndexFunc(hardware.Suite, func(e *hardware.Experiment) bool { return e.Name == name })
	e := hardware.Suite[i]
	if err := e.Available(); err != nil {
		return nil, err
	}
	show := newProgress(h.stderr)
	f, err := hardware.Run(ctx, e, hardware.Options{Budget: hereBudget, Seed: h.seed, Progress: show.parts(name)})
	show.clear()
	if err != nil {
		return nil, err
	}
	for _, w := range f.Warnings {
		h.unquiet = append(h.unquiet, name+": "+w.Text)
	}
	if h.keep != nil && h.keep.new != nil {
		err = h.keep.new.AppendFinding(f)
	}
	return f, err
}

// placed returns m as seen by n measured workers: they occupy one thread of each core
// before a second one.
func (h *here) placed(n int, m *simulate.Machine) *simulate.Machine {
	if n > m.Caches() {
		return m
	}
	single := *m
	single.SMT = 1
	return &single
}

// simulate runs jobs and returns their simulations, nil for a failed one.
func (h *here) simulate(ctx context.Context, jobs []simulate.OffloadJob, what string) ([]*harness.Simulation, error) {
	show := newProgress(h.stderr)
	defer show.clear()
	advance := show.parts(what)
	all := make([]*harness.Simulation, len(jobs))
	p := simulate.Pool{Exe: h.exe, Processes: h.jobs, Done: func(done int) { advance(done, len(jobs)) }}
	return all, p.Run(ctx, jobs, func(i int, a simulate.Answer) error {
		if a.Err != nil {
			show.lasting("FAILED " + result.OneLine(a.Err.Error()))
		}
		all[i] = a.Simulation
		return nil
	})
}
