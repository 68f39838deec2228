package hardware

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"time"

	"locklab/harness"
	"locklab/harness/result"
	"locklab/internal/machine"
	"locklab/internal/stat"
	"locklab/internal/table"
)

// An Experiment is one question to the hardware, or to a model of it.
type Experiment struct {
	Name     string // as in "locklab hardware NAME"
	Question string // one sentence that ends with a question mark
	Method   string // of the answer, one or two sentences
	Source   string // the paper or person that asked or described it first
	OptIn    string // reason why it runs only if named; "" runs by default

	// Simulation reports that it uses a model, whose figures no disturbance changes.
	Simulation bool

	budget func() time.Duration // default of Options.Budget; nil is 3 s

	// Available returns nil if this machine can run the experiment, else the reason.
	Available func() error

	// run measures. If ctx ends early it returns a finding from the finished repeats, or
	// nil without any, with the error of ctx. [Run] fills in the rest of the finding.
	run func(ctx context.Context, o Options) (*result.Finding, error)
}

// Run checks o and the machine, runs e and completes its finding: name, question, method,
// source, times and disturbances. If ctx ends early it returns its error and a finding from
// the finished repeats, nil without any.
func Run(ctx context.Context, e *Experiment, o Options) (*result.Finding, error) {
	o, err := o.withDefaults(e.budget)
	if err == nil {
		err = e.Available()
	}
	if err != nil {
		return nil, err
	}
	started, were, noise := time.Now(), machine.ReadConditions(), machine.Watch()
	f, err := e.run(ctx, o)
	if f == nil {
		return nil, err
	}
	if !e.Simulation {
		seen := noise.Stop()
		f.Warnings = append(f.Warnings, machine.NoiseWarnings(seen, false)...)
		f.Warnings = append(f.Warnings, machine.ChangeWarnings(seen, were)...)
	}
	f.Name, f.Question, f.Method, f.Source = e.Name, e.Question, e.Method, e.Source
	f.Started, f.Elapsed, f.Interrupted = started.UTC().Round(0), time.Since(started), err != nil
	return f, err
}

// Options configures an experiment. The zero value is ready to use.
type Options struct {
	Repeats int           // number of measurements of everything; 0 is 5
	Budget  time.Duration // about the total time of measurement; 0 is 3 s, or the default of the experiment
	Seed    uint64        // for everything random; 0 is a seed like any other

	// Locks are the lab's locks for an experiment about locks; nil omits that part.
	Locks []*harness.Variant

	// Progress, if not nil, is called by a long experiment with the finished parts.
	Progress func(done, total int)

	// Earlier has the finished parts of an interrupted run, which are not measured again.
	// Keep, if not nil, is called for each finished part; its error ends the experiment.
	Earlier []result.Sample
	Keep    func(result.Sample) error
}

const (
	defaultRepeats = 5
	defaultBudget  = 3 * time.Second
)

// ErrOptions reports an invalid option.
var ErrOptions = errors.New("hardware: bad option")

func (o Options) withDefaults(budget func() time.Duration) (Options, error) {
	if o.Repeats < 0 || o.Budget < 0 {
		return o, fmt.Errorf("%w: repeats %d, budget %v: want 0 or more", ErrOptions, o.Repeats, o.Budget)
	}
	if o.Budget == 0 && budget != nil {
		o.Budget = budget()
	}
	o.Repeats, o.Budget = cmp.Or(o.Repeats, defaultRepeats), cmp.Or(o.Budget, defaultBudget)
	return o, nil
}

// summarize returns the cell of samples. Infinite ones, which JSON lacks, become text.
func summarize(samples []float64) result.Cell {
	if len(samples) == 0 {
		return result.Cell{Text: "-"}
	}
	s := slices.Sorted(slices.Values(samples))
	if math.IsInf(s[len(s)-1], 1) {
		return result.Cell{Text: "never"}
	}
	return result.Cell{Median: stat.Median(s), Lo: s[0], Hi: s[len(s)-1], N: len(s)}
}

func exact(x float64) result.Cell { return result.Cell{Median: x, Lo: x, Hi: x, N: 1} }

// Suite lists the experiments in the order in which to run and read them.
var Suite = []*Experiment{lostUpdates, splitLock, litmus, falseSharing, coreToCore, waiting, arbiter, cost}

func always() error { return nil }

func needTwoCPUs() error {
	if n := len(machine.CPUOrder()); n < 2 {
		return fmt.Errorf("hardware: needs two CPUs, this process may use %d", n)
	}
	return nil
}

// A cell is a part of an experiment that every repeat measures. measure takes about span and
// adds a figure to each series of the cell.
type cell interface {
	measure(ctx context.Context, span time.Duration) error
}

func cellsOf[C cell](cs []C) []cell { return result.Each(cs, func(c C) cell { return c }) }

// measureCells measures each of cells in every repeat; the budget has room for spans spans. It
// returns the finding from the finished repeats, with the error that ended it early, or nil
// without any. A cell may have one more figure, from an interrupted repeat.
func measureCells(ctx context.Context, o Options, spans int, cells []cell, finding func() *result.Finding) (*result.Finding, error) {
	span := max(time.Millisecond, o.Budget/time.Duration(o.Repeats)/time.Duration(spans))
	for done := range o.Repeats {
		for _, c := range cells {
			err := ctx.Err()
			if err == nil {
				err = c.measure(ctx, span)
			}
			switch {
			case err != nil && done == 0:
				return nil, err
			case err != nil:
				return finding(), err
			}
		}
	}
	return finding(), nil
}

// during calls step at least once.
func during(ctx context.Context, span time.Duration, step func()) error {
	for start, first := time.Now(), true; first || time.Since(start) < span; first = false {
		if err := ctx.Err(); err != nil {
			return err
		}
		step()
	}
	return nil
}

// Write prints f as text: the tables, the notes, the warnings and the answer.
func Write(w io.Writer, f *result.Finding) error {
	var out bytes.Buffer
	for _, t := range f.Tables {
		writeTable(&out, t)
		out.WriteByte('\n')
	}
	for _, n := range f.Notes {
		fmt.Fprintf(&out, "note: %s\n", n)
	}
	for _, w := range f.Warnings {
		fmt.Fprintf(&out, "warning (%s): %s\n  remedy: %s\n", w.Kind, w.Text, w.Remedy)
	}
	fmt.Fprintf(&out, "answer: %s\n", f.Answer)
	_, err := w.Write(out.Bytes())
	return err
}

// maxField is the maximum printed rows of a field; result files and charts have all.
const maxField = 16

func writeTable(out *bytes.Buffer, t result.Table) {
	fmt.Fprintln(out, t.Caption)
	if t.Chart == result.Heat && len(t.Rows) > maxField {
		fmt.Fprintf(out, "  %d rows: see them as a chart, with --out\n", len(t.Rows))
		return
	}
	head := []any{"  " + t.Label}
	for _, c := range t.Columns {
		if c.Unit != "" {
			c.Name += ", " + c.Unit
		}
		head = append(head, c.Name)
	}
	text := table.New(out, head...)
	for _, r := range t.Rows {
		line := []any{"  " + r.Label}
		for _, c := range r.Cells {
			line = append(line, c)
		}
		text.Row(line...)
	}
	_ = text.Flush() // a bytes.Buffer never fails
}

func number(x float64) string { return result.Cell{Median: x, Lo: x, Hi: x, N: 1}.String() }
