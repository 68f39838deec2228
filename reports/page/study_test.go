package page

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"
	vgdraw "gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/recorder"

	"locklab/harness/result"
	"locklab/internal/require"
	"locklab/internal/synthetic"
	"locklab/reports/chart"
	"locklab/reports/draw"
)

var svgRE = regexp.MustCompile(`(?s)<svg.*?</svg>`)

func posterNames(run *result.Run) []string {
	return result.Each(Posters(run), func(p draw.Poster) string { return p.Name })
}

func TestFindingCharts(t *testing.T) {
	run := hardwareFindings()
	want := []string{"cost", "cost-2", "cost-3", "sharing", "sharing-2", "sharing-3", "core-to-core"}
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
	require.Equal(t, "charts with something to draw", len(names), 14)
	seen := make(map[string]bool)
	for _, n := range names {
		if seen[n] || !chart.NameRE.MatchString(n) || len(n) > 100 {
			t.Errorf("%q is taken or no name for a file", n)
		}
		seen[n] = true
	}
	if bad := inaccessibleParts(htmlOf(t, Report(run))); bad != nil {
		t.Error(bad)
	}
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
		text := htmlOf(t, Report(run))
		require.Equal(t, name, findUnformatted(text), "")
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
	page := htmlOf(t, Report(&result.Run{Findings: []*result.Finding{{Tables: []result.Table{{Columns: long.Columns, Rows: long.Rows}}}}}))
	if want := "These are the first 400 of 5000 rows; results.jsonl has all of them."; !strings.Contains(page, want) || strings.Count(page, "<tr>") > 420 {
		t.Errorf("the page lacks %q, or has more rows than it says", want)
	}
}

// hardwareFindings returns a run of the synthetic findings cost, sharing, core-to-core and listing:
// bars, lines, fields and words with gaps, long names, and zeros. None of their figures is published.
func hardwareFindings() *result.Run {
	run := synthetic.Run(1, 0, 2, nil)
	if err := json.Unmarshal(must(os.ReadFile("testdata/laboratory.json")), &run.Findings); err != nil {
		panic(err)
	}
	return run
}

func cellOf(median, spread float64) result.Cell {
	return result.Cell{Median: median, Lo: median * (1 - spread), Hi: median * (1 + spread), N: 5}
}

func columns(unit string, names ...string) []result.Column {
	return result.Each(names, func(n string) result.Column { return result.Column{Name: n, Unit: unit, Plot: true} })
}

// hopTable returns a table of the time between any two of n CPUs. hole is the share of missing
// pairs.
func hopTable(n int, hole float64) result.Table {
	rng := rand.New(rand.NewPCG(uint64(n), 3))
	t := result.Table{Caption: "One way from one CPU to another", Label: "CPU", Chart: result.Heat, Log: true}
	for i := range n {
		t.Columns = append(t.Columns, result.Column{Name: strconv.Itoa(i), Unit: "ns", Plot: true})
		row := result.Row{Label: strconv.Itoa(i)}
		for k := range n {
			c := cellOf((26+0.7*math.Abs(float64(i-k)))*math.Exp(0.04*rng.NormFloat64()), 0.03)
			if i == k || rng.Float64() < hole {
				c = result.Cell{}
			}
			row.Cells = append(row.Cells, c)
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

type label struct {
	text                     string
	left, bottom, right, top vg.Length
}

func labelsOf(t *testing.T, pic chart.Picture) (out []label) {
	t.Helper()
	rec := new(recorder.Canvas)
	require.NoError(t, pic.Body(vgdraw.NewCanvas(rec, draw.Width, pic.Height)))
	for _, a := range rec.Actions {
		f, ok := a.(*recorder.FillString)
		if !ok || strings.TrimSpace(f.String) == "" {
			continue
		}
		face := font.DefaultCache.Lookup(f.Font, f.Size)
		out = append(out, label{f.String, f.Point.X, f.Point.Y, f.Point.X + face.Width(f.String), f.Point.Y + 0.7*f.Size})
	}
	return out
}

func overlappingLabels(ls []label, height vg.Length) (out []string) {
	for i, a := range ls {
		if a.left < -0.5 || a.right > draw.Width+0.5 || a.bottom < -0.5 || a.top > height+0.5 {
			out = append(out, fmt.Sprintf("%q reaches outside the picture", a.text))
		}
		for _, b := range ls[i+1:] {
			if a.left < b.right && b.left < a.right && a.bottom < b.top && b.bottom < a.top {
				out = append(out, fmt.Sprintf("%q and %q overlap", a.text, b.text))
			}
		}
	}
	return out
}

func TestLabelsStayApart(t *testing.T) {
	bars, lines := hardwareFindings().Findings[0].Tables, hardwareFindings().Findings[1].Tables
	tables := slices.Concat(bars, lines, []result.Table{hopTable(3, 0.5), hopTable(16, 0.1), hopTable(17, 0), hopTable(64, 0), hopTable(256, 0.01)})
	many := hardwareFindings().Findings[0].Tables[0]
	many.Columns = columns("ns", "one of several long names of a column", "another of the long names of a column", "a third long name of a column", "d", "e")
	for i := range many.Rows {
		many.Rows[i].Label += strings.Repeat(" and more", 12*(i%2)) + strings.Repeat("Unbreakable", 9*(i%3))
		many.Rows[i].Cells = slices.Repeat(many.Rows[i].Cells[:1], 5)
	}
	near := hardwareFindings().Findings[1].Tables[0]
	for i := range near.Rows {
		near.Rows[i].Label = fmt.Sprintf("%d bytes of padding", i)
		near.Rows[i].X = 1000 + math.Pow(float64(i), 3)
	}
	far := hopTable(5, 0)
	for i := range far.Rows {
		far.Rows[i].Label = "a rather long name of a processor"
		for k := range far.Rows[i].Cells {
			far.Rows[i].Cells[k].Median *= 12345
		}
	}
	for i, table := range append(tables, many, near, far) {
		pic, _ := chart.DrawTable(table)
		ls := labelsOf(t, pic)
		if len(ls) < 4 {
			t.Errorf("table %d (%s): only %d texts were found", i, table.Caption, len(ls))
		}
		for _, c := range overlappingLabels(ls, pic.Height) {
			t.Errorf("table %d (%s): %s", i, table.Caption, c)
		}
	}
	// Long names leave room for the bars.
	var ticks []vg.Length
	for _, l := range labelsOf(t, pictureOf(many)) {
		if l.bottom > 12 && l.bottom < 30 {
			ticks = append(ticks, l.left)
		}
	}
	if len(ticks) < 2 || slices.Max(ticks)-slices.Min(ticks) < 150 {
		t.Errorf("the labels of the axis under bars with long names are at %v", ticks)
	}
	// The check must find known collisions.
	bad := []label{{"a", 10, 10, 30, 20}, {"b", 25, 15, 50, 25}, {"c", -5, 50, 9, 60}}
	if got := overlappingLabels(bad, 100); len(got) != 2 {
		t.Errorf("got %q, want one overlap and one outside", got)
	}
}

func TestOneUnit(t *testing.T) {
	table := result.Table{Columns: append(columns("ns", "one", "two"), columns("%", "share")...)}
	for i := range 3 {
		table.Rows = append(table.Rows, result.Row{Label: fmt.Sprint(i), X: float64(i + 1), Cells: []result.Cell{cellOf(7, 0.1), cellOf(9, 0.1), cellOf(7, 0.1)}})
	}
	for _, table.Chart = range []result.ChartKind{result.Bars, result.Lines} {
		texts := result.Each(labelsOf(t, pictureOf(table)), func(l label) string { return l.text })
		if all := strings.Join(texts, "|"); !strings.Contains(all, "two") || strings.Contains(all, "share") {
			t.Errorf("%s: the texts are %q", table.Chart, texts)
		}
	}
}
