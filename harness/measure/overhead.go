package measure

import (
	"math"
	"slices"

	"locklab/harness"
	"locklab/harness/result"
	"locklab/internal/machine"
	"locklab/internal/stat"
)

// Overhead measures the cost of the loop around a lock that does nothing, in some
// milliseconds: bare, with the owner log, and with each acquisition timed. Samples alternate, and
// each figure is a median.
func (in *Instruments) Overhead() result.Overhead {
	const samples = 31
	benches := []*bench{in.bench(false), in.bench(false), in.bench(true)}
	ns, figures := make([]float64, len(benches)), make([][]float64, len(benches))
	for i := range samples + 1 {
		for j := range benches {
			k := (i + j) % len(benches) // rotates, since the first pays for earlier work
			ns[k] = in.perAcquisition(func() { benches[k].burst(k > 0) })
		}
		if i == 0 {
			continue // touches memory for the first time
		}
		// Each includes the costs of the previous ones.
		for k, x := range []float64{ns[0], ns[1] - ns[0], ns[2] - ns[1]} {
			figures[k] = append(figures[k], x)
		}
	}
	median := func(k int) float64 { return max(0, stat.Median(figures[k])) }
	return result.Overhead{Loop: median(0), Log: median(1), Timing: median(2)}
}

// perAcquisition returns a time in ns.
func (in *Instruments) perAcquisition(burst func()) float64 {
	start := in.Clock.Now()
	burst()
	return float64(in.Clock.Nanoseconds(in.Clock.Now()-start)) / result.BurstHolds
}

// A bench is the loop of a worker around a lock that does nothing.
type bench struct {
	w *localWorker
	s *criticalSection
}

// bench returns a loop that times each acquisition, or none.
func (in *Instruments) bench(timed bool) *bench {
	b := &bench{
		w: &localWorker{c: newControl(Limit{Ops: 1}, 1), t: new(tally), clock: in.Clock, sampler: samplerOf(1, 0), next: math.MaxUint64},
		s: &criticalSection{log: result.NewOwnerLog(0, 0), next: math.MaxUint64},
	}
	if timed {
		b.w.next, b.s.next = 0, 1
	}
	return b
}

func (b *bench) burst(recorded bool) {
	b.s.base = b.s.n // so that the log keeps all acquisitions
	b.w.batch(b.s, noLock{}, result.BurstHolds, recorded)
}

type noLock struct{}

func (noLock) Lock()   {}
func (noLock) Unlock() {}

// SectionCosts returns the time of one change of each section's data, in ns: by one worker
// without a lock, the median of bursts. It returns nil without data.
func (in *Instruments) SectionCosts(cases []Case) map[harness.Section]float64 {
	costs := make(map[harness.Section]float64)
	for _, c := range cases {
		s := c.Workload.Section
		if _, known := costs[s]; !known && s != harness.SectionWork {
			costs[s] = in.sectionCost(newStructure(s))
		}
	}
	if len(costs) == 0 {
		return nil
	}
	return costs
}

func (in *Instruments) sectionCost(data structure) float64 {
	const samples, warmup = 31, 4
	rng := machine.NewRandom(1)
	var bursts []float64
	for range samples {
		bursts = append(bursts, in.perAcquisition(func() {
			for range result.BurstHolds {
				at, value := data.find(rng)
				data.write(0, at, value)
			}
		}))
	}
	return stat.Median(slices.Delete(bursts, 0, warmup))
}
