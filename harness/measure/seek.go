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

// A probed is the result of one probe of a rate.
type probed struct {
	granted float64 // of the offered rate, percent
	behind  bool    // significantly
	p99     float64 // of the waits, ns; never 0
	waits   int64
}

// errBroken ends a search: the lock violated a promise, which the probe has recorded.
var errBroken = errors.New("measure: a lock broke a promise")

// A seeker finds a saturation point by probes of rates.
type seeker struct {
	*result.Saturation
	least harness.Rate // with enough arrivals in a window
	probe func(rate harness.Rate) (probed, error)
}

// seek finds the greatest load that a lock sustains: it grants the rate, with p99 of the waits
// at most ten times p99 unloaded, at a small load. It doubles the load until it is too high,
// and bisects on a logarithmic scale. If the small load is too close to the point, it restarts
// with a tenth of that.
func (s *seeker) seek() error {
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
		s.Missing = fmt.Sprintf("grants less than %d %% of what is asked for already at %v, the least load that was tried", result.LeastGoodput, s.Rest)
	case s.Over == 0:
		s.Missing = fmt.Sprintf("is up to every load that was tried, %v at most", s.UpTo)
	default:
		s.Rates = around(between(s.UpTo, s.Over), s.least)
	}
	return nil
}

// unloaded probes the unloaded lock, and reports whether it falls behind even there.
func (s *seeker) unloaded() (behind bool, err error) {
	var p99 []float64
	missed := 0
	for range restProbes {
		got, err := s.probe(s.Rest)
		if err != nil {
			return false, err
		}
		over := result.Limit("")
		if got.behind {
			missed++
			over = result.LimitGranted
		}
		s.note(s.Rest, got, over)
		p99 = append(p99, got.p99)
		if missed == votes {
			return true, nil
		}
	}
	s.RestP99 = stat.Median(p99)
	return false, nil
}

// bracket finds the closest sustained and excessive loads; Over is 0 without one.
func (s *seeker) bracket() error {
	s.UpTo = s.Rest
	for s.Over == 0 {
		next := s.UpTo * climb
		if next > harness.MaxRate {
			return nil
		}
		if err := s.try(next); err != nil {
			return err
		}
	}
	for s.Over > resolution*s.UpTo {
		if err := s.try(between(s.UpTo, s.Over)); err != nil {
			return err
		}
	}
	return nil
}

// try classifies rate as sustained or excessive by a majority of at most three probes.
func (s *seeker) try(rate harness.Rate) error {
	over, rule := 0, result.Limit("")
	for n := 1; over < votes && n-over <= votes; n++ {
		got, err := s.probe(rate)
		if err != nil {
			return err
		}
		limit := s.limit(got)
		s.note(rate, got, limit)
		if limit != "" {
			over++
			rule = limit
		}
	}
	if over == votes {
		s.Over, s.Rule = rate, rule
	} else {
		s.UpTo = rate
	}
	return nil
}

func (s *seeker) limit(got probed) result.Limit {
	switch {
	case got.behind:
		return result.LimitGranted
	case got.p99 > result.MostSlowdown*s.RestP99:
		return result.LimitP99
	}
	return ""
}

func (s *seeker) note(rate harness.Rate, got probed, over result.Limit) {
	s.Trials = append(s.Trials, result.Trial{Rate: rate, Granted: got.granted, P99: got.p99, Waits: got.waits, Over: over})
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
