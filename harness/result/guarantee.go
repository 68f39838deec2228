package result

import (
	"fmt"
	"slices"

	"locklab/harness"
	"locklab/harness/oracle"
	"locklab/internal/numfmt"
	"locklab/internal/stat"
)

// A GuaranteeState is the state of a guarantee of a lock.
type GuaranteeState string

// The states.
const (
	Held     GuaranteeState = "held"        // every scenario that tests it was tried, and none broke it
	Broken   GuaranteeState = "broken"      // a scenario broke it
	Untested GuaranteeState = "not tested"  // not all scenarios that test it were tried
	Unmade   GuaranteeState = "not claimed" // it was not broken, and the lock does not claim it
	Open     GuaranteeState = "not shown"   // it was not broken in a scenario that is expected to be able to break it
)

// A GuaranteeStatus is the state of a guarantee of a lock, and the evidence.
type GuaranteeStatus struct {
	State GuaranteeState

	// Scenarios are the scenarios that broke the guarantee. If it was not tested,
	// they are the ones not tried; if it was not shown, the ones that may break it.
	// Otherwise they are the ones that tested it.
	Scenarios []string
	Anomalies []oracle.Anomaly // anomalies that broke it

	// Scenario is the one that is tried least; if some broke the guarantee, the one of them with
	// the greatest bound. The counts and the bound are of its tries.
	Scenario        string
	Published, Here Count
	Bound           float64 // one-sided, 95 %, of the share of failed tries: see stat.UpperBound
}

// A Count is a number of tries, and at least how many of them failed.
type Count struct{ Failed, Tries int }

func (c Count) String() string {
	text := fmt.Sprintf("%d of %d", c.Failed, c.Tries)
	if c.Failed > 0 {
		text += " failed"
	}
	return text
}

// Tries returns the number of tries of the scenario.
func (s GuaranteeStatus) Tries() int { return s.Published.Tries + s.Here.Tries }

// Counts returns the evidence, such as "published 0 of 60, here 1 of 1 failed (at most 7.6 %)".
func (s GuaranteeStatus) Counts() string {
	text := s.Here.String()
	switch {
	case s.Tries() == 0:
		return string(s.State)
	case s.Here.Tries == 0:
		text = "published " + s.Published.String()
	case s.Published.Tries > 0:
		text = fmt.Sprintf("published %v, here %v", s.Published, s.Here)
	}
	if s.Bound < 1 {
		text += fmt.Sprintf(" (at most %s)", numfmt.Percent(100*s.Bound))
	}
	if s.State == Unmade || s.State == Open {
		text = string(s.State) + ": " + text
	}
	return text
}

// EnoughTries is how many tries without a violation bound its share by 5 % with 95 %
// confidence.
const EnoughTries = 59

// String returns the state in words, such as "broken by holder-pause (stale write)".
func (s GuaranteeStatus) String() string {
	switch {
	case s.State == Broken:
		return fmt.Sprintf("broken by %s (%s)", numfmt.List(s.Scenarios, 4), ListAnomalies(s.Anomalies))
	case s.State == Untested && len(s.Scenarios) > 0:
		return "not tested: " + numfmt.List(s.Scenarios, 4) + " was not tried"
	case s.State == Open:
		return fmt.Sprintf("possible in %s, and not shown", numfmt.List(s.Scenarios, 4))
	}
	return string(s.State)
}

// GuaranteesOf returns the status of each guarantee of the named lock. A guarantee is held only
// if every result that tests it has tries, and no result shows or expects an anomaly that breaks
// it. If it is optional, as order and fencing are, the lock must also claim it.
func GuaranteesOf(rs []*FaultResult, lock string) map[Guarantee]GuaranteeStatus {
	out := make(map[Guarantee]GuaranteeStatus)
	mine := ofLock(rs, lock)
	for _, g := range Guarantees {
		out[g] = status(mine, g)
	}
	return out
}

func ofLock(rs []*FaultResult, lock string) (out []*FaultResult) {
	for _, r := range rs {
		if r.Lock.Name == lock {
			c := *r
			out = AddFault(out, &c)
		}
	}
	return out
}

func status(rs []*FaultResult, g Guarantee) (s GuaranteeStatus) {
	var broke, missing, open, tested []*FaultResult
	claimed := true
	for _, r := range rs {
		if !slices.Contains(r.Tests, g) {
			continue
		}
		if r.Skipped != "" || r.Tries <= 0 {
			missing = append(missing, r)
			continue
		}
		tested = append(tested, r)
		claimed = claims(r.Lock.Traits, g)
		hurt := slices.DeleteFunc(slices.Clone(g.Forbids()), func(h oracle.Anomaly) bool { return r.Seen[h] <= 0 })
		for _, h := range hurt {
			if !slices.Contains(s.Anomalies, h) {
				s.Anomalies = append(s.Anomalies, h)
			}
		}
		possible := func(h oracle.Anomaly) bool { return slices.Contains(r.Expected.Anomalies, h) }
		if len(hurt) > 0 {
			broke = append(broke, r)
		} else if slices.ContainsFunc(g.Forbids(), possible) {
			open = append(open, r)
		}
	}
	of, counted := tested, tested
	switch {
	case len(broke) > 0:
		s.State, of, counted = Broken, broke, broke
	case len(missing) > 0 || len(tested) == 0:
		s.State, of, counted = Untested, missing, nil
	case !claimed:
		s.State = Unmade
	case len(open) > 0:
		s.State, of = Open, open
	default:
		s.State = Held
	}
	s.Scenarios = Each(of, func(r *FaultResult) string { return r.Scenario })
	s.count(counted, g)
	return s
}

// count sets the evidence of s for g, from the result with the greatest bound.
func (s *GuaranteeStatus) count(rs []*FaultResult, g Guarantee) {
	for _, r := range rs {
		published, here := &FaultResult{Tries: r.Published.Tries, Seen: r.Published.Seen}, *r
		here.Tries, here.Seen = r.Tries-published.Tries, make(map[oracle.Anomaly]int)
		for _, h := range g.Forbids() {
			here.Seen[h] = r.Seen[h] - published.Seen[h]
		}
		p, mostP := published.Hurt(g.Forbids())
		n, mostN := here.Hurt(g.Forbids())
		if bound := stat.UpperBound(mostP+mostN, r.Tries); bound > s.Bound {
			s.Scenario, s.Bound = r.Scenario, bound
			s.Published, s.Here = Count{p, published.Tries}, Count{n, here.Tries}
		}
	}
	if s.Scenario == "" {
		s.Bound = 1
	}
}

func claims(t harness.Traits, g Guarantee) bool {
	return (g != Fencing || t.Fenced) && (g != Ordered || t.FIFO)
}
