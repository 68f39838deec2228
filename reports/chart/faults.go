package chart

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"locklab/harness"
	"locklab/harness/result"
	"locklab/internal/numfmt"
)

// A Safety is the outcome of the failure scenarios for the distributed locks of a run.
type Safety struct {
	Locks     []*Survivor // of the run: the strongest class first
	Scenarios []*Hazard   // in order of appearance
	Tries     int
}

// A Survivor is a distributed lock with its class and outcomes.
type Survivor struct {
	Lock  harness.Lock
	Class result.Class
	Rows  map[string]result.Survival // by scenario
}

// A Hazard is a scenario with the outcome of each lock.
type Hazard struct {
	*result.FaultResult // one of its results, for its texts
	Rows                []result.Survival
}

// SafetyOf returns the outcomes of the scenarios of run, or nil if run has no distributed
// lock. It includes every such lock, with or without a try.
func SafetyOf(run *result.Run) *Safety {
	s := new(Safety)
	locks := make(map[string]harness.Lock)
	for _, r := range run.Results {
		if r.Lock.Traits.Needs != "" {
			locks[r.Lock.Name] = r.Lock
		}
	}
	for _, f := range run.Faults {
		if _, known := locks[f.Lock.Name]; !known {
			locks[f.Lock.Name] = f.Lock
		}
	}
	if len(locks) == 0 {
		return nil
	}
	judged := make(map[string]map[string]result.Survival)
	for _, f := range run.Faults {
		row := result.JudgeFault(f)
		s.Tries += row.N
		i := slices.IndexFunc(s.Scenarios, func(h *Hazard) bool { return h.Scenario == f.Scenario })
		if i < 0 {
			i = len(s.Scenarios)
			s.Scenarios = append(s.Scenarios, &Hazard{FaultResult: f})
		}
		s.Scenarios[i].Rows = append(s.Scenarios[i].Rows, row)
		if judged[f.Lock.Name] == nil {
			judged[f.Lock.Name] = make(map[string]result.Survival)
		}
		judged[f.Lock.Name][f.Scenario] = row
	}
	for _, name := range slices.Sorted(maps.Keys(locks)) {
		s.Locks = append(s.Locks, &Survivor{Lock: locks[name], Class: result.ClassOf(run.Faults, name), Rows: judged[name]})
	}
	slices.SortStableFunc(s.Locks, func(a, b *Survivor) int {
		return cmp.Or(cmp.Compare(b.Class.Strength, a.Class.Strength), cmp.Compare(a.worst(), b.worst()), strings.Compare(a.Lock.Name, b.Lock.Name))
	})
	order := make(map[string]int)
	for i, l := range s.Locks {
		order[l.Lock.Name] = i
	}
	for _, h := range s.Scenarios {
		slices.SortStableFunc(h.Rows, func(a, b result.Survival) int { return order[a.Fault.Lock.Name] - order[b.Fault.Lock.Name] })
	}
	return s
}

func (s *Survivor) worst() (most float64) {
	for _, row := range s.Rows {
		if row.Verdict != result.NotTested {
			most = max(most, row.Broken)
		}
	}
	return most
}

func (s *Safety) Tried() bool { return s.Tries > 0 }

// PerThousand formats the number of violations of row in 1,000 faults.
func PerThousand(row result.Survival) string {
	if math.IsNaN(row.Violations) {
		return numfmt.Unknown
	}
	text := numfmt.Number(row.Violations)
	if row.AtLeast {
		text = "≥" + numfmt.Space + text
	}
	return text
}

// Lasting formats a time that may be infinite or negative.
func Lasting(ns float64) string {
	switch {
	case math.IsInf(ns, 1):
		return "no end"
	case ns < 0:
		return "−" + numfmt.Nanos(-ns)
	}
	return numfmt.Nanos(ns)
}

// Sentence returns the class of s for a table.
func (s *Survivor) Sentence() string {
	if s.Class.Tries == 0 {
		return "not tested for failures"
	}
	return s.Class.Sentence
}

// Answer summarizes the guarantees of the locks in a few sentences.
func (s *Safety) Answer() string {
	if !s.Tried() {
		return fmt.Sprintf("Not tested: no failure scenario was tried on the %s here, so what %s is not known.", numfmt.Plural(len(s.Locks), "lock"), numfmt.Choose(len(s.Locks), "it survives", "they survive"))
	}
	byStrength := make(map[result.Strength][]string)
	for _, l := range s.Locks {
		byStrength[l.Class.Strength] = append(byStrength[l.Class.Strength], l.Lock.Name)
	}
	var parts []string
	for strength := result.Strong; strength >= result.Unknown; strength-- {
		if names := byStrength[strength]; len(names) > 0 {
			parts = append(parts, fmt.Sprintf("%d %s (%s)", len(names), strength.Of(len(names)), numfmt.List(names, 6)))
		}
	}
	text := fmt.Sprintf("In %s faults of %s, of %s: %s.", numfmt.SI(float64(s.Tries)), numfmt.Plural(len(s.Scenarios), "scenario"), numfmt.Plural(len(s.Locks), "lock"), strings.Join(parts, "; "))
	if bad := s.refuted(); len(bad) > 0 {
		text += fmt.Sprintf(" Not as expected: %s.", numfmt.List(bad, 6))
	} else {
		text += " Nothing was refuted that was expected."
	}
	return text
}

func (s *Safety) refuted() (out []string) {
	for _, h := range s.Scenarios {
		for _, row := range h.Rows {
			if row.Verdict == result.Refuted {
				out = append(out, row.Fault.Lock.Name+" in "+h.Scenario)
			}
		}
	}
	return out
}
