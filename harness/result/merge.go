package result

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"locklab/harness"
	"locklab/internal/numfmt"
)

// Merge returns the run of parts, one of each rank, in any order. It changes no part. A case
// and round has no result if a rank lacks it, or its window opened or closed more than
// MostApart from the others': Manifest.Lost has the reason.
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
			run.Damage = append(run.Damage, fmt.Sprintf("%s: %s", partName(parts, i), d))
		}
	}
	var all []share
	for i, p := range parts {
		for _, r := range p.Results {
			all = append(all, share{r, i})
		}
	}
	seen := make(map[key]bool)
	for _, of := range GroupBy(all, share.key) {
		k := of[0].key()
		for _, x := range of[1:] {
			if of[0].Workload != x.Workload || of[0].Lock != x.Lock {
				return nil, fmt.Errorf("%w: %s and %s are of different plans: %s is another case in each", harness.ErrUsage, parts[0].Dir, parts[x.rank].Dir, k.name)
			}
		}
		seen[k] = true
		if result, why := mergeRound(of, parts); result != nil {
			run.Results = append(run.Results, result)
		} else {
			run.Manifest.Lost = append(run.Manifest.Lost, Loss{Case: k.name, Round: k.round, Reason: why})
		}
	}
	for i, p := range parts {
		for _, l := range p.Manifest.Lost {
			if k := (key{l.Case, l.Round}); !seen[k] {
				seen[k] = true
				l.Reason = partName(parts, i) + " lost it: " + l.Reason
				run.Manifest.Lost = append(run.Manifest.Lost, l)
			}
		}
	}
	return run, nil
}

func place(rank int, host string) string {
	return fmt.Sprintf("rank %d on %s", rank, cmp.Or(host, "an unknown host"))
}

func caseName(r *Result) string { return "lock=" + r.Lock.Name + "/" + r.Workload.Name() }

type key struct {
	name  string
	round int
}

// A share is the result of a rank.
type share struct {
	*Result
	rank int
}

func (s share) key() key { return key{caseName(s.Result), s.Round} }

func partName(parts []*Run, rank int) string { return place(rank, parts[rank].Manifest.Machine.Host) }

// mergeRound returns the result of a case and round from its shares, or why there is none.
func mergeRound(of []share, parts []*Run) (result *Result, why string) {
	rs := Each(of, func(x share) *Result { return x.Result })
	broke, times := false, make([]int, len(parts))
	for _, x := range of {
		broke = broke || len(x.Violations) > 0
		times[x.rank]++
	}
	if broke { // regardless of missing parts, the lock broke a promise
		return broken(rs), ""
	}
	for i, n := range times {
		switch {
		case n == 0:
			return nil, partName(parts, i) + lacks(parts[i], of[0].key())
		case n > 1:
			return nil, fmt.Sprintf("%s has it %d times", partName(parts, i), n)
		}
	}
	for i, x := range rs {
		if flaw := flawOf(x, i); flaw != "" {
			return nil, partName(parts, i) + " " + flaw
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

func manifest(parts []*Run) Manifest {
	m := parts[0].Manifest
	m.Rank, m.Ranks, m.Lost, m.Skipped = 0, len(parts), nil, nil
	m.Versions, m.Flags = maps.Clone(m.Versions), maps.Clone(m.Flags)
	var warnings []warned
	for i, p := range parts {
		n := p.Manifest
		m.Started = earlier(m.Started, n.Started)
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

func check(parts []*Run) error {
	refuse := func(format string, args ...any) error {
		return fmt.Errorf("%w: "+format, append([]any{harness.ErrUsage}, args...)...)
	}
	if len(parts) == 0 {
		return refuse("merge needs the directories of all parts of a run")
	}
	for _, p := range parts {
		switch m := p.Manifest; {
		case len(m.Parts) > 0:
			return refuse("%s is no part of a run but one that was merged: report it as it is", p.Dir)
		case !m.IsPart():
			return refuse("%s is no part of a run: it was measured by one rank, so report it as it is", p.Dir)
		case m.Rank < 0 || m.Rank >= m.Ranks || m.Ranks > harness.MaxRanks:
			return refuse("%s is damaged: it claims to be rank %d of %d", p.Dir, m.Rank, m.Ranks)
		case len(p.Findings)+len(p.Samples)+len(p.Faults)+len(p.Simulations) > 0:
			return refuse("%s has experiments, simulations or failure scenarios in addition to the part, which cannot be merged: run these into a separate directory", p.Dir)
		}
	}
	first := parts[0]
	for _, p := range parts[1:] {
		for _, s := range alike {
			if a, b := fmt.Sprint(s.of(first.Manifest)), fmt.Sprint(s.of(p.Manifest)); a != b {
				return refuse("%s and %s are of different %s: %s and %s", first.Dir, p.Dir, s.what, cmp.Or(a, "none"), cmp.Or(b, "none"))
			}
		}
		if a, b := first.Manifest, p.Manifest; a.Binary != b.Binary && a.Binary != "" && b.Binary != "" &&
			a.Machine.OS == b.Machine.OS && a.Machine.Arch == b.Machine.Arch {
			return refuse("%s and %s are of different builds: SHA-256 %.12s and %.12s", first.Dir, p.Dir, a.Binary, b.Binary)
		}
	}
	return complete(parts, refuse)
}

func complete(parts []*Run, refuse func(string, ...any) error) error {
	for i, p := range parts[1:] {
		if q := parts[i]; p.Manifest.Rank == q.Manifest.Rank {
			return refuse("rank %d is there twice, in %s and %s: give each part once", p.Manifest.Rank, q.Dir, p.Dir)
		}
	}
	ranks := parts[0].Manifest.Ranks
	var missing []string
	for rank := range ranks {
		if !slices.ContainsFunc(parts, func(p *Run) bool { return p.Manifest.Rank == rank }) {
			missing = append(missing, fmt.Sprint(rank))
		}
	}
	if n := len(missing); n > 0 {
		return refuse("the %s %s of %d %s missing: give the directories of all ranks", numfmt.Choose(n, "part of rank", "parts of ranks"),
			numfmt.List(missing, 8), ranks, numfmt.Choose(n, "is", "are"))
	}
	return nil
}

var alike = []struct {
	what string
	of   func(m Manifest) any
}{
	{"schemas", func(m Manifest) any { return m.Schema }},
	{"runs, by the number of ranks", func(m Manifest) any { return m.Ranks }},
	{"jobs", func(m Manifest) any { return m.Job }},
	{"seeds", func(m Manifest) any { return m.Seed }},
	{"builds", func(m Manifest) any { return m.Commit }},
	{"builds", func(m Manifest) any {
		return fmt.Sprint(m.Machine.Go, without(m.Versions, harness.KindRedis, harness.KindZooKeeper)) // a rank may not have asked the servers
	}},
	{"plans", func(m Manifest) any {
		return fmt.Sprintf("%d rounds of %d cases, open loops every %d rounds, windows of %v, %v, tolerance %v",
			m.Rounds, m.Cases, m.OpenEvery, m.Window, without(m.Flags, "rank", "ranks", "sync", "job", "out"), m.ToleranceOrDefault())
	}},
}

func without(m map[string]string, names ...string) map[string]string {
	out := maps.Clone(m)
	maps.DeleteFunc(out, func(name, _ string) bool { return slices.Contains(names, name) })
	return out
}

// The greatest times of a valid file, in ns: 36 years for clocks that begin with the
// machine, and the year 2116 for clocks that begin in 1970. Sums of them do not overflow.
const (
	mostTime   = 1 << 60
	mostOffset = 1 << 62
)

// flawOf returns the flaw of r, which has no violation, as the part of a rank, or "".
func flawOf(r *Result, rank int) string {
	if err := r.Workload.Validate(); err != nil {
		return fmt.Sprintf("is damaged: it has an invalid workload: %v", err)
	}
	if len(r.Ranks) != 1 || r.Ranks[0].Rank != rank {
		return "has no record of its own part in it"
	}
	k := r.Ranks[0]
	first, workers := r.Workload.Share(rank)
	if k.First != first || k.Workers != workers || len(r.Workers) != workers {
		return fmt.Sprintf("has %d of its workers, from %d on, where %d from %d on are its share", len(r.Workers), k.First, workers, first)
	}
	sane := k.Offset > -mostOffset && k.Offset < mostOffset && k.Error < mostTime && k.Late > -mostTime && k.Late < mostTime && k.Closed >= k.Opened
	for _, at := range []int64{k.Zero, k.Opened, k.Closed} {
		sane = sane && at > -mostTime && at < mostTime
	}
	for i, h := range r.Holds {
		sane = sane && h.Worker >= 0 && h.Worker < workers && h.Requested > -mostTime && h.Requested <= h.Acquired &&
			h.Acquired <= h.Releasing && h.Releasing < mostTime && (i == 0 || r.Holds[i-1].Acquired <= h.Acquired)
	}
	if !sane {
		return "is damaged: it has an invalid time"
	}
	return ""
}
