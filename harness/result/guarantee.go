package result

import (
	"fmt"
	"slices"

	"locklab/harness"
	"locklab/harness/oracle"
	"locklab/internal/numfmt"
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
	Tries     int              // of all scenarios that test it
	Least     int              // tries of the scenario among them with the fewest
	Published int              // of Tries, made in the project's own campaign
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
	case s.State == Held:
		return fmt.Sprintf("held in %s of %s", tries(s.Tries), numfmt.Plural(len(s.Scenarios), "scenario"))
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
	var broke, missing, open, tested []string
	claimed := true
	for _, r := range rs {
		if !slices.Contains(r.Tests, g) {
			continue
		}
		if r.Skipped != "" || r.Tries <= 0 {
			missing = append(missing, r.Scenario)
			continue
		}
		tested = append(tested, r.Scenario)
		s.Tries += r.Tries
		s.Published += r.Published
		if s.Least == 0 || r.Tries < s.Least {
			s.Least = r.Tries
		}
		claimed = claims(r.Lock.Traits, g)
		hurt, possible := false, false
		for _, h := range g.Forbids() {
			possible = possible || slices.Contains(r.Expected.Anomalies, h)
			if r.Seen[h] > 0 {
				hurt = true
				if !slices.Contains(s.Anomalies, h) {
					s.Anomalies = append(s.Anomalies, h)
				}
			}
		}
		if hurt {
			broke = append(broke, r.Scenario)
		} else if possible {
			open = append(open, r.Scenario)
		}
	}
	switch {
	case len(broke) > 0:
		s.State, s.Scenarios = Broken, broke
	case len(missing) > 0 || len(tested) == 0:
		s.State, s.Scenarios = Untested, missing
	case !claimed:
		s.State, s.Scenarios = Unmade, tested
	case len(open) > 0:
		s.State, s.Scenarios = Open, open
	default:
		s.State, s.Scenarios = Held, tested
	}
	return s
}

// claims reports whether a lock with traits t can have g: fencing needs tokens, order a claim.
func claims(t harness.Traits, g Guarantee) bool {
	return (g != Fencing || t.Fenced) && (g != Ordered || t.FIFO)
}
