package judge

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"locklab/harness"
	"locklab/harness/result"
	"locklab/internal/machine"
	"locklab/internal/numfmt"
)

func warnings(base, next *result.Run, paired, anyHost bool, ms []*matched) (out []string) {
	if base.Manifest.Machine.Unlike(next.Manifest.Machine, true) == nil && base.Manifest.Machine.Unlike(next.Manifest.Machine, anyHost) != nil {
		out = append(out, "the runs are of two hosts: add --any-host if these are two names of one machine, as containers have them")
	}
	if ds := differences(base.Manifest, next.Manifest, ms); len(ds) > 0 {
		out = append(out, "the runs differ in more than the code, which may explain the differences: "+numfmt.List(ds, len(ds)))
	}
	out = slices.Concat(out, defects("BASE", base), defects("NEW", next))
	if base.Manifest.IsCopyOf(next.Manifest) {
		out = append(out, "BASE and NEW are the same run")
	}
	if !paired {
		out = append(out, fmt.Sprintf("the runs were measured %s apart: on a noisy machine such runs cannot resolve 10 %%; "+
			"'locklab compare --interleave OLD-BINARY NEW-BINARY' measures two builds in alternating rounds",
			apart(base.Manifest.Started, next.Manifest.Started)))
	}
	return out
}

func defects(name string, run *result.Run) (out []string) {
	if m := run.Manifest; m.Interrupted || m.Finished.IsZero() {
		out = append(out, name+" did not run to its end")
	}
	if n := len(run.Damage); n > 0 {
		out = append(out, fmt.Sprintf("%s has %s that cannot be read", name, numfmt.Plural(n, "line")))
	}
	if n := len(run.Simulations); n > 0 {
		out = append(out, fmt.Sprintf("%s of %s %s left out: only what was measured is compared", numfmt.Plural(n, "simulation"), name, numfmt.Choose(n, "was", "were")))
	}
	return out
}

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

func differences(base, next result.Manifest, ms []*matched) (out []string) {
	a, b := base.Machine, next.Machine
	for _, d := range append(a.Unlike(b, true), []machine.Difference{
		{Name: "kernel", A: a.Kernel, B: b.Kernel},
		{Name: "governor", A: a.Governor, B: b.Governor},
		{Name: "turbo", A: a.Turbo, B: b.Turbo},
		{Name: "Go", A: a.Go, B: b.Go},
		{Name: "Redis", A: base.Versions[harness.KindRedis], B: next.Versions[harness.KindRedis]},
		{Name: "ZooKeeper", A: base.Versions[harness.KindZooKeeper], B: next.Versions[harness.KindZooKeeper]},
	}...) {
		if d.A, d.B = cmp.Or(d.A, "unknown"), cmp.Or(d.B, "unknown"); d.A != d.B {
			out = append(out, d.String())
		}
	}
	for _, m := range ms {
		if len(m.runs[0]) == 0 || len(m.runs[1]) == 0 {
			continue
		}
		if x, y := m.runs[0][0].Workload.Window, m.runs[1][0].Workload.Window; x != y {
			return append(out, fmt.Sprintf("window %v and %v", x, y))
		}
	}
	return out
}
