package hardware

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"math"
	"os"
	"reflect"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"locklab/harness/result"
	"locklab/internal/leaktest"
	"locklab/internal/machine"
)

func TestSuite(t *testing.T) {
	seen := make(map[string]bool)
	for _, e := range Suite {
		if !regexp.MustCompile(`^[a-z]+(-[a-z]+)*$`).MatchString(e.Name) || seen[e.Name] {
			t.Errorf("the name %q is taken, or not made of lower-case letters and hyphens", e.Name)
		}
		seen[e.Name] = true
		if !strings.HasSuffix(e.Question, "?") || !strings.HasSuffix(e.Method, ".") || e.Source == "" || e.Available == nil || e.run == nil {
			t.Errorf("%s is incomplete: %+v", e.Name, e)
		}
	}
}

// brief makes an experiment short; its finding is still complete.
var brief = Options{Repeats: 1, Budget: 50 * time.Millisecond}

// forEachExperiment runs a test of each experiment that this machine can run. The one that
// disturbs others runs in a harmless form.
func forEachExperiment(t *testing.T, test func(t *testing.T, e *Experiment)) {
	for _, e := range Suite {
		t.Run(e.Name, func(t *testing.T) {
			if err := e.Available(); err != nil {
				t.Skip(err)
			}
			harmless := *e
			switch {
			case e == splitLock:
				harmless.run = func(ctx context.Context, o Options) (*result.Finding, error) {
					return runSplitLock(ctx, o, harmlessPlan())
				}
			case e.OptIn != "":
				t.Fatal("a test may only run a harmless form of it, and there is none")
			}
			test(t, &harmless)
		})
	}
}

// runPatiently runs e with more and more time: on a busy machine there are few observations in
// a short time.
func runPatiently(t *testing.T, e *Experiment, o Options) *result.Finding {
	t.Helper()
	f, err := Run(t.Context(), e, o)
	for err != nil && o.Budget < time.Minute {
		o.Repeats, o.Budget = 5*o.Repeats, 5*o.Budget
		f, err = Run(t.Context(), e, o)
	}
	requireNoError(t, err)
	return f
}

func TestSuiteRuns(t *testing.T) {
	forEachExperiment(t, func(t *testing.T, e *Experiment) {
		procs := runtime.GOMAXPROCS(0)
		f := runPatiently(t, e, brief)
		if f.Name != e.Name || f.Question != e.Question || f.Method != e.Method || f.Source != e.Source || f.Elapsed <= 0 || f.Interrupted {
			t.Errorf("found %+v", f)
		}
		requireFinding(t, f)
		if e.Name == splitLock.Name && len(f.Tables[1].Rows) != 5 {
			t.Errorf("neighbours are %+v, want 5", f.Tables[1].Rows)
		}
		if got := runtime.GOMAXPROCS(0); got != procs {
			t.Errorf("GOMAXPROCS was %d and is %d", procs, got)
		}
		if err := Write(io.Discard, f); err != nil {
			t.Error(err)
		}
	})
}

// requireFinding requires an answer, valid tables, a chart, and JSON that keeps all of it.
func requireFinding(t *testing.T, f *result.Finding) {
	t.Helper()
	if f.Answer == "" || !strings.HasSuffix(f.Answer, ".") {
		t.Errorf("no answer: %+v", f)
	}
	requireTables(t, f.Tables...)
	if !slices.ContainsFunc(f.Tables, func(table result.Table) bool { return table.Chart != result.NoChart }) {
		t.Errorf("nothing is drawn: %+v", f)
	}
	back := new(result.Finding)
	data, err := json.Marshal(f)
	if err == nil {
		err = json.Unmarshal(data, back)
	}
	if err != nil || !reflect.DeepEqual(f, back) {
		t.Errorf("JSON does not keep %+v: %v", f, err)
	}
}

func requireTables(t *testing.T, tables ...result.Table) {
	t.Helper()
	for _, table := range tables {
		if text := checkTable(table); text != "" {
			t.Errorf("%s: %s: %+v", table.Caption, text, table)
		}
	}
}

func checkTable(t result.Table) string {
	if t.Caption == "" || t.Label == "" || len(t.Rows) == 0 {
		return "a table without caption, label or rows"
	}
	for _, row := range t.Rows {
		if row.Label == "" {
			return "a row without a label"
		}
		if len(row.Cells) != len(t.Columns) {
			return "a row without a cell for each column"
		}
		for _, c := range row.Cells {
			if empty := t.Chart == result.Heat && c == (result.Cell{}); empty || c.Text != "" {
				continue // a field may have empty cells
			}
			if c.N == 0 || c.Lo > c.Median || c.Median > c.Hi || math.IsNaN(c.Median) {
				return "a cell that is no figure"
			}
		}
	}
	return checkChart(t)
}

func checkChart(t result.Table) string {
	var plotted []result.Column
	figure := false
	for i, c := range t.Columns {
		if c.Plot {
			plotted = append(plotted, c)
			figure = figure || slices.ContainsFunc(t.Rows, func(r result.Row) bool { return r.Cells[i].N > 0 && r.Cells[i].Text == "" })
		}
	}
	if t.Chart == result.NoChart {
		if len(plotted) > 0 || t.Log {
			return "how to draw it, and no chart"
		}
		return ""
	}
	switch {
	case !figure:
		return "a chart of no figure"
	case slices.ContainsFunc(plotted, func(c result.Column) bool { return c.Unit != plotted[0].Unit }):
		return "a chart of two units"
	}
	switch t.Chart {
	case result.Bars:
		labels := make(map[string]bool)
		for _, r := range t.Rows {
			if labels[r.Label] {
				return "two bars of one name"
			}
			labels[r.Label] = true
		}
	case result.Lines:
		for i, r := range t.Rows {
			if r.X <= 0 || i > 0 && r.X <= t.Rows[i-1].X {
				return "lines whose X do not rise"
			}
		}
	case result.Heat:
		if len(t.Columns) != len(t.Rows) || len(plotted) != len(t.Columns) {
			return "a field that is not square"
		}
	default:
		return "an unknown chart"
	}
	return ""
}

func TestSuiteIsInterruptible(t *testing.T) {
	forEachExperiment(t, func(t *testing.T, e *Experiment) {
		leaktest.All(t)
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		start := time.Now()
		if _, err := Run(ctx, e, Options{Repeats: 1 << 30, Budget: time.Hour}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error is %v", err)
		}
		// Far more than it needs: the machine may be busy.
		if took := time.Since(start); took > 20*time.Second {
			t.Errorf("ended after %v", took)
		}
	})
}

func TestRunRefusesBadOptions(t *testing.T) {
	for _, o := range []Options{{Repeats: -1}, {Budget: -1}} {
		if _, err := Run(t.Context(), arbiter, o); !errors.Is(err, ErrOptions) {
			t.Errorf("%+v: error is %v", o, err)
		}
	}
}

func TestSummarize(t *testing.T) {
	for _, test := range []struct {
		samples []float64
		want    result.Cell
		text    string
	}{
		{nil, result.Cell{Text: "-"}, "-"},
		{[]float64{3}, result.Cell{Median: 3, Lo: 3, Hi: 3, N: 1}, "3"},
		{[]float64{3, 1}, result.Cell{Median: 2, Lo: 1, Hi: 3, N: 2}, "2 [1..3]"},
		{[]float64{412345, 1, 999_999}, result.Cell{Median: 412345, Lo: 1, Hi: 999_999, N: 3}, "412 k [1..1.00 M]"},
		{[]float64{1, math.Inf(1)}, result.Cell{Text: "never"}, "never"},
	} {
		if got := summarize(test.samples); got != test.want || got.String() != test.text {
			t.Errorf("summarize(%v) = %+v, %q", test.samples, got, got)
		}
	}
}

func TestNumber(t *testing.T) {
	for x, want := range map[float64]string{
		0: "0", 1: "1", -2: "-2", 0.1234: "0.123", 2.718281828: "2.72", 99.96: "100", 123.4: "123", 9999: "9999",
		10_000: "10.0 k", 12_345: "12.3 k", 999_499: "999 k", 999_500: "1.00 M", 123_456_789: "123 M", 2e10: "20000 M",
	} {
		if got := number(x); got != want {
			t.Errorf("number(%v) = %q, want %q", x, got, want)
		}
	}
}

func TestWriteField(t *testing.T) {
	field := func(n int) int {
		table := result.Table{Caption: "field", Chart: result.Heat}
		for range n {
			table.Columns = append(table.Columns, result.Column{Name: "c"})
		}
		for range n {
			table.Rows = append(table.Rows, result.Row{Label: "r", Cells: make([]result.Cell, n)})
		}
		var out strings.Builder
		requireNoError(t, Write(&out, &result.Finding{Tables: []result.Table{table}}))
		return strings.Count(out.String(), "\n")
	}
	if small, large := field(maxField), field(maxField+1); small <= maxField || large >= maxField {
		t.Errorf("%d rows print %d lines, %d print %d", maxField, small, maxField+1, large)
	}
}

func ExampleWrite() {
	f := &result.Finding{
		Answer: "B takes 3.00 times as long as A.",
		Tables: []result.Table{{
			Caption: "Time of one operation",
			Label:   "operation",
			Columns: []result.Column{{Name: "time", Unit: "ns"}, {Name: "to A"}},
			Rows: []result.Row{
				{Label: "A", Cells: []result.Cell{{Median: 2.5, Lo: 2, Hi: 3, N: 5}, {Text: "1"}}},
				{Label: "B", Cells: []result.Cell{{Median: 7.5, Lo: 6.5, Hi: 9, N: 5}, {Median: 3, Lo: 3, Hi: 3, N: 5}}},
			},
		}},
		Notes:    []string{"ran on paper"},
		Warnings: []machine.Warning{{Kind: "others", Text: "another process ran", Remedy: "stop it"}},
	}
	if err := Write(os.Stdout, f); err != nil {
		panic(err)
	}
	// Output:
	// Time of one operation
	//   operation  time, ns      to A
	//   A          2.5 [2..3]    1
	//   B          7.5 [6.5..9]  3
	//
	// note: ran on paper
	// warning (others): another process ran
	//   remedy: stop it
	// answer: B takes 3.00 times as long as A.
}
