package compare

import (
	"fmt"
	"strconv"
	"time"

	"locklab/harness"
	"locklab/harness/resultfile"
	"locklab/internal/numfmt"
)

// warnings says what makes two runs hard to compare.
func warnings(base, next *resultfile.Run, paired bool, ms []*matched) (out []string) {
	if ds := differences(base.Manifest, next.Manifest, ms); len(ds) > 0 {
		out = append(out, "the runs differ in more than the code, which may be what is seen here: "+numfmt.List(ds, len(ds)))
	}
	for _, s := range []struct {
		name string
		run  *resultfile.Run
	}{{"BASE", base}, {"NEW", next}} {
		if m := s.run.Manifest; m.Interrupted || m.Finished.IsZero() {
			out = append(out, s.name+" did not run to its end")
		}
		if n := len(s.run.Damage); n > 0 {
			out = append(out, fmt.Sprintf("%s has %s that cannot be read", s.name, numfmt.Plural(n, "line")))
		}
		out = append(out, leftOut(s.name, s.run)...)
	}
	if sameRun(base.Manifest, next.Manifest) {
		out = append(out, "BASE and NEW are the same run")
	}
	if !paired {
		out = append(out, fmt.Sprintf("the runs were measured %s apart: on a noisy machine such runs cannot resolve 10 %%; "+
			"'locklab compare --interleave OLD-BINARY NEW-BINARY' measures two builds in alternating rounds",
			apart(base.Manifest.Started, next.Manifest.Started)))
	}
	return out
}

// leftOut says that the simulations of a run are not compared, if it has any.
func leftOut(name string, run *resultfile.Run) []string {
	n := len(run.Simulations)
	if n == 0 {
		return nil
	}
	return []string{fmt.Sprintf("%s of %s %s left out: only what was measured is compared", numfmt.Plural(n, "simulation"), name, numfmt.Choose(n, "was", "were"))}
}

// apart says how long lies between two moments, roughly.
func apart(a, b time.Time) string {
	d := b.Sub(a).Abs()
	switch {
	case d < time.Minute:
		return "less than a minute"
	case d < 2*time.Hour:
		return numfmt.Plural(int(d.Minutes()), "minute")
	case d < 48*time.Hour:
		return numfmt.Plural(int(d.Hours()), "hour")
	}
	return numfmt.Plural(int(d.Hours()/24), "day")
}

// differences lists in which conditions two runs differ. The commit is what is
// compared, and not one of them.
func differences(base, next resultfile.Manifest, ms []*matched) (out []string) {
	a, b := base.Machine, next.Machine
	number := strconv.Itoa
	for _, d := range []struct{ name, base, next string }{
		{"CPU", a.CPU, b.CPU},
		{"CPUs", number(a.CPUs), number(b.CPUs)},
		{"architecture", a.Arch, b.Arch},
		{"system", a.OS, b.OS},
		{"kernel", a.Kernel, b.Kernel},
		{"hypervisor", a.Virtual, b.Virtual},
		{"CPU limit", strconv.FormatFloat(a.CPULimit, 'g', 3, 64), strconv.FormatFloat(b.CPULimit, 'g', 3, 64)},
		{"governor", a.Governor, b.Governor},
		{"turbo", a.Turbo, b.Turbo},
		{"GOMAXPROCS", number(a.GOMAXPROCS), number(b.GOMAXPROCS)},
		{"Go", a.Go, b.Go},
		{"Redis", base.Versions[harness.KindRedis], next.Versions[harness.KindRedis]},
		{"ZooKeeper", base.Versions[harness.KindZooKeeper], next.Versions[harness.KindZooKeeper]},
	} {
		if d.base != d.next && (d.base != "" || d.next != "") {
			out = append(out, fmt.Sprintf("%s %s and %s", d.name, said(d.base), said(d.next)))
		}
	}
	for _, m := range ms {
		if len(m.base) == 0 || len(m.next) == 0 {
			continue
		}
		if x, y := m.base[0].Workload.Window, m.next[0].Workload.Window; x != y {
			return append(out, fmt.Sprintf("window %v and %v", x, y))
		}
	}
	return out
}

func said(s string) string {
	if s == "" {
		return "unknown"
	}
	return plain(s)
}
