package result

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"locklab/harness"
)

// Merge returns the run of parts, one of each rank, in any order. It changes no part. A case
// and round has no result if a rank lacks it, or its window opened or closed more than
// MostApart from the others': Manifest.Lost has the reason. Of two simulations of a case, the
// lower rank's is copied.
//
// An error wraps harness.ErrUsage if parts do not belong to one run.
func Merge(parts []*Run) (*Run, error) {
	parts = slices.Clone(parts)
	slices.SortStableFunc(parts, func(a, b *Run) int {
		return cmp.Or(cmp.Compare(a.Manifest.Rank, b.Manifest.Rank), strings.Compare(a.Dir, b.Dir))
	})
	if err := check(parts); err != nil {
		return nil, err
	}
	run := &Run{Manifest: manifest(parts)}
	for i, p := range parts {
		for _, d := range p.Damage {
			run.Damage = append(run.Damage, fmt.Sprintf("%s: %s", place(i, p.Manifest.Machine.Host), d))
		}
	}
	for i, p := range parts {
		for _, name := range run.AddSimulations(p) {
			run.Damage = append(run.Damage, fmt.Sprintf("%s: what was simulated on %s was left out: a rank before it has another machine of that name", place(i, p.Manifest.Machine.Host), name))
		}
	}
	rounds, err := gather(parts)
	if err != nil {
		return nil, err
	}
	for _, r := range rounds {
		result, why := r.merge(parts)
		if result != nil {
			run.Results = append(run.Results, result)
			continue
		}
		run.Manifest.Lost = append(run.Manifest.Lost, Loss{Case: r.name, Round: r.round, Reason: why})
	}
	run.Manifest.Lost = append(run.Manifest.Lost, lostByAll(parts, rounds)...)
	return run, nil
}

func place(rank int, host string) string {
	return fmt.Sprintf("rank %d on %s", rank, cmp.Or(host, "an unknown host"))
}

func caseName(r *harness.Result) string { return "lock=" + r.Lock.Name + "/" + r.Workload.Name() }

type round struct {
	key
	of [][]*harness.Result // by rank
}

type key struct {
	name  string
	round int
}

func gather(parts []*Run) (out []*round, err error) {
	at := make(map[key]*round)
	for i, p := range parts {
		for _, r := range p.Results {
			k := key{caseName(r), r.Round}
			c := at[k]
			if c == nil {
				c = &round{key: k, of: make([][]*harness.Result, len(parts))}
				at[k], out = c, append(out, c)
			}
			if first := c.any(); first != nil && (first.Workload != r.Workload || first.Lock != r.Lock) {
				return nil, fmt.Errorf("%w: %s and %s are of different plans: %s is another case in each", harness.ErrUsage, parts[0].Dir, p.Dir, k.name)
			}
			c.of[i] = append(c.of[i], r)
		}
	}
	return out, nil
}

func (r *round) any() *harness.Result {
	for _, rs := range r.of {
		if len(rs) > 0 {
			return rs[0]
		}
	}
	return nil
}

func (r *round) merge(parts []*Run) (result *harness.Result, why string) {
	var rs []*harness.Result
	broke := false
	for i, of := range r.of {
		switch at := place(i, parts[i].Manifest.Machine.Host); {
		case len(of) == 0:
			why = cmp.Or(why, at+lacks(parts[i], r.key))
		case len(of) > 1:
			why = cmp.Or(why, fmt.Sprintf("%s has it %d times", at, len(of)))
		}
		for _, x := range of {
			rs = append(rs, x)
			broke = broke || len(x.Violations) > 0
		}
	}
	if broke { // regardless of missing parts, the lock broke a promise
		return broken(rs), ""
	}
	if why != "" {
		return nil, why
	}
	for i, x := range rs {
		if flaw := flawOf(x, i); flaw != "" {
			return nil, place(i, parts[i].Manifest.Machine.Host) + " " + flaw
		}
	}
	g := newGroup(rs)
	if why := g.apart(); why != "" {
		return nil, why
	}
	return g.merge(), ""
}

func lacks(p *Run, k key) string {
	for _, l := range p.Manifest.Lost {
		if (key{l.Case, l.Round}) == k {
			return " lost it: " + l.Reason
		}
	}
	return " has no result of it"
}

func lostByAll(parts []*Run, rounds []*round) (out []Loss) {
	seen := make(map[key]bool)
	for _, r := range rounds {
		seen[r.key] = true
	}
	for i, p := range parts {
		for _, l := range p.Manifest.Lost {
			if k := (key{l.Case, l.Round}); !seen[k] {
				seen[k] = true
				out = append(out, Loss{Case: l.Case, Round: l.Round, Reason: place(i, p.Manifest.Machine.Host) + " lost it: " + l.Reason})
			}
		}
	}
	return out
}

func manifest(parts []*Run) Manifest {
	m := parts[0].Manifest
	m.Rank, m.Ranks, m.Lost, m.Skipped = 0, len(parts), nil, nil
	m.Versions, m.Flags = maps.Clone(m.Versions), maps.Clone(m.Flags)
	var warnings []warned
	for i, p := range parts {
		n := p.Manifest
		if n.Started.Before(m.Started) {
			m.Started = n.Started
		}
		if n.Finished.IsZero() || !m.Finished.IsZero() && n.Finished.After(m.Finished) {
			m.Finished = n.Finished
		}
		m.Interrupted = m.Interrupted || n.Interrupted || n.Finished.IsZero() // it was killed, or is still running
		e := n.Machine
		m.Parts = append(m.Parts, Part{Rank: i, Host: e.Host, OS: e.OS, Arch: e.Arch, Kernel: e.Kernel, CPU: e.CPU, CPUs: e.CPUs, Go: e.Go, Commit: n.Commit, Binary: n.Binary})
		for _, s := range n.Skipped {
			if !slices.Contains(m.Skipped, s) {
				m.Skipped = append(m.Skipped, s)
			}
		}
		for _, w := range n.Warnings {
			warnings = append(warnings, warned{e.Host, w})
		}
	}
	m.Warnings = pool(warnings)
	return m
}
