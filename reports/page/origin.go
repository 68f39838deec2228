package page

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"locklab/harness/result"
	"locklab/internal/machine"
	"locklab/internal/numfmt"
	"locklab/reports/chart"
)

func origin(run *result.Run) string {
	m := run.Manifest
	var parts phrases
	parts.add(m.Machine.CPUs > 0, "%v", m.Machine)
	parts.add(len(run.Results) > 0, "%s", windows(run))
	parts.add(m.Machine.GOMAXPROCS > 0, "GOMAXPROCS %d", m.Machine.GOMAXPROCS)
	parts.add(m.Commit != "", "locklab %s", m.ShortCommit())
	parts.add(!m.Started.IsZero(), "%s", m.Started.UTC().Format(time.DateOnly))
	return strings.Join(parts, " · ")
}

// windows returns the rounds and time of each case, such as "10 rounds of 200ms, shuffled".
func windows(run *result.Run) string {
	if len(run.Results) == 0 {
		return ""
	}
	rounds := chart.Distinct(run.Results, func(r *result.Result) int { return r.Round })
	spans := result.Each(run.Results, func(r *result.Result) time.Duration { return r.Workload.Window })
	lo, hi := slices.Min(spans), slices.Max(spans)
	span := hi.String()
	if lo != hi {
		span = lo.String() + " to " + span
	}
	return numfmt.Plural(len(rounds), "round") + " of " + span + ", shuffled"
}

// A fact is a line of the table of the environment.
type fact struct{ Name, Value string }

func environment(run *result.Run) []fact {
	m := run.Manifest
	facts := append(machineFacts(m.Machine), fact{"locklab", m.Commit})
	facts = append(facts, versions(run, false)...)
	for _, p := range m.Parts { // of a merged run; rank 0's machine is above
		f := fact{"host " + p.Host, fmt.Sprintf("%d × %s, %s", p.CPUs, p.CPU, strings.TrimSpace(p.OS+" "+p.Arch+" "+p.Kernel))}
		if !slices.Contains(facts, f) {
			facts = append(facts, f)
		}
	}
	facts = append(facts, result.Each(m.Sites, siteFact)...)
	if o := m.Overhead; o.Loop > 0 {
		facts = append(facts, fact{"the lab's own cost", numfmt.Nanos(o.Loop) + " an iteration; " + numfmt.Nanos(o.Log) + " more if it is kept in the owner log, " + numfmt.Nanos(o.Timing) + " more if it is timed"})
	}
	for _, s := range slices.Sorted(maps.Keys(m.Sections)) {
		facts = append(facts, fact{"section " + s.String(), numfmt.Nanos(m.Sections[s]) + " for a change of its data, by one worker without a lock"})
	}
	facts = append(facts,
		fact{"measured", windows(run)},
		fact{"cases per round", count(m.Cases)},
		fact{"seed", strconv.FormatUint(m.Seed, 10)},
		fact{"started", moment(m.Started)},
		fact{"finished", moment(m.Finished)},
	)
	return slices.DeleteFunc(facts, func(f fact) bool { return f.Value == "" })
}

// phrases are the parts of a sentence.
type phrases []string

func (p *phrases) add(known bool, format string, args ...any) {
	if known {
		*p = append(*p, fmt.Sprintf(format, args...))
	}
}

func siteFact(s result.Site) fact {
	var parts phrases
	parts.add(s.Version != "", "version %s", s.Version)
	parts.add(s.Independent > 1, "%d independent ones", s.Independent)
	parts.add(s.Independent <= 1 && s.Servers > 1, "%d that replicate", s.Servers)
	parts.add(s.Settings != "", "%s", s.Settings)
	parts.add(s.SyncTime > 0, "the disk (%s) keeps a small write in %s", cmp.Or(s.FileSystem, "file system not known"), numfmt.Nanos(s.SyncTime))
	if s.WarmUp != nil {
		parts.add(true, "warmed up for %v", s.WarmUp.Took.Round(100*time.Millisecond))
	}
	parts.add(s.Direct > 0, "a request and its answer take %s", numfmt.Nanos(s.Direct))
	parts.add(s.Delayed > 0, "%s with the delay of %v", numfmt.Nanos(s.Delayed), s.Delay)
	return fact{strings.TrimSuffix(s.Kind+" servers, "+s.Conditions, ", "), strings.Join(parts, "; ")}
}

func machineFacts(e machine.Environment) []fact {
	facts := []fact{
		{"host", e.Host},
		{"processor", e.CPU},
		{"logical CPUs", count(e.CPUs)},
		{"physical cores", count(e.Cores)},
		{"sockets", count(e.Sockets)},
		{"memory nodes", count(e.NUMANodes)},
		{"memory, MiB", count(e.MemoryMiB)},
		{"hypervisor", e.Virtual},
		{"container", map[bool]string{true: "yes"}[e.Container]},
		{"system", strings.TrimSpace(e.OS + " " + e.Arch + " " + e.Kernel)},
		{"governor", e.Governor},
		{"turbo", e.Turbo},
		{"kernel clock", e.Clocksource},
		{"clock of the samples", e.Clock},
		{"atomic instruction", e.Atomics},
		{"Go", e.Go},
		{"GOMAXPROCS", count(e.GOMAXPROCS)},
	}
	if e.CPULimit > 0 {
		facts = append(facts, fact{"CPU limit", numfmt.Number(e.CPULimit)})
	}
	if e.Clock != "" {
		facts = append(facts, fact{"clock floor, step", numfmt.Nanos(e.ClockFloor) + ", " + numfmt.Nanos(e.ClockStep)})
	}
	for _, c := range e.Caches {
		facts = append(facts, fact{c.Name(), c.Detail()})
	}
	return facts
}

func count(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}

func moment(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}

// versions: modules have a slash in their names, servers have none.
func versions(run *result.Run, modules bool) (out []fact) {
	for _, name := range slices.Sorted(maps.Keys(run.Manifest.Versions)) {
		if strings.Contains(name, "/") == modules {
			out = append(out, fact{name, run.Manifest.Versions[name]})
		}
	}
	return out
}

func command(run *result.Run) string {
	return strings.Join(result.Each(run.Manifest.Command, quote), " ")
}

func quote(w string) string {
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+=:,./-"
	if w != "" && strings.Trim(w, plain) == "" {
		return w
	}
	return "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
}
