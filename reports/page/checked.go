package page

import (
	"fmt"
	"slices"
	"strings"

	"locklab/harness"
	"locklab/harness/result"
	"locklab/internal/numfmt"
)

// A checked counts the checks on one lock during the measurement.
type checked struct {
	Lock      string
	Windows   int
	Contended int // windows with two workers or more
	Ops       uint64
	Rules     []string
	Broken    int // windows with a violation
}

// audit lists the run's checks by lock, from its promises: results record no rule that held.
func audit(run *result.Run) (out []checked) {
	index := make(map[string]int)
	for _, r := range run.Results {
		if r.Lock.Status == harness.Control {
			continue // it is no lock
		}
		i, known := index[r.Lock.Name]
		if !known {
			i = len(out)
			index[r.Lock.Name] = i
			out = append(out, checked{Lock: r.Lock.Name})
		}
		c := &out[i]
		c.Windows++
		c.Ops += r.Ops
		if r.Workload.Workers > 1 {
			c.Contended++
		}
		if len(r.Violations) > 0 {
			c.Broken++
		}
		for _, rule := range rulesOf(r) {
			if !slices.Contains(c.Rules, rule) {
				c.Rules = append(c.Rules, rule)
			}
		}
	}
	for _, c := range out {
		slices.Sort(c.Rules) // otherwise in order of the first windows
	}
	slices.SortFunc(out, func(a, b checked) int { return strings.Compare(a.Lock, b.Lock) })
	return out
}

func rulesOf(r *harness.Result) []string {
	rules := []string{"crash: it does not end its process", "liveness: every worker comes back"}
	traits, contended := r.Lock.Traits, r.Workload.Workers > 1
	if contended && traits.Permits <= 1 {
		rules = append(rules, "exclusion: no update of what it guards is lost")
		if r.Workload.Reads > 0 {
			rules = append(rules, "exclusion: no reader sees half an update")
		}
	}
	if traits.Needs == "" {
		return rules
	}
	switch {
	case contended && traits.Permits > 1:
		rules = append(rules, fmt.Sprintf("exclusion: at most %d hold it at a time", traits.Permits))
	case contended:
		rules = append(rules, "exclusion: no two hold it at a time")
	}
	if traits.Fenced {
		rules = append(rules, "fencing: tokens rise from holder to holder")
	}
	return append(rules, "error: no request fails")
}

func (c checked) found() string {
	if c.Broken == 0 {
		return "kept"
	}
	return fmt.Sprintf("broken in %d", c.Broken)
}

const auditText = "Contenders are two workers or more: with one there is none to exclude. What else a lock promises, such as its order, or that a waiter can give up, is checked by its conformance tests, not by a run."

var auditHead = []string{"lock", "windows", "with contenders", "acquisitions", "promises", "checked"}

// Row returns c as cells under auditHead.
func (c checked) Row() []string {
	return []string{c.Lock, fmt.Sprint(c.Windows), fmt.Sprint(c.Contended), numfmt.SI(float64(c.Ops)), c.found(), strings.Join(c.Rules, "; ")}
}
