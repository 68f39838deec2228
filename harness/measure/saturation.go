package measure

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"locklab/harness"
	"locklab/harness/result"
)

// Unknown reports whether the rate of c must still be found: see [Plan.Seek].
func (c Case) Unknown() bool { return c.Sought && c.Workload.Rate == 0 }

// StandIn returns c with some rate if it is unknown, for callers that ignore the rate.
func (c Case) StandIn() Case {
	if c.Unknown() {
		c.Workload.Rate = min(harness.MaxRate, max(1, harness.Rate(1/max(1e-9, c.Workload.Window.Seconds()))))
	}
	return c
}

// Unknown reports whether the rates of some cases must still be found.
func (p *Plan) Unknown() bool { return slices.ContainsFunc(p.Cases, Case.Unknown) }

// Seeking is the progress of the search for the saturation point of a case.
type Seeking struct {
	Case       Case
	Saturation result.Saturation // current state
	Done       bool              // the search is complete
}

// Seek finds the saturation points of the cases of p with unknown rates, by short probes in
// fresh processes, and replaces them by cases at rates around.
//
// It calls report before each probe, and with the saturation point. A lock without a saturation point has no
// rates; its saturation point has the reason. A lock that violates a promise in a probe is measured at that
// rate.
func (p *Plan) Seek(ctx context.Context, report func(Seeking)) ([]result.Saturation, error) {
	var ks []result.Saturation
	known := calibrate()
	for _, c := range p.Cases {
		if !c.Unknown() {
			continue
		}
		s := &search{Saturation: &result.Saturation{Lock: c.Lock.Name, Workload: timeless(c.Workload)},
			least: harness.Rate(fewArrivals / c.Workload.Window.Seconds()),
			plan:  p, c: c, known: known, serial: -saturationSerials * (len(ks) + 1), report: report}
		s.probe = func(rate harness.Rate) (result.Trial, error) { return s.measureAt(ctx, rate) }
		if err := s.find(ctx); err != nil {
			return nil, err
		}
		s.tell(true)
		ks = append(ks, *s.Saturation)
	}
	return ks, p.Settle(ks)
}

func (c Case) hasSaturation(k result.Saturation) bool {
	return k.Lock == c.Lock.Name && k.Workload == timeless(c.Workload)
}

// Settle replaces the cases with unknown rates by new cases at the rates of ks.
func (p *Plan) Settle(ks []result.Saturation) error {
	var cases []Case
	has := make(map[string]bool)
	for _, c := range p.Cases {
		has[c.Name()] = !c.Unknown()
	}
	for _, c := range p.Cases {
		if !c.Unknown() {
			cases = append(cases, c)
			continue
		}
		i := slices.IndexFunc(ks, c.hasSaturation)
		if i < 0 {
			return fmt.Errorf("%w: no rates are known for %s", harness.ErrUsage, c.Name())
		}
		for _, rate := range ks[i].Rates {
			c.Workload.Rate = rate
			if !has[c.Name()] {
				has[c.Name()] = true
				cases = append(cases, c)
			}
		}
	}
	p.Cases = cases
	return nil
}

// Trim removes cases, and their rates from ks, for which the windows are now too short.
func (p *Plan) Trim(ks []result.Saturation) {
	p.Cases = slices.DeleteFunc(p.Cases, func(c Case) bool {
		if !c.Sought || float64(c.Workload.Rate)*c.Workload.Window.Seconds() >= 1 {
			return false
		}
		unknown := c
		unknown.Workload.Rate = 0
		if i := slices.IndexFunc(ks, unknown.hasSaturation); i >= 0 {
			ks[i].Rates = slices.DeleteFunc(slices.Clone(ks[i].Rates), func(r harness.Rate) bool { return r == c.Workload.Rate })
		}
		return true
	})
}

func timeless(w harness.Workload) harness.Workload {
	w.Warmup, w.Window = 0, 0
	return w
}

// saturationSerials separates the names of the locks of different searches.
const saturationSerials = 1000

// A search is the search for the saturation point of one case.
type search struct {
	*result.Saturation
	least  harness.Rate // with enough arrivals in a window
	probe  func(rate harness.Rate) (result.Trial, error)
	plan   *Plan
	c      Case
	known  calibration
	serial int
	report func(Seeking)
}

func (s *search) tell(done bool) { s.report(Seeking{Case: s.c, Saturation: *s.Saturation, Done: done}) }

func (s *search) find(ctx context.Context) error {
	s.tell(false)
	if err := s.unbounded(ctx); err != nil || s.Missing != "" {
		return err
	}
	if err := s.seek(); !errors.Is(err, errBroken) {
		return s.missing(ctx, err)
	}
	return nil
}

// unbounded measures the closed loop, the basis of the first rates.
func (s *search) unbounded(ctx context.Context) error {
	w := s.c.Workload
	w.Arrivals, w.Deadline = harness.Poisson, 0
	r, err := s.measure(ctx, w)
	switch {
	case errors.Is(err, errBroken):
		s.Rates = []harness.Rate{brokenRate}
		return nil
	case err != nil:
		return s.missing(ctx, err)
	case r.Ops == 0 || r.Elapsed <= 0:
		s.Missing = fmt.Sprintf("was not acquired once in %v by workers that ask again at once", w.Window)
		return nil
	}
	s.Closed = float64(r.Ops) / r.Elapsed.Seconds()
	return nil
}

const brokenRate harness.Rate = 1000

func (s *search) missing(ctx context.Context, err error) error {
	if why := lostBy(err); why != nil && ctx.Err() == nil {
		s.Missing, s.Rates = "gave no result in a probe: "+result.OneLine(why.Error()), nil
		return nil
	}
	return err
}

// measureAt measures the lock at rate for a short time.
func (s *search) measureAt(ctx context.Context, rate harness.Rate) (t result.Trial, err error) {
	w := s.c.Workload
	w.Rate = rate
	w.Window = probeWindowOf(w)
	s.tell(false)
	r, err := s.measure(ctx, w)
	if errors.Is(err, errBroken) {
		s.Rates = []harness.Rate{rate.Rounded(result.SaturationFigures)}
	}
	if err != nil {
		return t, err
	}
	t, ok := trialOf(r)
	if !ok {
		// No arrival was served, and hardly any was due: the rate is not the reason.
		return t, &lostError{err: fmt.Errorf("measure: no wait was timed in %v at %v", w.Window, rate)}
	}
	return t, nil
}

func probeWindowOf(w harness.Workload) time.Duration {
	const shortest, longest = 4, 3 // a quarter, and three times, of the case's
	d := time.Duration(probeArrivals / float64(w.Rate) * float64(time.Second))
	return min(longest*w.Window, harness.MaxWindow, max(w.Window/shortest, d))
}

// measure measures w by the plan. It fails if the lock violates a promise.
func (s *search) measure(ctx context.Context, w harness.Workload) (*result.Result, error) {
	s.serial--
	r, err := s.plan.measureTwice(ctx, Case{Lock: s.c.Lock, Workload: w}, s.known, 0, s.serial)
	if err != nil {
		return nil, err
	}
	if len(r.Violations) > 0 {
		v := r.Violations[0]
		s.Broken = result.OneLine(v.Rule + ": " + v.Detail)
		s.Missing = "broke a promise in a probe: " + s.Broken
		return nil, errBroken
	}
	return r, nil
}

// SeekProbes is the approximate number of probes in a search for a saturation point.
const SeekProbes = 20

// The additional cost of a probe of a distributed lock.
const (
	caseTrips     = 40                     // consecutive round trips: to connect, around the window, and to leave
	handoverCost  = 500 * time.Microsecond // of a handover between its clients before the first drive
	handoverTrips = 2
)

func (p *Plan) seekTime(c Case) time.Duration {
	each := p.estimate(c.StandIn(), 1, 0)
	if c.Lock.Remote != nil {
		each += caseTrips * c.Workload.Delay
		each += meetingsEach * time.Duration(c.Workload.Workers) * (handoverCost + handoverTrips*c.Workload.Delay)
	}
	return SeekProbes * each
}

// trialOf returns the trial of a probe with the result r, too high if the lock falls behind.
func trialOf(r *result.Result) (t result.Trial, ok bool) {
	o := r.Open
	if o == nil || o.Offered == 0 || o.Span <= 0 || r.Elapsed <= 0 || r.Wait.Count() == 0 {
		return t, false
	}
	t.Granted, _ = result.Goodput.Of(r)
	if result.Behind(r) {
		t.Over = result.LimitGranted
	}
	t.P99, t.Waits = max(1, result.Floor(r), r.Wait.Quantile(0.99)), r.Wait.Count()
	return t, true
}
