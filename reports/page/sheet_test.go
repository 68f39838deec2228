package page

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"
	vgdraw "gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/recorder"

	"locklab/harness/result"
	"locklab/reports/chart"
	"locklab/reports/draw"
)

type label struct {
	text                     string
	left, bottom, right, top vg.Length
}

func labelsOf(t *testing.T, pic chart.Picture) (out []label) {
	t.Helper()
	rec := new(recorder.Canvas)
	if err := pic.Body(vgdraw.NewCanvas(rec, draw.Width, pic.Height)); err != nil {
		t.Fatal(err)
	}
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

func collisions(ls []label, height vg.Length) (out []string) {
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
	bars, lines := laboratory().Findings[0].Tables, laboratory().Findings[1].Tables
	tables := slices.Concat(bars, lines, []result.Table{field(2, 0), field(3, 0.5), field(16, 0.1), field(17, 0), field(64, 0), field(256, 0.01)})
	many := laboratory().Findings[0].Tables[0]
	many.Columns = columns("ns", "one of several long names of a column", "another of the long names of a column", "a third long name of a column", "d", "e")
	for i := range many.Rows {
		many.Rows[i].Label += strings.Repeat(" and more", 12*(i%2)) + strings.Repeat("Unbreakable", 9*(i%3))
		many.Rows[i].Cells = slices.Repeat(many.Rows[i].Cells[:1], 5)
	}
	near := laboratory().Findings[1].Tables[0]
	for i := range near.Rows {
		near.Rows[i].Label = fmt.Sprintf("%d bytes of padding", i)
		near.Rows[i].X = 1000 + math.Pow(float64(i), 3)
	}
	far := field(5, 0)
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
		for _, c := range collisions(ls, pic.Height) {
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
	if got := collisions(bad, 100); len(got) != 2 {
		t.Errorf("got %q, want one overlap and one outside", got)
	}
}

func TestOneUnit(t *testing.T) {
	table := result.Table{Columns: append(columns("ns", "one", "two"), columns("%", "share")...)}
	for i := range 3 {
		table.Rows = append(table.Rows, result.Row{Label: fmt.Sprint(i), X: float64(i + 1), Cells: slices.Repeat([]result.Cell{cellOf(7, 0.1)}, 3)})
	}
	for _, table.Chart = range []result.ChartKind{result.Bars, result.Lines} {
		var texts []string
		for _, l := range labelsOf(t, pictureOf(table)) {
			texts = append(texts, l.text)
		}
		if all := strings.Join(texts, "|"); !strings.Contains(all, "two") || strings.Contains(all, "share") {
			t.Errorf("%s: the texts are %q", table.Chart, texts)
		}
	}
}
