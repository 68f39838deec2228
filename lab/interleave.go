package lab

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"locklab/harness/judge"
	"locklab/harness/result"

	"locklab/harness/measure"
	"locklab/internal/numfmt"
	"locklab/internal/site"
	"locklab/internal/stat"
)

// defaultPairs is the rounds for two builds: enough for 95 % with any number of cases.
const defaultPairs = 20

// sides name the two builds, and the directories of their runs.
var sides = [2]string{"old", "new"}

// builds measures two builds in alternating rounds and compares them, also if ctx ends.
func (o *compareOptions) builds(ctx context.Context, how judge.CompareOptions, paths [2]string, stdout, stderr io.Writer) error {
	var builds [2]measure.Build
	for i, path := range paths {
		var err error
		if builds[i], err = measure.AskBuild(ctx, path); err != nil {
			return unbegun(ctx, err, stderr)
		}
	}
	plan, skipped, err := o.plan(builds)
	if err != nil {
		return err
	}
	servers, lacking, err := site.Start(ctx, plan, site.WarmTime(cmp.Or(o.run.budget, 2*plan.Estimate())), stderr)
	defer servers.Stop()
	if err = unbegun(ctx, err, stderr); err != nil {
		return err
	}
	skipped = append(skipped, lacking...)
	printSkipped(stderr, skipped)
	if err := plan.Validate(); err != nil {
		return err
	}
	for _, text := range o.run.unheeded(plan) {
		fmt.Fprintln(stderr, text)
	}
	p := pairRun{builds: builds, plan: plan}
	if err := p.create(o.run, servers, skipped, stderr); err != nil {
		return err
	}
	fmt.Fprintf(stderr, "%s, %s, 2 builds, about %v\n", numfmt.Plural(len(plan.Cases), "case"), numfmt.Plural(plan.Rounds, "round"), (2 * plan.Estimate()).Round(time.Second))
	err = p.measure(ctx)
	return p.conclude(o, how, err, ctx.Err() != nil, stdout, stderr)
}

// plan returns the plan for both builds, and the locks that one of the builds lacks.
func (o *compareOptions) plan(builds [2]measure.Build) (*measure.Plan, []result.Skip, error) {
	run := o.run
	run.budget = 0 // it chooses the rounds here
	run.plain = true
	plan, err := run.plan()
	if err != nil {
		return nil, nil, err
	}
	if plan.Unknown() {
		return nil, nil, usage("--rate auto finds rates for one build: give rates for both builds, such as --rate 500/s")
	}
	skipped := site.Drop(plan, func(c measure.Case) string {
		for i, b := range builds {
			if !slices.Contains(b.Locks, c.Lock.Name) {
				return "the " + sides[i] + " build does not have it"
			}
		}
		return ""
	})
	if len(plan.Cases) == 0 && len(skipped) > 0 {
		return nil, nil, usage("nothing is left to measure: %s: %s", skipped[0].Name(), skipped[0].Reason)
	}
	plan.Rounds = o.run.rounds
	if o.run.budget > 0 {
		plan.Rounds = 1
		round := max(time.Millisecond, 2*plan.Estimate())
		if plan.Rounds = int(o.run.budget / round); plan.Rounds < stat.MinRounds {
			return nil, nil, usage("a budget of %v is too small: %s take %d rounds of %v; choose fewer cases or a shorter --duration", o.run.budget, numfmt.Plural(len(plan.Cases), "case"), stat.MinRounds, round.Round(time.Millisecond))
		}
		plan.Budget, plan.Least, plan.Most = o.run.budget, stat.MinRounds, plan.Rounds
	}
	if plan.Rounds < stat.MinRounds {
		return nil, nil, usage("--rounds is %d: want %d or more, for an interval", plan.Rounds, stat.MinRounds)
	}
	return plan, skipped, nil
}

// A pairRun is two runs that are measured in the same rounds.
type pairRun struct {
	builds [2]measure.Build
	plan   *measure.Plan
	dirs   [2]string
	runs   [2]measuring
}

func (p *pairRun) create(o runOptions, s *site.Servers, skipped []result.Skip, stderr io.Writer) error {
	root := outOrNew(o.out)
	for i, side := range sides {
		p.dirs[i] = filepath.Join(root, side)
		if err := claim(p.dirs[i], o.replace); err != nil {
			return err
		}
	}
	both := o.program.manifest(o.seed)
	both.Binary, both.Pair, both.Rounds, both.Cases = "", p.plan.RunID, p.plan.Rounds, len(p.plan.Cases)
	both.Sections, both.Sites, both.Skipped = measure.Calibrate().SectionCosts(p.plan.Cases), s.Sites, skipped
	both.Warnings = append(both.Warnings, site.ColdWarnings(s.Sites)...)
	for i, b := range p.builds {
		m := both
		m.Machine.Go, m.Machine.Arch, m.Commit, m.Overhead, m.Versions = b.Go, b.Arch, b.Commit, b.Overhead, s.Versions()
		maps.Copy(m.Versions, b.Modules)
		out, err := result.Create(p.dirs[i], m)
		if err != nil {
			return err
		}
		p.runs[i] = o.measuring(p.plan, out, stderr)
	}
	return nil
}

func (p *pairRun) measure(ctx context.Context) error {
	show := p.runs[0].program.newProgress(p.runs[0].stderr, 0)
	show.builds = sides[:]
	defer show.clear()
	err := p.plan.Run(ctx, func(at measure.Progress) error {
		show.update(at)
		return p.runs[at.Build].keep(at)
	}, p.builds[:]...)
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// conclude closes the runs and compares them. err is the reason for an early end, whose
// missing results make the comparison inconclusive, unless it finds a regression.
func (p *pairRun) conclude(o *compareOptions, how judge.CompareOptions, err error, interrupted bool, stdout, stderr io.Writer) error {
	early := interrupted || err != nil
	for i := range p.runs {
		m := &p.runs[i]
		err = errors.Join(err, finish(m.out, early, func(f *result.Manifest) {
			if !f.Interrupted {
				f.Rounds = p.plan.Rounds // fewer than at the start if the budget was spent
			}
			m.total = f.Rounds * f.Cases
			m.noteLost(f)
		}))
	}
	runs, lerr := readRuns(p.dirs[:], result.Load)
	if lerr != nil {
		return errors.Join(err, lerr)
	}
	fmt.Fprintf(stderr, "kept in %s and %s\n", p.dirs[0], p.dirs[1])
	cerr := o.changes(how, runs[0], runs[1], stdout, stderr)
	if err != nil {
		if cerr != nil && !errors.As(cerr, new(statusError)) {
			return err
		}
		fmt.Fprintln(stderr, o.run.program.Name+": "+result.OneLine(strings.ReplaceAll(err.Error(), "\n", "; ")))
	}
	switch {
	case interrupted:
		fmt.Fprintln(stderr, "interrupted: only finished measurements are compared")
		return errInterrupted
	case err != nil && cerr == nil:
		return errUnsure
	}
	return cerr
}
