//go:build systematic && simulate

package simulate

import (
	"fmt"
	"math"

	"locklab/harness"

	"locklab/internal/stat"
)

// An Outcome is a published point and the model's figure for it.
type Outcome struct {
	Point
	Machine string
	Model   float64 // ns, median of the seeds
}

// Log returns the logarithm of the model's figure over the measured one.
func (o Outcome) Log() float64 { return math.Log(o.Model / o.NS) }

// Run simulates every wanted point of the series (nil: all) on m, each with seeds seeds.
func (s Series) Run(m *Machine, seeds int, wanted func(Point) bool) ([]Outcome, error) {
	points, err := s.points()
	if err != nil {
		return nil, err
	}
	if s.Apart {
		one := *m
		one.SMT = 1
		m = &one
	}
	var all []Outcome
	for _, p := range points {
		if wanted != nil && !wanted(p) {
			continue
		}
		ns, err := s.model(m, p, seeds)
		if err != nil {
			return nil, fmt.Errorf("validate: %s, %s, %d workers on %s: %w", p.Lock, p.Section, p.Workers, m.Name, err)
		}
		all = append(all, Outcome{Point: p, Machine: m.Name, Model: ns})
	}
	return all, nil
}

func (s Series) model(m *Machine, p Point, seeds int) (float64, error) {
	twin := TwinOf(p.Lock)
	if twin.Local == nil {
		return 0, fmt.Errorf("no twin of %s", p.Lock)
	}
	var w Workload
	if _, err := fmt.Sscanf(p.Section, "%f/%f", &w.Hold, &w.Think); err != nil {
		return 0, fmt.Errorf("section %q: %w", p.Section, err)
	}
	w.Workers, w.Spread, w.Wait = p.Workers, s.Spread, harness.WaitPause
	w.Hold, w.Think = w.Hold+s.Loop/2, w.Think+s.Loop/2
	w.Turns, w.Warm = max(1000, 16*p.Workers), max(100, 3*p.Workers)
	run := Run
	if twin.Overlaps {
		run = RunUnlocked
	}
	xs := make([]float64, seeds)
	for k := range xs {
		w.Seed = uint64(k + 1)
		r, err := run(m, w, twin.Local)
		if err != nil {
			return 0, err
		}
		xs[k] = r.PerTurn
	}
	return stat.Median(xs), nil
}

// A Summary is the error of the model against measurements, over some points.
type Summary struct {
	Points  int
	Typical float64 // e to the root mean square of the logarithms of the ratios, 1 or more
	Bias    float64 // e to their mean: above 1 is too slow
	Worst   Outcome // the farthest ratio
	Tau     float64 // Kendall's, of pairs of locks that differ by 10 % or more as measured
	Pairs   int
}

func Summarize(all []Outcome) Summary {
	var s Summary
	var sum, squares float64
	for _, o := range all {
		x := o.Log()
		sum, squares = sum+x, squares+x*x
		if s.Points == 0 || math.Abs(x) > math.Abs(s.Worst.Log()) {
			s.Worst = o
		}
		s.Points++
	}
	if s.Points > 0 {
		s.Bias, s.Typical = math.Exp(sum/float64(s.Points)), math.Exp(math.Sqrt(squares/float64(s.Points)))
	}
	s.Tau, s.Pairs = order(all)
	return s
}

// order compares the order of the locks at the same number of workers and in the same
// section: the concordant pairs minus the discordant ones, over all.
func order(all []Outcome) (tau float64, pairs int) {
	agree := 0
	for i, a := range all {
		for _, b := range all[:i] {
			measured := math.Log(a.NS / b.NS)
			if a.Workers != b.Workers || a.Section != b.Section || a.Machine != b.Machine || math.Abs(measured) < math.Log(1.1) {
				continue
			}
			pairs++
			if measured*math.Log(a.Model/b.Model) > 0 {
				agree++
			} else {
				agree--
			}
		}
	}
	if pairs == 0 {
		return 0, 0
	}
	return float64(agree) / float64(pairs), pairs
}
