package page

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"

	"locklab/harness/result"
	"locklab/reports/chart"
)

var svgRE = regexp.MustCompile(`(?s)<svg.*?</svg>`)

func posterNames(run *result.Run) (names []string) {
	for _, p := range Posters(run) {
		names = append(names, p.Name)
	}
	return names
}

func TestFindingCharts(t *testing.T) {
	run := laboratory()
	want := []string{"cost", "cost-2", "cost-3", "sharing", "sharing-2", "sharing-3", "core-to-core", "core-to-core-2"}
	if got := posterNames(run); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	tables := []result.Table{run.Findings[0].Tables[0], {Chart: result.Bars}, run.Findings[0].Tables[1], {}}
	run.Findings = nil
	for _, name := range []string{"../../etc", "", "wait", "a", "a", "a-3", strings.Repeat("a", 300)} {
		run.Findings = append(run.Findings, &result.Finding{Name: name, Tables: tables})
	}
	names := posterNames(run)
	if want := []string{"finding-1", "finding-1-3", "finding-2", "finding-2-3", "hardware-wait", "wait-3"}; !slices.Equal(names[:6], want) {
		t.Errorf("got %v, want them to begin with %v", names, want)
	}
	if n := len(names); n != 14 {
		t.Errorf("%d charts, want 14: those with nothing to draw are left out", n)
	}
	seen := make(map[string]bool)
	for _, n := range names {
		if seen[n] || !chart.NameRE.MatchString(n) || len(n) > 100 {
			t.Errorf("%q is taken or no name for a file", n)
		}
		seen[n] = true
	}
	requireAccessible(t, pageOf(t, run))
}

// TestAwkwardTables: the page gives the reason for a missing drawing.
func TestAwkwardTables(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	odd := []result.Cell{{}, {N: 5}, {Median: nan, N: 1}, {Median: inf, N: 1}, {Median: 1e308, Lo: -1e308, Hi: 1e308, N: 2}, {Median: 5e-324, N: 1},
		{Median: 3, Lo: nan, Hi: inf, N: 3}, {Median: 3, Lo: 9, Hi: 1, N: 3}, {Median: -4, Lo: -8, Hi: 2, N: 3}, {Text: "words"}, {Median: 1e15, Lo: 1, Hi: 1e200, N: 9}, {Median: 7, N: -1}}
	tables := map[string]result.Table{
		"no rows":    {Columns: columns("ns", "a")},
		"no columns": {Rows: []result.Row{{Label: "a", X: 1, Cells: odd}}},
		"no cells":   {Columns: columns("ns", "a", "b"), Rows: []result.Row{{Label: "a", X: 1}, {X: 2}}},
		"one cell":   {Columns: columns("", "a"), Rows: []result.Row{{Label: "a", X: 3, Cells: odd[6:7]}}},
		"one row":    {Columns: columns("", "a", "b"), Rows: []result.Row{{Label: "a", X: -3, Cells: odd[6:9]}}},
		"far away":   {Columns: columns("", "a"), Rows: []result.Row{{X: math.MaxInt64, Cells: odd[6:7]}, {X: math.MaxInt64, Cells: odd[6:7]}}},
		"not marked": {Columns: []result.Column{{Name: "a"}}, Rows: []result.Row{{X: 1, Cells: odd[6:7]}}},
		"two units":  {Columns: append(columns("ns", "a"), columns("%", "b")...), Rows: []result.Row{{X: 1, Cells: odd[6:8]}, {X: 2, Cells: odd[6:8]}}},
	}
	var each, wild result.Table
	for i, c := range odd {
		each.Rows = append(each.Rows, result.Row{Label: fmt.Sprint(i), X: float64(i), Cells: []result.Cell{c}})
		wild.Rows = append(wild.Rows, result.Row{Label: strings.Repeat("longword", i), X: math.Pow(-1e30, float64(i)), Cells: slices.Concat(odd[i:], odd)})
	}
	each.Columns, wild.Columns = columns("per million", "a"), columns("%", strings.Split(strings.Repeat("x,", 40), ",")...)
	tables["each alone"], tables["all"] = each, wild
	tables["zeros"] = result.Table{Columns: columns("", "a", "b"), Rows: []result.Row{{X: 1, Cells: slices.Repeat(odd[1:2], 2)}, {X: 2, Cells: slices.Repeat(odd[1:2], 2)}}}
	for name, table := range tables {
		run := new(result.Run)
		reasons, drawn := 0, 0
		for _, kind := range []result.ChartKind{result.Bars, result.Lines, result.Heat, result.NoChart, "pie"} {
			for _, log := range []bool{false, true} {
				table.Chart, table.Log = kind, log
				run.Findings = append(run.Findings, &result.Finding{Tables: []result.Table{table}})
				switch pic := pictureOf(table); {
				case pic.Height > 0:
					drawn++
				case kind != result.NoChart:
					reasons++
				}
			}
		}
		text := pageOf(t, run)
		if bad := findUnformatted(text); bad != "" {
			t.Errorf("%s: %s", name, bad)
		}
		if says := strings.Count(text, `<p class="answer">There is nothing to draw`) + strings.Count(text, `<p class="answer">This version cannot draw`); says != reasons || len(Posters(run)) != drawn {
			t.Errorf("%s: %d charts, want %d; %d reasons why not, want %d", name, len(Posters(run)), drawn, says, reasons)
		}
	}
}

func TestLargeTables(t *testing.T) {
	var long result.Table
	long.Columns = columns("ns", strings.Split(strings.Repeat("a column,", 29)+"a column", ",")...)
	for i := range 5000 {
		long.Rows = append(long.Rows, result.Row{Label: fmt.Sprint(i), X: float64(i + 1), Cells: slices.Repeat([]result.Cell{cellOf(float64(i+1), 0.1)}, 30)})
	}
	for _, kind := range []result.ChartKind{result.Bars, result.Lines, result.Heat} {
		long.Chart = kind
		pic, how := chart.DrawTable(long)
		if pic.Height > 6000 || !strings.Contains(how, "The first") {
			t.Errorf("%s: the picture is %v high, and says %q", kind, pic.Height, how)
		}
	}
	page := pageOf(t, &result.Run{Findings: []*result.Finding{{Tables: []result.Table{{Columns: long.Columns, Rows: long.Rows}}}}})
	if want := "These are the first 400 of 5000 rows; results.jsonl has all of them."; !strings.Contains(page, want) || strings.Count(page, "<tr>") > 420 {
		t.Errorf("the page lacks %q, or has more rows than it says", want)
	}
}
