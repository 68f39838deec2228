package lab

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"locklab/hardware"
	"locklab/hardware/evidence"
	"locklab/harness/result"
)

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
