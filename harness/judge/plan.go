package judge

import (
	"fmt"
	"strings"

	"locklab/harness"
	"locklab/harness/result"
	"locklab/internal/numfmt"
)

// A plan compares a run with its plan. A run without counts lacks nothing.
type plan struct {
	side string // "BASE", "NEW", or such as "run 3"
	run  *result.Run
	has  map[string]map[int]*result.Result // by case and round
	lost map[string]result.Loss            // the first of each case
}

func planOf(side string, run *result.Run) *plan {
	p := &plan{side, run, make(map[string]map[int]*result.Result), make(map[string]result.Loss)}
	for _, r := range run.Results {
		name := caseName(r.Lock.Name, r.Workload)
		if p.has[name] == nil {
			p.has[name] = make(map[int]*result.Result)
		}
		p.has[name][r.Round] = r
	}
	for _, l := range run.Manifest.Lost {
		if _, known := p.lost[l.Case]; !known {
			p.lost[l.Case] = l
		}
	}
	return p
}

func caseName(lock string, w harness.Workload) string { return "lock=" + lock + "/" + w.Name() }

func (p *plan) ended() bool { return !p.run.Manifest.Interrupted && !p.run.Manifest.Finished.IsZero() }

func (p *plan) unreadable() string {
	if len(p.run.Damage) == 0 {
		return ""
	}
	return numfmt.Plural(len(p.run.Damage), "line")
}

func (p *plan) lacks(name string) string {
	n, m := len(p.has[name]), p.run.Manifest
	rounds := m.Rounds
	for _, r := range p.has[name] {
		rounds = r.Workload.RoundsOf(m.Rounds, m.OpenEvery)
	}
	if n >= rounds {
		return ""
	}
	text := fmt.Sprintf("%s has %d of its %s", p.side, n, numfmt.Plural(rounds, "round"))
	if l, lost := p.lost[name]; lost {
		text += fmt.Sprintf("; round %d was lost: %s", l.Round+1, l.Reason)
	} else if lines := p.unreadable(); lines != "" {
		text += fmt.Sprintf("; %s of its file cannot be read", lines)
	}
	return text
}

func (p *plan) absent(name string) string {
	l, lost := p.lost[name]
	switch cases := p.run.Manifest.Cases; {
	case lost:
		return fmt.Sprintf("%s lost it: %s", p.side, l.Reason)
	case len(p.has) < cases:
		return fmt.Sprintf("%s has results of %d of its %s, and this may be one of the others", p.side, len(p.has), numfmt.Plural(cases, "case"))
	case p.unreadable() != "":
		return fmt.Sprintf("%s has %s that cannot be read, and this may have been there", p.side, p.unreadable())
	}
	return ""
}

// gaps describes the missing results of p that no case of the other run represents: each
// could have been a regression.
func (p *plan) gaps(other *plan, wanted func(result.Lock) bool) (out []string) {
	if lines := p.unreadable(); lines != "" {
		out = append(out, fmt.Sprintf("%s of %s that cannot be read", lines, p.side))
	}
	cases := p.run.Manifest.Cases
	unnamed := cases - len(p.has)
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
	if unnamed > 0 && p.ended() {
		out = append(out, fmt.Sprintf("%d of the %s that %s was to measure", unnamed, numfmt.Plural(cases, "case"), p.side))
	}
	return out
}

func (p *plan) lostWith(other *plan, wanted func(result.Lock) bool) bool {
	for name := range p.lost {
		if _, too := other.lost[name]; too && isWanted(name, wanted) {
			return true
		}
	}
	return false
}

func isWanted(name string, wanted func(result.Lock) bool) bool {
	lock, _, _ := strings.Cut(strings.TrimPrefix(name, "lock="), "/")
	return wanted == nil || wanted(result.Lock{Name: lock})
}
