package lab

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"locklab/harness/measure"
	"locklab/harness/result"
	"locklab/internal/numfmt"
	"locklab/internal/site"
)

// The flags of the command run that define the measurement, stored and fixed for a resume.
var planFlags = strings.Fields(workloadFlags + " " + rareWorkloadFlags + " " + serverFlags +
	" ranks rounds duration warmup budget quick seed hardware chaos tolerance")

func chosen(f *pflag.FlagSet, seed uint64) map[string]string {
	m := map[string]string{"seed": fmt.Sprint(seed)}
	for _, name := range planFlags {
		if f.Changed(name) {
			m[name] = f.Lookup(name).Value.String()
		}
	}
	return m
}

func (o *runOptions) noResume() string {
	return "ranks cannot resume: merge what they kept with '" + o.program.Name + " merge', or start again"
}

func (o *runOptions) resumed(flags *pflag.FlagSet) (*measure.Plan, error) {
	m, err := result.ReadManifest(o.out)
	if err != nil {
		return nil, err
	}
	if m.IsPart() {
		return nil, usage("%s holds the part of rank %d of %d: %s", o.out, m.Rank, m.Ranks, o.noResume())
	}
	if err := recall(flags, o.out, m); err != nil {
		return nil, err
	}
	return o.planAgain(m)
}

func recall(f *pflag.FlagSet, dir string, m result.Manifest) error {
	if m.Flags == nil {
		return usage("the run in %s has no record of its flags and cannot be resumed; choose another directory", dir)
	}
	return setFlags(f, m.Flags, func(name, was, is string) error {
		return usage("cannot resume the run in %s: it was started with --%s %q, this is %q; leave the flag out, or choose another directory", dir, name, was, is)
	})
}

// setFlags sets the flags of a plan to their earlier values. If a given flag differs, it
// returns an error from differs.
func setFlags(f *pflag.FlagSet, before map[string]string, differs func(name, was, is string) error) error {
	for _, name := range planFlags {
		flag := f.Lookup(name)
		was, given := before[name]
		if !given {
			was = flag.DefValue
		}
		if flag.Changed && flag.Value.String() != was {
			return differs(name, was, flag.Value.String())
		}
		if given {
			if err := f.Set(name, was); err != nil {
				return usage("--%s was %q: %v", name, was, err)
			}
		}
	}
	return nil
}

func (o runOptions) planAgain(m result.Manifest) (*measure.Plan, error) {
	o.setBrief()
	o.budget = 0 // it was spent on these rounds and windows
	p, err := o.plan()
	if err != nil {
		return nil, err
	}
	p.Rounds, p.Every.Window = m.Rounds, m.WindowEvery
	site.Drop(p, func(c measure.Case) string { // locks that were skipped then are skipped again
		if i := slices.IndexFunc(m.Skipped, func(s result.Skip) bool {
			return s.Lock == c.Lock.Name && (s.Conditions == "" || s.Conditions == site.Conditions(c))
		}); i >= 0 {
			return m.Skipped[i].Reason
		}
		return ""
	})
	if len(p.Cases) == 0 {
		return nil, usage("the run in %s skipped every lock", o.out)
	}
	if err := p.Settle(m.Saturations); err != nil {
		return nil, fmt.Errorf("%w: the search in %s did not end; start the run again with --replace", err, o.out)
	}
	if err := unsought(p, m.Saturations); err != nil {
		return nil, err
	}
	o.setWindows(p, m.Window)
	return p, nil
}

// goOn removes the results of run from p. It returns an error if it cannot: a measured lock
// is skipped now, or p would not have measured a result.
func goOn(p *measure.Plan, dir string, run *result.Run, skipped []result.Skip) error {
	refuse := func(format string, args ...any) error {
		return usage("cannot resume the run in %s: "+format, append([]any{dir}, args...)...)
	}
	skipped = slices.DeleteFunc(slices.Clone(skipped), func(s result.Skip) bool { return slices.Contains(run.Manifest.Skipped, s) })
	if len(skipped) > 0 {
		return refuse("%s was measured before and is skipped now: %s", skipped[0].Name(), skipped[0].Reason)
	}
	if len(p.Cases) != run.Manifest.Cases {
		return refuse("it has %s, the same flags now give %d", numfmt.Plural(run.Manifest.Cases, "case"), len(p.Cases))
	}
	planned := make(map[string]measure.Case)
	for _, c := range p.Cases {
		planned[c.Name()] = c
	}
	done := make(map[string]map[int]bool) // rounds, by case
	for _, r := range run.Results {
		name := "lock=" + r.Lock.Name + "/" + r.Workload.Name()
		c, ok := planned[name]
		switch {
		case !ok:
			return refuse("the same flags do not give %s, which it has measured", name)
		case c.Workload.Window != r.Workload.Window:
			return refuse("it measured %s for %v, the same flags now give %v", name, r.Workload.Window, c.Workload.Window)
		case done[name] == nil:
			done[name] = make(map[int]bool)
		}
		done[name][r.Round] = true
	}
	p.Done = func(c measure.Case, round int) bool { return done[c.Name()][round] }
	return nil
}
