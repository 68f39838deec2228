package measure

import (
	"slices"

	"locklab/harness"
	"locklab/harness/result"
	"locklab/internal/machine"
	"locklab/internal/stat"
)

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
		start := in.Clock.Now()
		for range result.BurstHolds {
			at, value := data.find(rng)
			data.write(0, at, value)
		}
		bursts = append(bursts, float64(in.Clock.Nanoseconds(in.Clock.Now()-start))/result.BurstHolds)
	}
	return stat.Median(slices.Delete(bursts, 0, warmup))
}
