package result

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode"

	"golang.org/x/perf/benchfmt"

	"locklab/harness"

	"locklab/internal/machine"
)

// A Bench writes results as Go benchmark lines, which benchstat reads unmodified (format:
// https://golang.org/design/14313-benchmark-format).
type Bench struct {
	out    io.Writer
	lines  *benchfmt.Writer
	config []benchfmt.Config
	procs  int
}

// NewBench returns a writer of benchmark lines measured on machine m. Only constants of a
// machine become configuration: benchstat splits its tables wherever a configuration differs.
func NewBench(out io.Writer, m machine.Environment) *Bench {
	b := &Bench{out: out, lines: benchfmt.NewWriter(out), procs: m.GOMAXPROCS}
	for _, c := range [][2]string{{"locklab-schema", strconv.Itoa(Schema)}, {"goos", m.OS}, {"goarch", m.Arch}, {"cpu", m.CPU}, {"kernel", m.Kernel}, {"governor", m.Governor}} {
		if c[1] != "" {
			b.config = append(b.config, benchfmt.Config{Key: c[0], Value: []byte(OneLine(c[1])), File: true})
		}
	}
	return b
}

// word returns name as one word: a blank or a comma would begin the next field.
func word(name string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) || r == ',' {
			return '_'
		}
		return r
	}, OneLine(name))
}

// Units writes the better direction of each unit, once, before any result.
func (b *Bench) Units() error {
	for _, m := range Metrics {
		if m.Better == "" {
			continue
		}
		u := &benchfmt.UnitMetadata{OrigUnit: m.Unit, Value: m.Better}
		u.Unit, u.Key = m.Unit, "better"
		if err := b.lines.Write(u); err != nil {
			return fmt.Errorf("result: %w", err)
		}
	}
	return nil
}

// Result writes r as one line. A result that violates a rule has no valid speed: it
// becomes a comment, which benchstat skips.
func (b *Bench) Result(r *harness.Result) error {
	name := word("Lock/lock=" + r.Lock.Name + "/" + r.Workload.Name())
	if len(r.Violations) > 0 {
		v := r.Violations[0]
		_, err := fmt.Fprintln(b.out, OneLine(fmt.Sprintf("# %s violated %s: %s", name, v.Rule, v.Detail)))
		return wrapped(err)
	}
	procs := b.procs
	if r.Workload.GOMAXPROCS != 0 {
		procs = r.Workload.GOMAXPROCS
	}
	if procs > 1 {
		name += "-" + strconv.Itoa(procs)
	}
	res := &benchfmt.Result{Config: b.config, Name: benchfmt.Name(name), Iters: int(r.Ops)}
	for _, m := range Metrics {
		if v, ok := m.Of(r); ok {
			res.Values = append(res.Values, benchfmt.Value{Value: v, Unit: m.Unit})
		}
	}
	return wrapped(b.lines.Write(res))
}
