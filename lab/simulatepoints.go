package lab

import (
	"context"
	"fmt"
	"slices"
	"time"

	"locklab/harness"
	"locklab/harness/result"

	"locklab/harness/measure"
	"locklab/harness/simulate"
	"locklab/internal/machine"
)

// measure measures the points of jobs, and the fit locks.
func (h *here) measure(ctx context.Context, jobs []simulate.OffloadJob) error {
	if h.into != "" {
		return h.measured(jobs)
	}
	plan := &measure.Plan{Rounds: hereRounds, Seed: h.seed}
	points, err := h.plan(plan, jobs)
	if err != nil {
		return err
	}
	show := newProgress(h.stderr)
	defer show.clear()
	noisy, all := 0, 0
	err = plan.Run(ctx, func(p measure.Progress) error {
		show.update(p)
		if p.Result == nil {
			return nil
		}
		if all++; len(p.Result.Warnings) > 0 {
			noisy++
		}
		if rate, ok := result.Throughput.Of(p.Result); ok && rate > 0 {
			at := points[p.Case.Name()]
			at.ns = append(at.ns, 1e9/rate)
		}
		if h.keep != nil && h.keep.new != nil {
			return h.keep.new.Append(p.Result)
		}
		return nil
	})
	if noisy > all/4 {
		h.unquiet = append(h.unquiet, fmt.Sprintf("locks: %d of %d measurements were disturbed", noisy, all))
	}
	return err
}

// plan adds the points of jobs and the fit locks to plan, and returns the points by the
// names of their cases.
func (h *here) plan(plan *measure.Plan, jobs []simulate.OffloadJob) (map[string]*herePoint, error) {
	points := make(map[string]*herePoint)
	add := func(j simulate.OffloadJob) error {
		c, err := h.asCase(j)
		if err != nil || points[c.Name()] != nil {
			return err
		}
		p := &herePoint{job: j}
		points[c.Name()], h.points = p, append(h.points, p)
		plan.Cases = append(plan.Cases, c)
		return nil
	}
	for _, j := range jobs {
		if err := add(j); err != nil {
			return nil, err
		}
	}
	for _, p := range slices.Clone(h.points) {
		for _, name := range fitLocks {
			j := p.job
			if j.Lock = name; j.Workload.Workers > 1 && h.has(name) {
				if err := add(j); err != nil {
					return nil, err
				}
			}
		}
	}
	return points, nil
}

func (h *here) has(name string) bool {
	return slices.ContainsFunc(h.program.spinLocks(), func(v *harness.Variant) bool { return v.Name == name })
}

// asCase returns the case that measures the point of j.
func (h *here) asCase(j simulate.OffloadJob) (measure.Case, error) {
	i := slices.IndexFunc(h.program.Locks, func(v *harness.Variant) bool { return v.Name == j.Lock })
	v := h.program.Locks[i]
	w := harness.Workload{Workers: j.Workload.Workers, Pin: harness.PinCPU, Window: hereWindow, Warmup: hereWarmup,
		Hold: harness.Span{Mean: time.Duration(j.Workload.Hold)}, Think: harness.Span{Mean: time.Duration(j.Workload.Think)}}
	if v.Traits.FollowsWait {
		w.Wait = j.Workload.Wait
	}
	if j.Workload.Lines > 0 {
		s, err := harness.ParseSection(fmt.Sprintf("lines:%d", j.Workload.Lines))
		if err != nil {
			return measure.Case{}, err
		}
		w.Section = s
	}
	return measure.Case{Lock: v, Workload: w}, nil
}

// measured reads the points from the run that simulations are added to.
func (h *here) measured(jobs []simulate.OffloadJob) error {
	run, err := result.Load(h.into)
	if err != nil {
		return err
	}
	if ds := run.Manifest.Machine.Unlike(machine.Capture(), true); len(ds) > 0 {
		return fmt.Errorf("%w: the run in %s was measured on another machine: %s, this is %s", harness.ErrUsage, h.into, ds[0].Name+" "+ds[0].A, ds[0].B)
	}
	names := make(map[string]bool)
	for _, j := range jobs {
		names[j.Lock] = true
	}
	points := make(map[string]*herePoint)
	for _, r := range run.Results {
		name := r.Lock.Name + r.Workload.Name()
		w, ok := modelOf(r.Workload)
		rate, measured := result.Throughput.Of(r)
		if !ok || !measured || rate <= 0 || len(r.Violations) > 0 || !names[r.Lock.Name] && (!slices.Contains(fitLocks, r.Lock.Name) || !h.has(r.Lock.Name)) {
			continue
		}
		w.Seed = h.seed
		p := points[name]
		if p == nil && w.Validate(h.model) != nil {
			continue
		}
		if p == nil {
			p = &herePoint{job: simulate.OffloadJob{Machine: h.model, Lock: r.Lock.Name, Seeds: h.seeds, Workload: w}}
			points[name], h.points = p, append(h.points, p)
		}
		p.ns = append(p.ns, 1e9/rate)
	}
	if len(h.points) == 0 {
		return fmt.Errorf("%w: the run in %s has measured none of these locks with at most %d workers", harness.ErrUsage, h.into, h.model.Threads())
	}
	return nil
}
