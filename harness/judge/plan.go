package judge

import (
	"fmt"
	"strings"

	"locklab/harness"
	"locklab/harness/result"
	"locklab/internal/numfmt"
)

// A plan is what a manifest planned, and what is missing. A run without counts lacks nothing.
type plan struct {
	side    string // "BASE" or "NEW"
	rounds  int
	planned map[string]int          // rounds, of each case that has a result
	cases   int                     // planned
	has     map[string]map[int]bool // the rounds of each case that has a result
	lost    map[string]result.Loss  // the first of each case
	broken  int                     // unreadable lines
	ended   bool
}

func planOf(side string, run *result.Run) *plan {
	m := run.Manifest
	p := &plan{side: side, rounds: m.Rounds, cases: m.Cases, broken: len(run.Damage), ended: !m.Interrupted && !m.Finished.IsZero(),
		planned: make(map[string]int), has: make(map[string]map[int]bool), lost: make(map[string]result.Loss)}
	for _, r := range run.Results {
		name := caseName(r.Lock.Name, r.Workload)
		if p.has[name] == nil {
			p.has[name] = make(map[int]bool)
			p.planned[name] = r.Workload.RoundsOf(m.Rounds, m.OpenEvery)
		}
		p.has[name][r.Round] = true
	}
	for _, l := range m.Lost {
		if _, known := p.lost[l.Case]; !known {
			p.lost[l.Case] = l
		}
	}
	return p
}

func caseName(lock string, w harness.Workload) string { return "lock=" + lock + "/" + w.Name() }

func (p *plan) lacks(name string) string {
	n, rounds := len(p.has[name]), p.rounds
	if n > 0 {
		rounds = p.planned[name]
	}
	if n >= rounds {
		return ""
	}
	text := fmt.Sprintf("%s has %d of its %s", p.side, n, numfmt.Plural(rounds, "round"))
	if l, lost := p.lost[name]; lost {
		text += fmt.Sprintf("; round %d was lost: %s", l.Round+1, l.Reason)
	} else if p.broken > 0 {
		text += fmt.Sprintf("; %s of its file cannot be read", numfmt.Plural(p.broken, "line"))
	}
	return text
}

func (p *plan) absent(name string) string {
	l, lost := p.lost[name]
	switch {
	case lost:
		return fmt.Sprintf("%s lost it: %s", p.side, l.Reason)
	case len(p.has) < p.cases:
		return fmt.Sprintf("%s has results of %d of its %s, and this may be one of the others", p.side, len(p.has), numfmt.Plural(p.cases, "case"))
	case p.broken > 0:
		return fmt.Sprintf("%s has %s that cannot be read, and this may have been there", p.side, numfmt.Plural(p.broken, "line"))
	}
	return ""
}

// gaps describes the missing results of p that no case of the other run represents: each
// could have been a regression.
func (p *plan) gaps(other *plan, wanted func(harness.Lock) bool) (out []string) {
	if p.broken > 0 {
		out = append(out, fmt.Sprintf("%s of %s that cannot be read", numfmt.Plural(p.broken, "line"), p.side))
	}
	unnamed := p.cases - len(p.has)
	for name := range other.has {
		if p.has[name] == nil {
			unnamed--
		}
	}
	for name, l := range p.lost {
		if p.has[name] != nil || other.has[name] != nil {
			continue // its row shows it
		}
		unnamed--
		if isWanted(name, wanted) {
			out = append(out, fmt.Sprintf("%s, which %s lost: %s", name, p.side, l.Reason))
		}
	}
	if unnamed > 0 && p.ended {
		out = append(out, fmt.Sprintf("%d of the %s that %s was to measure", unnamed, numfmt.Plural(p.cases, "case"), p.side))
	}
	return out
}

func (p *plan) lostWith(other *plan, wanted func(harness.Lock) bool) bool {
	for name := range p.lost {
		if _, too := other.lost[name]; too && isWanted(name, wanted) {
			return true
		}
	}
	return false
}

func isWanted(name string, wanted func(harness.Lock) bool) bool {
	lock, _, _ := strings.Cut(strings.TrimPrefix(name, "lock="), "/")
	return wanted == nil || wanted(harness.Lock{Name: lock})
}
