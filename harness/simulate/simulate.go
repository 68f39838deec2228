//go:build systematic && simulate

package simulate

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"locklab/atomics"
	"locklab/harness"
	"locklab/harness/result"
	"locklab/internal/stat"
)

// Simulates reports that this build simulates: a scheduler in its atomics, and no measuring.
const Simulates = true

// Simulate runs workers that contend for a lock of v on m, with seeds from w.Seed. Runs must
// not overlap in a process: see atomics.SetScheduler. When ctx ends, the run in progress is the last.
func Simulate(ctx context.Context, m *Machine, v *harness.Variant, w Workload, seeds int) (result.Simulation, error) {
	if err := CheckVariant(v, w.Workers); err != nil {
		return result.Simulation{}, err
	}
	if seeds < 1 {
		return result.Simulation{}, fmt.Errorf("simulate: %d seeds: want at least 1", seeds)
	}
	results := make([]Result, seeds)
	for i := range results {
		one := w
		one.Seed += uint64(i)
		r, err := Run(m, one, v.Local)
		if err = cmp.Or(ctx.Err(), err); err != nil {
			return result.Simulation{}, fmt.Errorf("%w (lock %s, %d workers, seed %d)", err, v.Name, w.Workers, one.Seed)
		}
		results[i] = r
	}
	of := func(f func(Result) float64) result.Expected { return expected(results, f) }
	return result.Simulation{
		Simulated: m.Name, Hypothetical: m.Hypothetical,
		Sockets: m.Sockets, Clusters: m.Clusters, Cores: m.Cores, SMT: m.SMT,
		Lock: result.Describe(v), Workers: w.Workers, Lines: w.Lines, Hold: w.Hold, Think: w.Think,
		Wait: w.Wait, Apart: w.Apart, Spread: w.Spread, Seed: w.Seed, Seeds: seeds,
		OnCores: on(m, w, func(cache int) int { return cache }), OnSockets: on(m, w, m.socket),
		Accuracy: Accuracy(m, v.Name) + assumed(v),

		PerAcquisition: of(func(r Result) float64 { return r.PerAcquisition }),

		Handover:    of(func(r Result) float64 { return r.HandOver }),
		Longest:     of(func(r Result) float64 { return r.Longest }),
		Misses:      of(func(r Result) float64 { return r.Misses }),
		Remote:      of(func(r Result) float64 { return r.Remote }),
		Invalidated: of(func(r Result) float64 { return r.Invalidated }),
		SameSocket:  of(func(r Result) float64 { return r.SameSocket }),
		SameWorker:  of(func(r Result) float64 { return r.SameWorker }),
		Jain:        of(func(r Result) float64 { return r.Jain }),
	}, nil
}

// assumed returns sentences on a lock that sleeps.
func assumed(v *harness.Variant) (text string) {
	if v.Family == harness.Blocking {
		text = fmt.Sprintf(" No lock that sleeps was compared; a wake-up is assumed to take %d ns.", WakeUp)
	}
	if v.Model != "" {
		text += fmt.Sprintf(" It is %s.", v.Model)
	}
	return text
}

// seen returns an error if the model does not see a worker take v. Workers of a lock made
// of other words would wait for each other forever. A panic of the lock is an error, too.
func seen(v *harness.Variant) (err error) {
	accesses := 0
	defer atomics.SetScheduler(func(a atomics.Access) uint64 {
		accesses++
		before := a.Word.Get()
		a.Word.Set(a.After(before))
		return before
	})()
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("simulate: %s with one worker panicked: %v", v.Name, p)
		}
	}()
	l := v.Local(harness.Setup{Workers: 1, Wait: harness.WaitPause}).Worker(0)
	before := accesses
	l.Lock()
	taken := accesses - before
	l.Unlock()
	if taken == 0 {
		return fmt.Errorf("simulate: %s is taken without a word of package atomics: the model does not see it", v.Name)
	}
	return nil
}

func expected(results []Result, f func(Result) float64) result.Expected {
	xs := result.Each(results, f)
	return result.Expected{Median: stat.Median(xs), Lo: slices.Min(xs), Hi: slices.Max(xs)}
}

func on(m *Machine, w Workload, part func(cache int) int) int {
	parts := make(map[int]bool)
	for i := range w.Workers {
		parts[part(place(m, w, i)/m.SMT)] = true
	}
	return len(parts)
}
