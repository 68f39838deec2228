package runner

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"locklab/harness"
	"locklab/harness/metric"
	"locklab/harness/resultfile"
	"locklab/harness/stat"
)

// How a knee is sought. docs/methodology.md says the same.
const (
	restShare     = 0.1  // of the closed-loop rate, later of the knee, at which a lock is taken as unloaded
	restMost      = 0.2  // of the knee: at more it is not unloaded
	restProbes    = 3    // of which the median counts
	restLower     = 4    // by how much the load is lowered where the lock falls behind at it
	mostRests     = 8    // how often another load is tried as that of an unloaded lock
	climb         = 2    // from one load to the next
	resolution    = 1.1  // between the greatest load that a lock is up to and the least that is too much
	votes         = 2    // probes that agree decide whether a load is too much
	fewArrivals   = 3    // in a window, below which a rate is not measured
	probeArrivals = 1000 // of a probe, where its window is long enough
)

// kneeShares are the loads that are measured, over the knee: the least for what the
// lock does unloaded, the greatest beyond the knee.
var kneeShares = []float64{restShare, 0.25, 0.5, 0.75, 0.9, 1, 1.1}

// A probed is what one probe of a rate showed.
type probed struct {
	granted float64 // of what was asked for, percent
	behind  bool    // by more than chance
	p99     float64 // of the waits, ns; never 0
	waits   int64
}

// errBroken ends a search: the lock broke a promise, which the probe has noted.
var errBroken = errors.New("runner: a lock broke a promise")

// A seeker finds a knee by probes of rates.
type seeker struct {
	*resultfile.Knee
	least harness.Rate // at which a window has arrivals to speak of
	probe func(rate harness.Rate) (probed, error)
}

// seek finds the greatest load that a lock is up to: it grants what is asked for, and
// p99 of the waits is within ten times that at a load so small that the lock counts as
// unloaded. From there the load is doubled until it is too much, and then halved, on a
// logarithmic scale, between the two nearest loads that are not and are. Where it shows
// that the small load was none, because the knee is near, all begins again with a
// tenth of that knee.
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
		s.Missing = fmt.Sprintf("grants less than %d %% of what is asked for already at %v, the least load that was tried", metric.LeastGoodput, s.Rest)
	case s.Over == 0:
		s.Missing = fmt.Sprintf("is up to every load that was tried, %v at most", s.UpTo)
	default:
		s.Rates = around(between(s.UpTo, s.Over), s.least)
	}
	return nil
}

// unloaded probes the lock at the load at which it is to count as unloaded, and reports
// whether it falls behind even there.
func (s *seeker) unloaded() (behind bool, err error) {
	var p99 []float64
	missed := 0
	for range restProbes {
		got, err := s.probe(s.Rest)
		if err != nil {
			return false, err
		}
		over := resultfile.Limit("")
		if got.behind {
			missed++
			over = resultfile.LimitGranted
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

// bracket finds the nearest loads that the lock is up to and that are too much. Over
// stays 0 if none is.
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

// try probes rate and makes it the greatest that the lock is up to, or the least that is
// too much, as two probes of at most three say.
func (s *seeker) try(rate harness.Rate) error {
	over, rule := 0, resultfile.Limit("")
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

// limit returns which limit got exceeds, if any.
func (s *seeker) limit(got probed) resultfile.Limit {
	switch {
	case got.behind:
		return resultfile.LimitGranted
	case got.p99 > metric.MostSlowdown*s.RestP99:
		return resultfile.LimitP99
	}
	return ""
}

func (s *seeker) note(rate harness.Rate, got probed, over resultfile.Limit) {
	s.Trials = append(s.Trials, resultfile.Trial{Rate: rate, Granted: got.granted, P99: got.p99, Waits: got.waits, Over: over})
}

// between returns the middle of two rates on a logarithmic scale.
func between(a, b harness.Rate) harness.Rate {
	return harness.Rate(math.Sqrt(float64(a) * float64(b)))
}

// around returns the rates that are measured of a lock with that knee, from least on.
func around(knee, least harness.Rate) (rates []harness.Rate) {
	knee = knee.Rounded(resultfile.KneeFigures)
	for _, share := range kneeShares {
		r := (harness.Rate(share) * knee).Rounded(resultfile.KneeFigures)
		if r >= least && r > 0 && r <= harness.MaxRate && !slices.Contains(rates, r) {
			rates = append(rates, r)
		}
	}
	return rates
}
