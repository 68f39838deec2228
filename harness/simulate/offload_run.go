package simulate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"locklab/harness"
)

// An OffloadJob is a case to simulate: a lock by its name on a machine.
type OffloadJob struct {
	Machine  *Machine
	Lock     string
	Workload Workload // its Log is not used
	Seeds    int
}

// ErrFailed is wrapped by the error of a case that failed: two workers were in the
// critical section, no worker got the lock for long, or the lock panicked.
var ErrFailed = errors.New("offload: the simulation failed")

// An Answer is the outcome of a job: a simulation or an error.
type Answer struct {
	Simulation *harness.Simulation
	Err        error
}

// A Pool has the parameters for running jobs. Its Exe is required: see [Find].
type Pool struct {
	Exe       string // a program that simulates
	Processes int    // number of concurrent processes; less than 1 is 1

	// Done, if not nil, is called after each job with the number of answers.
	Done func(done int)
}

// Run runs jobs and calls report for each, in their order, one call at a time, as soon as
// it and all earlier ones have answers. The reports do not depend on the number of
// processes. If ctx ends, all finished jobs are reported, even after unfinished ones, and
// the error is ctx's. An error of report ends the run.
func (p Pool) Run(ctx context.Context, jobs []OffloadJob, report func(i int, a Answer) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	r := &runOffload{jobs: jobs, report: report, answers: make(map[int]Answer), done: p.Done, stop: cancel}
	var wg sync.WaitGroup
	for range min(max(1, p.Processes), len(jobs)) {
		wg.Go(func() { r.work(ctx, p.Exe) })
	}
	wg.Wait()
	r.flush(true)
	if r.err != nil {
		return r.err
	}
	return context.Cause(ctx)
}

type runOffload struct {
	jobs   []OffloadJob
	report func(i int, a Answer) error
	done   func(int)
	stop   context.CancelCauseFunc

	mu       sync.Mutex
	next     int // job to begin
	reported int // jobs
	finished int
	answers  map[int]Answer // not reported yet
	err      error
}

func (r *runOffload) take() (i int, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	i = r.next
	r.next++
	return i, i < len(r.jobs)
}

// work runs jobs in a process, and starts another one if that ends.
func (r *runOffload) work(ctx context.Context, exe string) {
	var p *process
	defer func() {
		if p != nil {
			p.close()
		}
	}()
	for {
		i, ok := r.take()
		if !ok || ctx.Err() != nil {
			return
		}
		if p == nil {
			var err error
			if p, err = start(ctx, exe); err != nil {
				r.fail(ctx, err)
				return
			}
		}
		a, err := do(ctx, p, r.jobs[i])
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			p.close()
			p = nil
			a = Answer{Err: fmt.Errorf("%w: %s with %d workers: %w", ErrFailed, r.jobs[i].Lock, r.jobs[i].Workload.Workers, err)}
		}
		r.add(i, a)
	}
}

// do runs one job in p. An error means that p is gone.
func do(ctx context.Context, p *process, j OffloadJob) (Answer, error) {
	file, err := j.Machine.Encode()
	if err != nil {
		return Answer{Err: err}, nil
	}
	w := j.Workload
	w.Log = nil
	a, err := p.ask(ctx, offloadRequest{Machine: json.RawMessage(file), Lock: j.Lock, Workload: w, Seeds: j.Seeds})
	switch {
	case err != nil:
		return Answer{}, err
	case a.Error != "":
		return Answer{Err: fmt.Errorf("%w: %s", ErrFailed, a.Error)}, nil
	case a.Simulation == nil:
		return Answer{}, errors.New("it answers without a figure")
	}
	return Answer{Simulation: a.Simulation}, nil
}

func (r *runOffload) fail(ctx context.Context, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if ctx.Err() == nil && r.err == nil {
		r.err = err
		r.stop(err)
	}
}

func (r *runOffload) add(i int, a Answer) {
	r.mu.Lock()
	r.answers[i] = a
	r.finished++
	if r.done != nil {
		r.done(r.finished)
	}
	r.mu.Unlock()
	r.flush(false)
}

// flush reports finished jobs in order; at the end also those after gaps.
func (r *runOffload) flush(end bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for r.reported < len(r.jobs) && r.err == nil {
		a, ok := r.answers[r.reported]
		if !ok && !end {
			return
		}
		if ok {
			delete(r.answers, r.reported)
			if err := r.report(r.reported, a); err != nil {
				r.err = err
				r.stop(err)
				return
			}
		}
		r.reported++
	}
}

// Duel returns the model's log, step by step, of two hardware threads of m that compare
// and swap one word in the same instant.
func (p Pool) Duel(ctx context.Context, m *Machine, a, b int, seed uint64) (string, error) {
	worker, err := start(ctx, p.Exe)
	if err != nil {
		return "", err
	}
	defer worker.close()
	file, err := m.Encode()
	if err != nil {
		return "", err
	}
	said, err := worker.ask(ctx, offloadRequest{Machine: json.RawMessage(file), Workload: Workload{Seed: seed}, Duel: &[2]int{a, b}})
	switch {
	case err != nil:
		return "", err
	case said.Error != "":
		return "", errors.New(said.Error)
	}
	return said.Text, nil
}
