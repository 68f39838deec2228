package judge

import (
	"fmt"
	"io"
	"locklab/internal/numfmt"
	"locklab/internal/stat"
	"slices"
	"strings"
	"unicode/utf8"
)

const minWidth = 60

// WriteText writes c as tables with a conclusion. Sentences are no wider than width
// columns, tables at most about 100.
func (c *Comparison) WriteText(out io.Writer, width int) error {
	t := &textWriter{width: max(width, minWidth)}
	first, second := "BASE  ", "NEW   "
	if c.To != "" {
		first, second = "BASE  "+plain(c.To)+" in ", "NEW   each other lock in "
	}
	t.item(first, origin(c.Base.Commit, c.Base.Started.UTC().Format("2006-01-02 15:04"), c.Base.Machine.String()))
	t.item(second, origin(c.New.Commit, c.New.Started.UTC().Format("2006-01-02 15:04"), c.New.Machine.String()))
	c.tables(t)
	t.buf.WriteByte('\n')
	t.item("", c.headline())
	for _, r := range c.Rows {
		if r.Note != "" && r.Verdict.tabled() {
			t.item("  - ", r.short()+": "+r.Note)
		}
	}
	for _, s := range c.remarks() {
		t.item("", s)
	}
	for _, gap := range c.Gaps {
		t.item("Not measured: ", gap)
	}
	for _, v := range []GateVerdict{OnlyBase, OnlyNew} {
		if names := c.names(v); len(names) > 0 {
			t.item("", fmt.Sprintf("%s (%d): %s", strings.ToUpper(string(v[:1]))+string(v[1:]), len(names), numfmt.List(names, 6)))
		}
	}
	for _, w := range c.Warnings {
		t.item("Warning: ", w)
	}
	if _, err := io.WriteString(out, t.buf.String()); err != nil {
		return fmt.Errorf("judge: %w", err)
	}
	return nil
}

func origin(commit, started, machine string) string {
	if commit == "" {
		commit = "unknown commit"
	}
	if len(commit) > 12 && !strings.Contains(commit, " ") {
		dirty := strings.HasSuffix(commit, "+dirty")
		commit = commit[:12]
		if dirty {
			commit += "+dirty"
		}
	}
	return plain(commit) + ", " + started + " UTC, " + plain(machine)
}

func (v GateVerdict) tabled() bool { return v != OnlyBase && v != OnlyNew }

func (c *Comparison) tables(t *textWriter) {
	cells := [][]string{}
	last := ""
	for _, r := range c.Rows {
		if !r.Verdict.tabled() {
			continue
		}
		if group := r.Gate.Name() + " " + r.group(); group != last {
			last = group
			cells = append(cells, nil, []string{r.Gate.Name() + ", " + plain(r.axes()), "workers", "base", "new", "new/base", "interval", "p", ""})
		}
		cells = append(cells, r.cells())
	}
	t.table(cells)
}

func (r *GateRow) cells() []string {
	side := func(s stat.Summary, broke bool) string {
		switch {
		case broke:
			return "violated"
		case s.N == 0:
			return unknown
		}
		return bounded(s.AtMost) + numfmt.Plain(r.Gate.Format(s.Median))
	}
	line := []string{"  " + plain(r.Lock.Name), fmt.Sprint(r.Workload.Workers), side(r.Base, r.BaseBroke), side(r.New, r.NewBroke), unknown, unknown, unknown, string(r.Verdict)}
	if r.Ratio.N > 0 {
		line[4] = ratio(r.Ratio.Median)
		line[5] = ratio(r.Ratio.Lo) + "–" + ratio(r.Ratio.Hi)
		line[6] = chance(r.P)
	}
	return line
}

func bounded(atMost bool) string {
	if atMost {
		return "≤ "
	}
	return ""
}

func (c *Comparison) headline() string {
	n := make(map[GateVerdict]int)
	for _, r := range c.Rows {
		n[r.Verdict]++
	}
	var parts []string
	for _, v := range []GateVerdict{Regressed, Unsafe, Lesser, Elsewhere, Untold, TooFewRounds, Unmeasured, NoBase, Better, AsGood, Expected} {
		if n[v] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n[v], v))
		}
	}
	counts := strings.Join(parts, ", ") + "."
	if c.To != "" {
		return fmt.Sprintf("Beside %s: %s", plain(c.To), counts)
	}
	switch c.Outcome() {
	case Worse:
		return fmt.Sprintf("REGRESSED: %s. In all: %s", numfmt.List(c.names(Regressed), 6), counts)
	case Unsure:
		if len(parts) == 0 {
			counts = "nothing."
		}
		return "No verdict: no regression is certain, and none is ruled out. In all: " + counts
	}
	return fmt.Sprintf("No regression over %s. In all: %s", share(c.Margin), counts)
}

func (c *Comparison) remarks() (out []string) {
	if c.Tests > 0 {
		out = append(out, c.method())
	}
	has := func(v GateVerdict) bool {
		return slices.ContainsFunc(c.Rows, func(r GateRow) bool { return r.Verdict == v })
	}
	if has(Untold) {
		out = append(out, fmt.Sprintf("Not told apart: the interval reaches from within the margin of %s to beyond it, to the worse. More rounds, longer windows, fewer cases or a quieter machine narrow it.", share(c.Margin)))
	}
	if c.To != "" && has(Unmeasured) {
		out = append(out, "Not measured: rounds without a figure, which may be the bad ones, or too few samples in a round. A longer --duration gives more.")
	} else if has(Unmeasured) || len(c.Gaps) > 0 {
		remedy := "Go on with locklab run --resume, or measure it again."
		if c.Base.Pair != "" && c.New.Pair != "" { // these cannot be resumed
			remedy = "Measure both builds again."
		}
		out = append(out, "Not measured: what a run was to measure and has no result of may have regressed. "+remedy)
	}
	if has(Elsewhere) {
		out = append(out, "Inconclusive: the runs are of two machines, so a difference need not be of the code.")
	}
	if has(TooFewRounds) {
		out = append(out, fmt.Sprintf("Too few rounds: even rounds that differ completely would not be told apart with %s at %g together; measure more rounds or fewer cases.",
			numfmt.Plural(c.Tests, "comparison"), c.Alpha))
	}
	return out
}

func (c *Comparison) method() string {
	how := "Ratio: median over all pairs of rounds. p: Mann-Whitney test"
	if c.Paired {
		how = "Ratio: median of the ratios within a round. p: sign test"
	}
	lo, hi := c.rounds()
	rounds := numfmt.Plural(hi, "round")
	if lo != hi {
		rounds = fmt.Sprintf("%d to %s", lo, rounds)
	}
	return fmt.Sprintf("%s, Holm's correction for %s. Intervals: %s each. %s. Margin %s: a figure is worse if its interval shows it to be worse by more than that, as good if it leaves no room for more, else not told apart.",
		how, numfmt.Plural(c.Tests, "comparison"), share(c.Level), rounds, share(c.Margin))
}

func (c *Comparison) rounds() (lo, hi int) {
	for _, r := range c.Rows {
		if n := r.Ratio.N; n > 0 {
			if lo == 0 || n < lo {
				lo = n
			}
			hi = max(hi, n)
		}
	}
	return lo, hi
}

func (r *GateRow) short() string { return plain(r.Case()) }

func (c *Comparison) names(v GateVerdict) (out []string) {
	seen := make(map[string]bool)
	for _, r := range c.Rows {
		if name := r.short(); r.Verdict == v && !seen[name] {
			seen[name] = true
			if r.Note != "" && !v.tabled() {
				name += " (" + r.Note + ")"
			}
			out = append(out, name)
		}
	}
	return out
}

type textWriter struct {
	buf   strings.Builder
	width int
}

func (t *textWriter) item(first, s string) {
	cur, rest := first, strings.Repeat(" ", utf8.RuneCountInString(first))
	for i, word := range strings.Fields(s) {
		switch {
		case i == 0:
			cur += word
		case utf8.RuneCountInString(cur)+1+utf8.RuneCountInString(word) > t.width:
			t.buf.WriteString(cur + "\n")
			cur = rest + word
		default:
			cur += " " + word
		}
	}
	t.buf.WriteString(cur + "\n")
}

func (t *textWriter) table(lines [][]string) {
	var widths []int
	for _, line := range lines {
		for i, cell := range line {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	for _, line := range lines {
		var b strings.Builder
		for i, cell := range line {
			pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
			switch {
			case i == 0:
				b.WriteString(cell + pad)
			case i == len(line)-1:
				b.WriteString("  " + cell)
			default:
				b.WriteString("  " + pad + cell)
			}
		}
		t.buf.WriteString(strings.TrimRight(b.String(), " ") + "\n")
	}
}
