package lab

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"locklab/harness"
	"locklab/harness/simulate"
	"locklab/internal/numfmt"
	"locklab/internal/stat"
)

func (p *herePoint) fitted() bool {
	return slices.Contains(fitLocks, p.job.Lock) && p.job.Workload.Workers > 1 && len(p.ns) > 0
}

// fit chooses the machine of the grid closest to the measurements of the fit locks.
func (h *here) fit(ctx context.Context) error {
	var of []*herePoint
	for _, p := range h.points {
		if p.fitted() {
			of = append(of, p)
		}
	}
	if len(of) == 0 {
		h.model.Sources["window"] = "guess: this program has none of the locks to fit by: " + strings.Join(fitLocks, ", ")
		h.model.Sources["occupy"] = h.model.Sources["window"]
		return nil
	}
	candidates := grid(h.model)
	var jobs []simulate.OffloadJob
	for _, m := range candidates {
		for _, p := range of {
			j := p.job
			j.Machine, j.Seeds = h.placed(j.Workload.Workers, m), 1
			jobs = append(jobs, j)
		}
	}
	all, err := h.simulate(ctx, jobs, "fit")
	if err != nil {
		return err
	}
	best, least := h.model, math.Inf(1)
	for i, m := range candidates {
		if off := factor(all[i*len(of):(i+1)*len(of)], of); off < least {
			best, least = m, off
		}
	}
	sources := maps.Clone(h.model.Sources)
	sources["window"] = fmt.Sprintf("measured here: fitted to %s of %s with two workers and more, typical factor %.2f", numfmt.Plural(len(of), "point"), strings.Join(fitLocks, " and "), least)
	sources["occupy"] = sources["window"]
	best.Sources = sources
	h.model = best
	return nil
}

// factor returns the typical factor between simulations and measurements: the root mean
// square of its logarithm. It omits points without both figures. Without any point it
// returns infinity.
func factor(all []*harness.Simulation, of []*herePoint) float64 {
	sum, n := 0.0, 0
	for i, s := range all {
		if s != nil && len(of[i].ns) > 0 {
			d := math.Log(s.PerAcquisition.Median / stat.Median(of[i].ns))
			sum += d * d
			n++
		}
	}
	if n == 0 {
		return math.Inf(1)
	}
	return math.Exp(math.Sqrt(sum / float64(n)))
}
