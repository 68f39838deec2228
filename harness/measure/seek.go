package measure

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"locklab/harness"
	"locklab/harness/result"

	"locklab/internal/stat"
)

// Parameters of the search for a saturation point. docs/methodology.md lists the same.
const (
	restShare     = 0.1  // of the closed-loop rate, later of the saturation point: the load of an unloaded lock
	restMost      = 0.2  // of the saturation point: more is not unloaded
	restProbes    = 3    // the median of these counts
	restLower     = 4    // divisor of the load if the lock falls behind at it
	mostRests     = 8    // greatest number of loads tried for an unloaded lock
	climb         = 2    // ratio of successive loads
	resolution    = 1.1  // ratio of the least excessive load and the greatest sustained one
	votes         = 2    // probes that must agree that a load is too high
	fewArrivals   = 3    // in a window; rates with fewer are not measured
	probeArrivals = 1000 // of a probe, if its window is long enough
)

// saturationShares are the measured loads relative to the saturation point, from unloaded to beyond.
var saturationShares = []float64{restShare, 0.25, 0.5, 0.75, 0.9, 1, 1.1}

// errBroken ends a search: the lock violated a promise, which the probe has recorded.
var errBroken = errors.New("measure: a lock broke a promise")

// seek finds the greatest load that a lock sustains: it grants the rate, with p99 of the waits
// at most ten times p99 unloaded, at a small load. It doubles the load until it is too high,
// and bisects on a logarithmic scale. If the small load is too close to the point, it restarts
// with a tenth of that.
func (s *search) seek() error {
	rest := max(s.least, min(harness.MaxRate/climb, harness.Rate(restShare*s.Closed)))
	found := false
	for range mostRests {
		s.Rest, s.Over, s.UpTo, s.Rule = rest, 0, 0, ""
		behind, err := s.unloaded()
		if err != nil {
			return err
		}
		if found = !behind; behind {
			if rest <= s.least {
				break
			}
			rest = max(s.least, rest/restLower)
			continue
		}
		if err := s.bracket(); err != nil {
			return err
		}
		if s.Over == 0 || rest <= restMost*s.UpTo || rest <= s.least {
			break
		}
		rest = max(s.least, restShare*s.UpTo)
	}
	switch {
	case !found:
		s.Missing = fmt.Sprintf("grants less than %d %% of the requests already at %v, the lowest load that was tried", result.LeastGoodput, s.Rest)
	case s.Over == 0:
		s.Missing = fmt.Sprintf("keeps up with every load that was tried, up to %v", s.UpTo)
	default:
		s.Rates = around(between(s.UpTo, s.Over), s.least)
	}
	return nil
}

// unloaded probes the unloaded lock, and reports whether it falls behind even there.
func (s *search) unloaded() (behind bool, err error) {
	var p99 []float64
	missed := 0
	for range restProbes {
		got, err := s.try(s.Rest, math.Inf(1))
		if err != nil {
			return false, err
		}
		if got.Over != "" {
			missed++
		}
		p99 = append(p99, got.P99)
		if missed == votes {
			return true, nil
		}
	}
	s.RestP99 = stat.Median(p99)
	return false, nil
}

// bracket finds the closest sustained and excessive loads; Over is 0 without one.
func (s *search) bracket() error {
	s.UpTo = s.Rest
	for s.Over == 0 {
		next := s.UpTo * climb
		if next > harness.MaxRate {
			return nil
		}
		if err := s.classify(next); err != nil {
			return err
		}
	}
	for s.Over > resolution*s.UpTo {
		if err := s.classify(between(s.UpTo, s.Over)); err != nil {
			return err
		}
	}
	return nil
}

// classify records rate as sustained or excessive by a majority of at most three probes.
func (s *search) classify(rate harness.Rate) error {
	over, rule := 0, result.Limit("")
	for n := 1; over < votes && n-over <= votes; n++ {
		got, err := s.try(rate, result.MostSlowdown*s.RestP99)
		if err != nil {
			return err
		}
		if got.Over != "" {
			over++
			rule = got.Over
		}
	}
	if over == votes {
		s.Over, s.Rule = rate, rule
	} else {
		s.UpTo = rate
	}
	return nil
}

// try probes rate and records the trial. The rate is too high if the lock falls behind, or p99 of
// the waits exceeds mostP99.
func (s *search) try(rate harness.Rate, mostP99 float64) (result.Trial, error) {
	got, err := s.probe(rate)
	if err != nil {
		return got, err
	}
	if got.Rate = rate; got.Over == "" && got.P99 > mostP99 {
		got.Over = result.LimitP99
	}
	s.Trials = append(s.Trials, got)
	return got, nil
}

func between(a, b harness.Rate) harness.Rate {
	return harness.Rate(math.Sqrt(float64(a) * float64(b)))
}

func around(saturation, least harness.Rate) (rates []harness.Rate) {
	saturation = saturation.Rounded(result.SaturationFigures)
	for _, share := range saturationShares {
		r := (harness.Rate(share) * saturation).Rounded(result.SaturationFigures)
		if r >= least && r > 0 && r <= harness.MaxRate && !slices.Contains(rates, r) {
			rates = append(rates, r)
		}
	}
	return rates
}
