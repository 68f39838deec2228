package lab

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"locklab/harness/measure"
	"locklab/harness/result"
	"locklab/internal/machine"
	"locklab/internal/numfmt"
)

// A measuring runs a plan into the file of a run.
type measuring struct {
	program *Program
	plan    *measure.Plan
	out     *result.Writer
	stderr  io.Writer

	guarantees guarding // of the report

	later       time.Duration // of the parts of the run after the plan
	rounds      int           // current plan
	done, total int           // cases, over all rounds
	violated    []string
	lost        []result.Loss
}

func (o *runOptions) measuring(p *measure.Plan, out *result.Writer, stderr io.Writer) measuring {
	return measuring{program: o.program, plan: p, guarantees: o.guarantees, out: out, stderr: stderr, rounds: p.Rounds, total: p.Total()}
}

// run measures what earlier, which may be nil, lacks. The end of ctx is not an error.
func (m *measuring) run(ctx context.Context, earlier *result.Run) error {
	if earlier != nil {
		m.done = len(earlier.Results)
	}
	left := m.later + time.Duration(float64(m.plan.Estimate())*float64(m.total-m.done)/float64(m.total))
	fmt.Fprintf(m.stderr, "%s, %s, about %v\n", numfmt.Plural(len(m.plan.Cases), "case"), numfmt.Plural(m.plan.Rounds, "round"), left.Round(time.Second))
	show := m.program.newProgress(m.stderr, m.later)
	defer show.clear()
	if earlier != nil {
		for _, r := range earlier.Results {
			name := "lock=" + r.Lock.Name + "/" + r.Workload.Name()
			show.add(name, r)
			m.addViolations(name, r)
		}
		fmt.Fprintf(m.stderr, "%d of %d were measured before\n", m.done, m.total)
		if n := len(earlier.Damage); n > 0 {
			fmt.Fprintf(m.stderr, "%s of %s cannot be read, so the missing results are measured again; the first: %s\n", numfmt.Plural(n, "line"), result.ResultsName, earlier.Damage[0])
		}
	}
	err := m.plan.Run(ctx, func(p measure.Progress) error {
		if err := errors.Join(m.noteRounds(p.Rounds), m.keep(p)); err != nil {
			return err
		}
		m.done, m.total = p.Done-len(m.lost), p.Total
		show.update(p)
		return nil
	})
	if ctx.Err() != nil {
		return nil
	}
	return errors.Join(err, m.noteRounds(m.plan.Rounds))
}

func (m *measuring) noteRounds(n int) error {
	if n == m.rounds {
		return nil
	}
	m.rounds = n
	return m.out.Edit(func(f *result.Manifest) { f.Rounds = n })
}

func (m *measuring) keep(p measure.Progress) error {
	if p.Lost != nil {
		m.lost = append(m.lost, loss(p))
	}
	if p.Result == nil {
		return nil
	}
	m.addViolations(p.Case.Name(), p.Result)
	return errors.Join(m.out.Append(result.Record{Result: p.Result}), m.out.Sync())
}

func loss(p measure.Progress) result.Loss {
	return result.Loss{Case: p.Case.Name(), Round: p.Round, Reason: strings.ReplaceAll(p.Lost.Error(), "\n", "; ")}
}

// noteLost replaces the lost cases in f, the manifest of the run.
func (m *measuring) noteLost(f *result.Manifest) {
	f.Lost = m.lost
	f.Warnings = slices.DeleteFunc(f.Warnings, isLoss)
	remedy := "resume with " + m.program.Name + " run --resume, which measures the missing results"
	switch { // such a run does not go on
	case f.Pair != "":
		remedy = "measure both builds again"
	case f.IsPart():
		remedy = "start all ranks again"
	}
	if len(m.lost) > 0 {
		f.Warnings = append(f.Warnings, machine.Warning{Kind: lossKind, Remedy: remedy, Text: m.lossText()})
	}
}

func (m *measuring) addViolations(name string, r *result.Result) {
	for _, v := range r.Violations {
		m.violated = append(m.violated, fmt.Sprintf("%s violated %s: %s", name, v.Rule, v.Detail))
	}
}

// lossKind marks the warning about lost cases, which a resumed run replaces.
const lossKind = "lost"

func isLoss(w machine.Warning) bool { return w.Kind == lossKind }

func (m *measuring) lossText() string {
	return fmt.Sprintf("%d of %d measurements gave no result, the first: %s", len(m.lost), m.total, m.lost[0])
}

func (m *measuring) close(early bool) error {
	for _, v := range m.violated {
		fmt.Fprintln(m.stderr, v)
	}
	return finish(m.out, early, m.noteLost)
}

// outcome returns the error of a run that was not ended early.
func (m *measuring) outcome() error {
	switch {
	case len(m.lost) > 0:
		return errors.New(m.lossText())
	case len(m.violated) > 0:
		return errViolations
	}
	return nil
}

// finish completes the file, writes the report, and prints the outcome. err is the reason
// for an early end other than ctx.
func (m *measuring) finish(ctx context.Context, err error, dir string, stdout io.Writer) error {
	interrupted := ctx.Err() != nil
	again := "resume with: " + m.program.Name + " run --resume --out " + dir
	if interrupted && m.done == 0 && err == nil {
		fmt.Fprintf(m.stderr, "interrupted before anything was measured: %s has no results; %s\n", dir, again)
		return errors.Join(errInterrupted, m.close(true))
	}
	kept := errors.Join(m.close(interrupted || err != nil), reportRun(stdout, dir, m.guarantees))
	switch {
	case err != nil: // its consequences need no message
		return fmt.Errorf("%w; %d of %d measurements are in %s; %s", err, m.done, m.total, dir, again)
	case kept != nil:
		return kept
	case interrupted:
		fmt.Fprintf(m.stderr, "interrupted: %s has the finished measurements; %s\n", dir, again)
		return errInterrupted
	case len(m.lost) > 0:
		return fmt.Errorf("%w; %s", m.outcome(), again)
	}
	return m.outcome()
}
