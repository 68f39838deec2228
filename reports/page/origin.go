package page

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"locklab/harness"
	"locklab/harness/result"
	"locklab/internal/machine"
	"locklab/internal/numfmt"
	"locklab/reports/chart"
)

func origin(run *result.Run) string {
	m := run.Manifest
	parts := append([]string{chart.Hardware(m.Machine)}, software(m.Machine)...)
	if w := windows(run); w != "" {
		parts = append(parts, w)
	}
	if m.Commit != "" {
		parts = append(parts, "locklab "+shortCommit(m.Commit))
	}
	if !m.Started.IsZero() {
		parts = append(parts, m.Started.UTC().Format(time.DateOnly))
	}
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), " · ")
}

// shortCommit returns the first twelve digits of a hash; the environment has all.
func shortCommit(commit string) string {
	const short, full = 12, 40
	if hash, dirty, _ := strings.Cut(commit, "+"); len(hash) == full {
		return strings.TrimSuffix(hash[:short]+"+"+dirty, "+")
	}
	return commit
}

func software(e machine.Environment) []string {
	out := []string{strings.TrimSpace(e.OS + " " + e.Kernel), e.Go}
	if e.GOMAXPROCS > 0 {
		out = append(out, fmt.Sprintf("GOMAXPROCS %d", e.GOMAXPROCS))
	}
	if e.Governor != "" && e.Governor != "none" {
		out = append(out, "governor "+e.Governor)
	}
	if e.Turbo != "" {
		out = append(out, "turbo "+e.Turbo)
	}
	if e.Clock != "" {
		out = append(out, fmt.Sprintf("clock %s, floor %s, step %s", e.Clock, numfmt.Nanos(e.ClockFloor), numfmt.Nanos(e.ClockStep)))
	}
	return out
}

// windows returns the rounds and time of each case, such as "10 rounds of 200ms, shuffled".
func windows(run *result.Run) string {
	n := roundsSeen(run)
	if n == 0 {
		return ""
	}
	lo, hi := run.Results[0].Workload.Window, run.Results[0].Workload.Window
	for _, r := range run.Results {
		lo, hi = min(lo, r.Workload.Window), max(hi, r.Workload.Window)
	}
	span := hi.String()
	if lo != hi {
		span = lo.String() + " to " + span
	}
	return numfmt.Plural(n, "round") + " of " + span + ", shuffled"
}

func roundsSeen(run *result.Run) int {
	rounds := make(map[int]bool)
	for _, r := range run.Results {
		rounds[r.Round] = true
	}
	return len(rounds)
}

// A fact is a line of the table of the environment.
type fact struct{ Name, Value string }

func environment(run *result.Run) []fact {
	m := run.Manifest
	facts := append(machineFacts(m.Machine), fact{"locklab", m.Commit})
	for _, f := range versions(run) {
		if !strings.Contains(f.Name, "/") {
			facts = append(facts, f)
		}
	}
	facts = append(facts, partFacts(m.Parts)...)
	for _, s := range m.Sites {
		facts = append(facts, siteFact(s))
	}
	if o := m.Overhead; o.Loop > 0 {
		facts = append(facts, fact{"the lab's own cost", numfmt.Nanos(o.Loop) + " a turn; " + numfmt.Nanos(o.Log) + " more if it is kept in the owner log, " + numfmt.Nanos(o.Timing) + " more if it is timed"})
		if o.Locker > 0 {
			facts = append(facts, fact{"a turn called directly", numfmt.Nanos(o.Direct) + "; " + numfmt.Nanos(o.Locker) + " through sync.Locker, as measured turns are called"})
		}
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

func siteFact(s result.Site) fact {
	name := s.Kind + " servers"
	if s.Conditions != "" {
		name += ", " + s.Conditions
	}
	var parts []string
	add := func(known bool, format string, args ...any) {
		if known {
			parts = append(parts, fmt.Sprintf(format, args...))
		}
	}
	add(s.Version != "", "version %s", s.Version)
	switch {
	case s.Independent > 1:
		add(true, "%d independent ones", s.Independent)
	case s.Servers > 1 && s.Kind == harness.KindZooKeeper:
		add(true, "an ensemble of %d", s.Servers)
	case s.Servers > 1:
		add(true, "a primary and %s", numfmt.Plural(s.Servers-1, "replica"))
	default:
		add(true, "one")
	}
	add(s.Settings != "", "%s", s.Settings)
	if s.SyncTime > 0 {
		add(true, "the disk (%s) keeps a small write in %s", cmp.Or(s.FileSystem, "its file system is not known"), numfmt.Nanos(s.SyncTime))
	}
	if w := s.WarmUp; w != nil {
		add(true, "warmed up for %v, in which an acquisition came from %s of its processor time to %s%s",
			w.Took.Round(100*time.Millisecond), numfmt.Nanos(w.First), numfmt.Nanos(w.Last), map[bool]string{false: " and still got faster"}[w.Steady])
	}
	add(s.Direct > 0, "a bare request and its answer take %s", numfmt.Nanos(s.Direct))
	if s.Delayed > 0 {
		cost := "whose own cost does not show beside that"
		if s.Proxied > s.Direct {
			cost = "which itself costs " + numfmt.Nanos(s.Proxied-s.Direct)
		}
		add(true, "%s through the proxy, %s, and %s with its delay of %v", numfmt.Nanos(s.Proxied), cost, numfmt.Nanos(s.Delayed), s.Delay)
	}
	return fact{name, strings.Join(parts, "; ")}
}

// partFacts describes the hosts of a merged run and their ranks; rank 0's machine is above.
func partFacts(parts []result.Part) (facts []fact) {
	at := make(map[string]int)
	ranks := make(map[string][]string)
	for _, p := range parts {
		if _, ok := at[p.Host]; !ok {
			at[p.Host] = len(facts)
			facts = append(facts, fact{"ranks on " + p.Host, fmt.Sprintf("%d × %s, %s", p.CPUs, p.CPU, strings.TrimSpace(p.OS+" "+p.Arch+" "+p.Kernel))})
		}
		ranks[p.Host] = append(ranks[p.Host], strconv.Itoa(p.Rank))
	}
	for host, i := range at {
		facts[i].Value = numfmt.List(ranks[host], 8) + ": " + facts[i].Value
	}
	return facts
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
	if e.ClockRate == "measured" {
		facts = append(facts, fact{"clock rate", "measured; measurements differ by " + numfmt.Number(e.ClockError) + " ppm"})
	}
	if s := e.Skew; s.CPUs > 0 {
		facts = append(facts, fact{"clocks across CPUs", "within " + numfmt.Nanos(s.Bound) + " of the first, " + numfmt.Plural(s.CPUs, "CPU") + " compared"})
	} else if s.Reason != "" {
		facts = append(facts, fact{"clocks across CPUs", "not compared: " + s.Reason})
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

// versions lists the servers and, with a slash in their names, the modules of the build.
func versions(run *result.Run) (out []fact) {
	for _, name := range slices.Sorted(maps.Keys(run.Manifest.Versions)) {
		out = append(out, fact{name, run.Manifest.Versions[name]})
	}
	return out
}

func modules(run *result.Run) []fact {
	return slices.DeleteFunc(versions(run), func(f fact) bool { return !strings.Contains(f.Name, "/") })
}

func command(run *result.Run) string {
	var words []string
	for _, w := range run.Manifest.Command {
		words = append(words, quote(w))
	}
	return strings.Join(words, " ")
}

func quote(w string) string {
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+=:,./-"
	if w != "" && strings.Trim(w, plain) == "" {
		return w
	}
	return "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
}
