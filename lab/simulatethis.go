package lab

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"locklab/hardware"
	"locklab/harness"
	"locklab/harness/measure"
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

type hereMeasurement struct {
	simulateOptions
	stderr   io.Writer
	topology machine.Topology
	model    *simulate.Machine
	cases    []simulatedCase
	keep     *keptSimulations // nil if the run is measured already
}

// measureHere measures this machine and some locks, unless --into names a run with them.
func (o simulateOptions) measureHere(ctx context.Context, stdout, stderr io.Writer) (err error) {
	h := &hereMeasurement{simulateOptions: o, stderr: stderr, topology: machine.ReadTopology()}
	h.model = shapeOf(h.topology)
	h.model.Name = this
	if h.model.Threads() < 2 {
		return fmt.Errorf("%w: --machine this needs two processors, this process may use %d", harness.ErrUsage, h.model.Threads())
	}
	if h.workers == "" {
		h.workers = fmt.Sprintf("1..%d", h.model.Threads())
	}
	if h.cases, err = h.simulateOptions.cases(h.model); err != nil {
		return err
	}
	exe, remove, err := o.program.simulator(ctx, stderr)
	if err != nil {
		return err
	}
	defer remove()
	dir, err := os.MkdirTemp("", "locklab-this-")
	if err != nil {
		return fmt.Errorf("lab: %w", err)
	}
	defer os.RemoveAll(dir)
	h.points = o.into
	if o.into == "" {
		if h.out == "" {
			h.out = filepath.Join(dir, "run")
		}
		if h.keep, err = h.open(); err != nil {
			return err
		}
		h.points = h.out
	}
	file := filepath.Join(dir, "machine.json")
	err = h.measure(ctx, file)
	if h.keep != nil && err == nil {
		err = h.keep.new.Finish(func(m *result.Manifest) { m.Interrupted = true }) // until it is simulated
	} else if o.out != "" {
		err = errors.Join(err, h.keep.close(stdout, true))
	}
	switch {
	case ctx.Err() != nil:
		fmt.Fprintln(stderr, "interrupted")
		return errInterrupted
	case err != nil:
		return err
	}
	return passOn(ctx, exe, h.arguments(file)...)
}

func (h *hereMeasurement) arguments(file string) []string {
	args := []string{locksFlag(h.cases), "--machine", file, "--points", h.points, "--workers", h.workers, "--lines", h.lines, "--hold", h.hold, "--think", h.think}
	for _, why := range h.disturbed {
		args = append(args, "--disturbed", why)
	}
	return args
}

func (h *hereMeasurement) measure(ctx context.Context, file string) error {
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
	text, err := h.model.Encode()
	if err != nil {
		return err
	}
	if err := os.WriteFile(file, text, 0o600); err != nil {
		return fmt.Errorf("lab: %w", err)
	}
	if h.into != "" {
		return nil
	}
	return h.measureLocks(ctx)
}

// find returns an experiment's finding, from the run of --into or a new experiment.
func (h *hereMeasurement) find(ctx context.Context, name string) (*harness.Finding, error) {
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
		h.disturbed = append(h.disturbed, name+": "+w.Text)
	}
	if h.keep != nil {
		err = h.keep.new.AppendFinding(f)
	}
	return f, err
}

func (h *hereMeasurement) measureLocks(ctx context.Context) error {
	plan := &measure.Plan{Rounds: hereRounds, Seed: h.seed}
	if err := h.plan(plan); err != nil {
		return err
	}
	show := newProgress(h.stderr)
	defer show.clear()
	noisy, all := 0, 0
	err := plan.Run(ctx, func(p measure.Progress) error {
		show.update(p)
		if p.Result == nil {
			return nil
		}
		if all++; len(p.Result.Warnings) > 0 {
			noisy++
		}
		return h.keep.new.Append(p.Result)
	})
	if noisy > all/4 {
		h.disturbed = append(h.disturbed, fmt.Sprintf("locks: %d of %d measurements were disturbed", noisy, all))
	}
	return err
}

// plan adds to plan the cases, and the fit locks with their workloads of two and more workers.
func (h *hereMeasurement) plan(plan *measure.Plan) error {
	cases := slices.Clone(h.cases)
	for _, c := range h.cases {
		for _, v := range h.program.fitLocks() {
			if c.lock = v; c.workload.Workers > 1 {
				cases = append(cases, c)
			}
		}
	}
	added := make(map[string]bool)
	for _, s := range cases {
		c, err := s.measured()
		if err != nil {
			return err
		}
		if !added[c.Name()] {
			added[c.Name()] = true
			plan.Cases = append(plan.Cases, c)
		}
	}
	return nil
}

func (p *Program) fitLocks() []*harness.Variant {
	return slices.DeleteFunc(p.spinLocks(), func(v *harness.Variant) bool { return !slices.Contains(fitLocks, v.Name) })
}

func (c simulatedCase) measured() (measure.Case, error) {
	w := harness.Workload{Workers: c.workload.Workers, Pin: harness.PinCPU, Window: hereWindow, Warmup: hereWarmup,
		Hold: harness.Span{Mean: time.Duration(c.workload.Hold)}, Think: harness.Span{Mean: time.Duration(c.workload.Think)}}
	if c.lock.Traits.FollowsWait {
		w.Wait = c.workload.Wait
	}
	if c.workload.Lines > 0 {
		s, err := harness.ParseSection("lines:" + strconv.Itoa(c.workload.Lines))
		if err != nil {
			return measure.Case{}, err
		}
		w.Section = s
	}
	return measure.Case{Lock: c.lock, Workload: w}, nil
}
